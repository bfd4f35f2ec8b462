package source_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

func TestPreviewsAreNotedByReaderAndThing(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	by := identity.Actor{Org: "org", Workspace: "acme", User: "ann", At: now}
	digest := func(purpose string, parts ...[]byte) [32]byte {
		mac := hmac.New(sha256.New, []byte("key of "+purpose))
		fmt.Fprintf(mac, "%q", parts)
		return [32]byte(mac.Sum(nil))
	}
	table := source.Location{Connection: "con", Table: connection.TableRef{Schema: "public", Name: "people"}}
	sheet := source.Location{Sheet: source.SheetLocation{URL: "https://files.example.com/people.csv?token=s3cret"}}
	proxy := sheet
	proxy.Connection = "con"
	for name, tt := range map[string]struct {
		of            source.ID
		at            source.Location
		kind, subject string
		data          []string
	}{
		"a table": {"", table, "connection.previewed", "con", []string{"schema", "table"}},
		"the table of a source": {"src", table, "connection.previewed", "con",
			[]string{"schema", "table", "source_id"}},
		"a sheet":                      {"", sheet, "source.previewed", "", []string{"sheet", "connection_id"}},
		"the sheet of a source":        {"src", sheet, "source.previewed", "src", []string{"sheet", "connection_id"}},
		"a sheet through a connection": {"", proxy, "source.previewed", "", []string{"sheet", "connection_id"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := source.Previewed(by, tt.of, tt.at, digest)
			if !n.IsRecordable() || n.Type != tt.kind || n.Subject != tt.subject || len(n.Data) != len(tt.data) {
				t.Fatalf("%+v", n)
			}
			for _, member := range tt.data {
				if _, ok := n.Data[member]; !ok {
					t.Errorf("there is no %s in %v", member, n.Data)
				}
			}
			if text := fmt.Sprintf("%+v", n); strings.Contains(text, "s3cret") ||
				strings.Contains(text, "example.com") {
				t.Errorf("the note holds the URL: %s", text)
			}
			if want := time.Date(2026, 3, 14, 16, 0, 0, 0, time.UTC); !n.Until.Equal(want) {
				t.Errorf("until %v", n.Until)
			}
		})
	}
	key := func(by identity.Actor, id source.ID, location source.Location) [32]byte {
		n := source.Previewed(by, id, location, digest)
		return n.Key()
	}
	tab, column, otherTable, otherSheet := sheet, table, table, sheet
	tab.Sheet.Tab, otherTable.Table.Name, otherSheet.Sheet.URL = "Other", "orders", sheet.Sheet.URL+"4"
	column.Table = connection.TableRef{Schema: "publicp", Name: "eople"}
	bob, elsewhere := by, by
	bob.User, elsewhere.Workspace = "bob", "other"
	for name, tt := range map[string]struct {
		one, two [32]byte
		equal    bool
	}{
		"another tab of a sheet":          {key(by, "", sheet), key(by, "", tab), true},
		"a sheet and the one of a source": {key(by, "", sheet), key(by, "src", sheet), true},
		"a sheet by another connection":   {key(by, "", sheet), key(by, "", proxy), true},
		"another sheet":                   {key(by, "", sheet), key(by, "", otherSheet), false},
		"another table":                   {key(by, "", table), key(by, "", otherTable), false},
		"names cut elsewhere":             {key(by, "", table), key(by, "", column), false},
		"another reader":                  {key(by, "", table), key(bob, "", table), false},
		"another workspace":               {key(by, "", sheet), key(elsewhere, "", sheet), false},
	} {
		if (tt.one == tt.two) != tt.equal {
			t.Errorf("%s: equal is %v, want %v", name, tt.one == tt.two, tt.equal)
		}
	}
	if n := source.Previewed(identity.System("org", "acme", "refresh", now), "src", table, digest); n.IsRecordable() {
		t.Error("a refresh is noted")
	}
}
