package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

const sources = "/api/datasources"

var tables atomic.Int64

// people creates a table in the shop and returns the request body that attaches it as contacts, with a mapping.
func (s *shopWarehouse) people(t *testing.T, connection string) object {
	t.Helper()
	table := fmt.Sprint("people_", tables.Add(1))
	s.sql(t, s.name, `CREATE TABLE `+table+` (email TEXT NOT NULL, "First Name" TEXT, visits INTEGER)`)
	s.sql(t, s.name, `INSERT INTO `+table+
		` VALUES ('ada@example.com', 'Ada', 3), ('grace@example.com', NULL, 4), ('emmy@example.com', 'Emmy', 5)`)
	return object{
		"type": "contacts", "location": object{"connection_id": connection, "schema": "public", "table": table},
		"mapping": []object{{"field": "email", "column": "email"}},
	}
}

// refreshed waits until a refresh of a source has ended and returns the source.
func refreshed(t *testing.T, c *client, id string) *answer {
	t.Helper()
	proof.Await(t, "a refresh has ended", func() *answer { return c.get(t, sources+"/"+id+"/jobs") },
		func(jobs *answer) bool {
			states := jobs.each(t, "state")
			return len(states) > 0 && !slices.Contains(states, "running") && !due(t, jobs)
		})
	return c.get(t, sources+"/"+id)
}

// due reports whether one of jobs is queued and due.
func due(t *testing.T, jobs *answer) bool {
	t.Helper()
	for i, state := range jobs.each(t, "state") {
		instant, err := time.Parse(time.RFC3339, jobs.at(fmt.Sprintf("data.%d.due_at", i)))
		if state == "queued" && err == nil && instant.Before(time.Now()) {
			return true
		}
	}
	return false
}

func TestSources(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		ann, peer, admin, viewer := s.user(t, "member"), s.user(t, "member"), s.user(t, "admin"), s.user(t, "viewer")
		shop := newShop(t)
		connection := ann.create(t, connections, shop.connection(fixture.Canary)).at("id")
		body := shop.people(t, connection)
		table := body["location"].(object)["table"].(string)
		preview := sources + "/warehouse-preview?connection_id=" + connection

		t.Run("the source types are those of the org", func(t *testing.T) {
			if types := viewer.get(t, sources+"/types").each(t, "type"); !slices.Equal(types,
				[]string{"contacts", "faq", "products"}) {
				t.Errorf("types = %v", types)
			}
		})
		t.Run("a warehouse's tables are listed page by page, and one is shown with suggestions", func(t *testing.T) {
			first := peer.get(t, preview+"&limit=1").has(t,
				map[string]string{"data.0.name": "orders", "data.0.schema": "public", "data.0.kind": "table"})
			peer.get(t, preview+"&limit=1&cursor="+first.at("next_cursor")).has(t,
				map[string]string{"data.0.name": table, "next_cursor": "null"})
			peer.get(t, preview+"&schema=public&table="+table+"&type=contacts&sample_rows=2").has(t, map[string]string{
				"columns.0.inferred_type": "email", "columns.0.nullable": "false", "columns.2.inferred_type": "integer",
				"rows":                `[["ada@example.com","Ada","3"],["grace@example.com",null,"4"]]`,
				"suggestions.0.field": "email", "suggestions.0.column": "email", "suggestions.1.column": "First Name",
			})
			peer.do(t, "GET", preview+"&schema=public&table=no_such_table", nil).problem(t, 404, "table_not_found")
			viewer.do(t, "GET", preview, nil).problem(t, 403, "source_forbidden")
		})
		t.Run("a table whose name needs quoting is read", func(t *testing.T) {
			shop.sql(t, shop.name, `CREATE TABLE "Tricky ""table""; --" (email TEXT)`)
			peer.get(t, preview+"&schema=public&table="+url.QueryEscape(`Tricky "table"; --`)).has(t,
				map[string]string{"columns.0.name": "email", "rows": "[]"})
		})
		t.Run("a source that cannot be read is not stored", func(t *testing.T) {
			missing := shop.people(t, connection)
			missing["location"].(object)["table"] = "no_such_table"
			ann.do(t, "POST", sources, missing, "Idempotency-Key: missing").problem(t, 404, "table_not_found")
			ann.do(t, "POST", sources, object{"type": "contacts", "location": object{"url": "http://127.0.0.1/x.csv"}}).
				problem(t, 422, "url_not_allowed")
			ann.do(t, "POST", sources, object{"type": "animals", "location": body["location"]}).problem(t, 422,
				"unknown_source_type")
			invalid := ann.do(t, "POST", sources, object{"type": "contacts", "location": body["location"],
				"mapping": []object{{"field": "phone", "column": "x"}}}).problem(t, 422, "mapping_invalid").wrong()
			if want := []string{"/mapping/0/column unknown_column", "/mapping required_field_unmapped"}; !slices.Equal(
				invalid, want) {
				t.Errorf("wrong: %q, want %q", invalid, want)
			}
			if all := ann.get(t, sources).items(t); len(all) != 0 {
				t.Errorf("%d sources", len(all))
			}
		})

		response := ann.create(t, sources, body, "Idempotency-Key: attach").has(t, map[string]string{
			"status": "active", "name": table, "backend": "warehouse", "location.connection_id": connection,
			"mapping_report.matched":          "1",
			"mapping_report.unmapped_columns": `["First Name","visits"]`, "owner_id": ann.id, "revision": "1",
			"drift.level": "none",
		})
		id := response.at("id")
		one := sources + "/" + id
		t.Run("attaching a source again is refused, and the repeated request gets the same response",
			func(t *testing.T) {
				if second := ann.create(t, sources, body, "Idempotency-Key: attach"); second.text != response.text {
					t.Errorf("%s", second)
				}
				peer.do(t, "POST", sources, body).problem(t, 409, "already_attached")
			})
		t.Run("a source is refreshed automatically, and its connection lists it", func(t *testing.T) {
			at := refreshed(t, ann, id)
			if at.at("last_refreshed_at") == "null" || at.at("next_refresh_at") == "null" || at.at("revision") != "1" {
				t.Errorf("%s", at)
			}
			viewer.get(t, one+"/jobs").has(t, map[string]string{"data.0.state": "queued", "data.1.state": "succeeded",
				"data.1.kind": "source.refresh", "data.1.failure": "null"})
			viewer.get(t, connections+"/"+connection).has(t,
				map[string]string{"sources.0.id": id, "sources.0.status": "active", "sources.0.name": table})
			viewer.get(t, connections).has(t, map[string]string{"data.0.sources.0.id": id})
		})
		t.Run("a mapping is checked against type and table, shows rows, and is suggested later", func(t *testing.T) {
			mapping := object{"mapping": []object{{"field": "email", "column": "email"},
				{"field": "company", "column": "First Name"}}}
			peer.do(t, "PUT", one, mapping).problem(t, 403, "source_forbidden")
			ann.do(t, "PUT", one, mapping, `If-Match: "9-x"`).problem(t, 412, "revision_mismatch")
			ann.do(t, "PUT", one, mapping, `If-Match: "1-x"`).is(t, 200).has(t, map[string]string{
				"source.mapping_report.matched": "2", "source.revision": "2",
				"rows": `[{"company":"Ada","email":"ada@example.com"},{"company":null,"email":"grace@example.com"}]`,
			})
			peer.get(t, preview+"&schema=public&table="+table+"&type=contacts").has(t,
				map[string]string{"suggestions.1.field": "company", "suggestions.1.column": "First Name",
					"suggestions.1.score": "1"})
		})
		refresh := func(t *testing.T) *answer {
			t.Helper()
			peer.do(t, "POST", one+"/refresh", nil).is(t, 202)
			return refreshed(t, ann, id)
		}
		t.Run("drift is reported, and pauses the source after two failures", func(t *testing.T) {
			shop.sql(t, shop.name, `ALTER TABLE `+table+` ADD COLUMN note TEXT`)
			refresh(t).has(t, map[string]string{"status": "active", "drift.level": "additive",
				"drift.columns.0.column": "note"})
			shop.sql(t, shop.name, `ALTER TABLE `+table+` RENAME COLUMN email TO "E-Mail"`)
			refresh(t).has(t, map[string]string{"status": "drifted", "drift.level": "renamed",
				"drift.columns.0.to": "E-Mail"})
			shop.sql(t, shop.name, `ALTER TABLE `+table+` DROP COLUMN "E-Mail"`)
			refresh(t).has(t, map[string]string{"status": "drifted", "drift.level": "breaking", "pause_reason": "null"})
			refresh(t).has(t, map[string]string{"status": "paused", "pause_reason": "breaking_drift",
				"next_refresh_at": "null"})
			peer.do(t, "POST", one+"/refresh", nil).problem(t, 409, "source_paused")
			ann.do(t, "PUT", one, object{"mapping": []object{{"field": "email", "column": "First Name"}}}).is(t,
				200).has(t, map[string]string{"source.status": "active", "source.drift.level": "none"})
		})
		t.Run("a source whose table is gone fails, and its jobs say why", func(t *testing.T) {
			shop.sql(t, shop.name, `ALTER TABLE `+table+` RENAME TO `+table+`_away`)
			refresh(t).has(t, map[string]string{"status": "failing", "failure.code": "table_not_found",
				"failure.retryable": "false"})
			if failures := ann.get(t, one+"/jobs").each(t, "failure"); !slices.Contains(failures, "table_not_found") {
				t.Errorf("failures = %v", failures)
			}
			shop.sql(t, shop.name, `ALTER TABLE `+table+`_away RENAME TO `+table)
			refresh(t).has(t, map[string]string{"status": "active", "failure": "null"})
		})
		t.Run("a source pauses and resumes with its connection", func(t *testing.T) {
			ann.do(t, "DELETE", connections+"/"+connection, nil).is(t, 200).has(t,
				map[string]string{"paused_sources.0.id": id, "paused_sources.0.status": "paused",
					"cancelled_jobs": "2"})
			ann.get(t, one).has(t, map[string]string{"status": "paused", "pause_reason": "connection_revoked"})
			ann.do(t, "PUT", one, object{"mapping": []object{{"field": "email", "column": "First Name"}}}).problem(t,
				409, "source_paused")
			peer.do(t, "GET", preview, nil).problem(t, 409, "connection_revoked")
			peer.do(t, "POST", sources, shop.people(t, connection)).problem(t, 409, "connection_revoked")
			ann.do(t, "POST", connections+"/"+connection+"/verify",
				object{"credential": shop.credential(fixture.Canary)}).is(t, 200)
			refreshed(t, ann, id).has(t, map[string]string{"status": "active", "pause_reason": "null"})
		})
		t.Run("a source whose connection got another target must be resumed by its owner", func(t *testing.T) {
			ann.do(t, "DELETE", connections+"/"+connection, nil).is(t, 200)
			other := newShop(t)
			other.sql(t, other.name, `CREATE TABLE `+table+` ("First Name" TEXT)`)
			ann.do(t, "POST", connections+"/"+connection+"/verify",
				object{"credential": other.credential(fixture.Canary)}).is(t, 200).has(t,
				map[string]string{"sources.0.status": "paused"})
			ann.get(t, one).has(t, map[string]string{"pause_reason": "connection_changed"})
			mapping := object{"mapping": []object{{"field": "email", "column": "First Name"}}}
			admin.do(t, "PUT", one, mapping).problem(t, 409, "source_paused")
			ann.do(t, "PUT", one, mapping).is(t, 200).has(t, map[string]string{"source.status": "active"})
			refreshed(t, ann, id).has(t, map[string]string{"status": "active"}) // before its server ends with this test
		})
		t.Run("the owner renames a source", func(t *testing.T) {
			peer.do(t, "PATCH", one, object{"name": "Newsletter"}).problem(t, 403, "source_forbidden")
			ann.do(t, "PATCH", one, object{"name": "Newsletter"}).is(t, 200).
				has(t, map[string]string{"name": "Newsletter"})
		})
		t.Run("the owner detaches a source, and its jobs are gone", func(t *testing.T) {
			admin.do(t, "DELETE", one, nil).problem(t, 403, "not_source_owner")
			peer.do(t, "DELETE", one, nil).problem(t, 403, "not_source_owner")
			ann.do(t, "DELETE", one, nil, `If-Match: "1-x"`).problem(t, 412, "revision_mismatch")
			ann.do(t, "DELETE", one, nil).is(t, 204)
			for _, path := range []string{one, one + "/jobs"} {
				ann.do(t, "GET", path, nil).problem(t, 404, "source_not_found")
			}
			isRemaining := func(state string) bool {
				return regexp.MustCompile(id + `.*"` + state + `"`).MatchString(s.dumpOf(t, "jobs"))
			}
			if isRemaining("queued") {
				t.Errorf("jobs are left:\n%s", s.dumpOf(t, "jobs"))
			}
			awaits(t, "a job that ran ends", s, func() bool { return !isRemaining("running") })
		})
		t.Run("every change of a source is in the audit trail", func(t *testing.T) {
			types := admin.get(t, "/api/events?limit=100&subject="+id).each(t, "type")
			slices.Reverse(types)
			want := "attached mapped drifted drifted drifted paused mapped failing recovered paused resumed paused " +
				"paused mapped renamed detached"
			if got := strings.ReplaceAll(strings.Join(types, " "), "source.", ""); got != want {
				t.Errorf("events = %s\nwant %s", got, want)
			}
		})
		s.stop(t)
		lookForCanary(t, s)
	})
}

func TestSheetsOfTheDataDirectory(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("connections.refresh_interval", "0s"))
	ann := s.user(t, "member")
	folder := filepath.Join(s.data, "sheets")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "people.csv"), []byte(text), 0o600))
	}
	write("Staff list\nE-mail;First name;E-mail\nada@example.com;Ada;1\ngrace@example.com;Grace;\n")
	ann.get(t, sources+"/sheet-preview?type=contacts&url=file:people.csv").has(t, map[string]string{
		"title": "people", "header_row": "2", "headers.0.name": "E-mail", "headers.2.name": "E-mail (2)",
		"headers.0.inferred_type": "email", "leading_rows": `[["Staff list"]]`,
		"rows":                `[["ada@example.com","Ada","1"],["grace@example.com","Grace",null]]`,
		"suggestions.0.field": "email", "suggestions.0.column": "E-mail",
	})
	ann.get(t, sources+"/sheet-preview?url=file:people.csv&header_row=1&sample_rows=3").has(t, map[string]string{
		"leading_rows": "[]", "rows": `[["E-mail","First name","E-mail"],["ada@example.com","Ada","1"],["grace@example.com","Grace",null]]`,
	})
	for location, code := range map[string]string{"file:../atrium.db": "url_not_allowed",
		"file:none.csv": "sheet_not_found"} {
		if a := ann.do(t, "GET", sources+"/sheet-preview?url="+location, nil); a.at("code") != code {
			t.Errorf("%s: %s", location, a)
		}
	}
	id := ann.create(t, sources, object{"type": "contacts", "location": object{"url": "file:people.csv"}}).has(t,
		map[string]string{
			"status": "unmapped", "backend": "sheet", "location.header_row": "2",
			"mapping_report.unmapped_required": `["email"]`, "name": "people",
		}).at("id")
	refreshed(t, ann, id)
	ann.do(t, "PUT", sources+"/"+id, object{"mapping": []object{{"field": "email", "column": "E-mail"}}}).is(t,
		200).has(t, map[string]string{
		"source.status": "active", "rows": `[{"email":"ada@example.com"},{"email":"grace@example.com"}]`,
	})
	ann.get(t, sources+"/sheet-preview?source_id="+id).has(t,
		map[string]string{"header_row": "2", "header_confidence": "1", "suggestions.0.score": "1"})
	write("Mail;First name\nada@example.com;Ada\n")
	ann.do(t, "PUT", sources+"/"+id, object{"mapping": []object{{"field": "email", "column": "Mail"}},
		"header_row": 1}).is(t, 200).has(t, map[string]string{"source.location.header_row": "1"})
	attach := func(location object) object { return object{"type": "contacts", "location": location} }
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bare.csv"), []byte("a@example.com,A,1\nb@example.com,B,2\n"),
		0o600))
	invalid := ann.do(t, "POST", sources, attach(object{"url": "file:bare.csv"})).problem(t, 422,
		"header_uncertain").wrong()
	if len(invalid) != 3 || invalid[0] != "/location/header_row header_candidate" {
		t.Errorf("invalid = %q", invalid)
	}
	ann.get(t, sources+"/sheet-preview?url=file:bare.csv&header_row=0").has(t, map[string]string{
		"header_row": "0", "headers.0.name": "A", "headers.2.name": "C", "headers.0.inferred_type": "email",
		"rows": `[["a@example.com","A","1"],["b@example.com","B","2"]]`, "leading_rows": "[]"})
	bare := ann.create(t, sources, attach(object{"url": "file:bare.csv", "header_row": 0})).has(t, map[string]string{
		"location.header_row": "0", "columns.0.name": "A"}).at("id")
	ann.do(t, "PUT", sources+"/"+bare, object{"mapping": []object{{"field": "email", "column": "A"}},
		"header_row": 0}).is(t, 200).has(t, map[string]string{"source.location.header_row": "0",
		"rows": `[{"email":"a@example.com"},{"email":"b@example.com"}]`})
	refreshed(t, ann, id).has(t, map[string]string{"status": "active", "row_estimate": "1"})
	require.NoError(t, os.Remove(filepath.Join(folder, "people.csv")))
	ann.do(t, "POST", sources+"/"+id+"/refresh", nil).is(t, 202)
	// On a busy machine, a refresh can be put off: it has not ended, but is not due either.
	awaits(t, "a source whose file is gone fails", s, func() bool {
		return ann.get(t, sources+"/"+id).at("status") == "failing"
	})
	ann.get(t, sources+"/"+id).has(t, map[string]string{"failure.code": "sheet_not_found"})
}
