package postgres_test

import (
	"database/sql"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// database creates a database, which ends with the test, and runs statements in it.
func (s *server) database(t *testing.T, name string, statements ...string) {
	t.Helper()
	if _, err := s.admin.Exec(`CREATE DATABASE ` + name); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("postgres", strings.Replace(s.URL, "/postgres?", "/"+name+"?", 1))
	require.NoError(t, err)
	t.Cleanup(func() {
		db.Close()
		if _, err := s.admin.Exec(`DROP DATABASE ` + name + ` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// previewed returns the rows of a preview, and how many more round trips it takes than a page of tables.
func previewed(t *testing.T, target ports.Target, q connection.PreviewQuery) ([][]*string, int64) {
	t.Helper()
	var trips atomic.Int64
	w := postgres.New(func(target ports.Target, end time.Time) warehouse.Network {
		return counting{guard(target, end), &trips}
	})
	if _, err := w.Tables(t.Context(), target, connection.TableQuery{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	previous := trips.Swap(0)
	p, err := w.Preview(t.Context(), target, q)
	require.NoError(t, err)
	return p.Rows, trips.Load() - previous
}

const (
	columns = `CREATE TABLE odd ("a ""b""" text, "it's $$ ? \" text, "<r>" text, "select" boolean)`
	values  = `INSERT INTO odd VALUES (U&'<r>&amp;</r>\0001\000d\000a', E'\\ "quoted" ''', '&lt;ü😀', true),
		('', NULL, '[null]', NULL)`
)

var odd = [][]*string{
	{text("<r>&amp;</r>\x01\r\n"), text(`\ "quoted" '`), text("&lt;ü😀"), text("true")},
	{text(""), nil, text("[null]"), nil},
}

func TestASampleIsReadInTheSameRoundTripAsTheColumnsIfTheServerCanComposeIt(t *testing.T) {
	s := shared(t)
	table := connection.TableRef{Schema: "public", Name: "odd"}
	for database, tt := range map[string]struct {
		more       int64
		statements []string
	}{
		"odd_names": {0, []string{`ALTER DATABASE odd_names SET standard_conforming_strings = off`,
			`ALTER DATABASE odd_names SET quote_all_identifiers = on`}},
		"without_xml": {1, []string{`REVOKE EXECUTE ON FUNCTION query_to_xml FROM PUBLIC`}},
	} {
		s.database(t, database, append([]string{columns, values, `GRANT SELECT ON odd TO reader`}, tt.statements...)...)
		target := s.target(t, map[string]any{"database": database})
		got, extra := previewed(t, target, connection.PreviewQuery{Table: table, Rows: 5})
		if d := cmp.Diff(odd, got); d != "" || extra != tt.more {
			t.Errorf("%s: %d more round trips (-want +got):\n%s", database, extra, d)
		}
	}
}

func TestALargeSampleIsReadByASecondStatement(t *testing.T) {
	target := shared(t).target(t, nil)
	got, extra := previewed(t, target, connection.PreviewQuery{Table: ref("wide"), Rows: 1})
	if len(got) != 1 || len(got[0]) != connection.MaxColumns || extra != 1 {
		t.Errorf("%d rows in %d more round trips", len(got), extra)
	}
}

// TestASampleOfAnotherStatementIsNotUsed has a server that composes something else than Atrium, as if the columns had
// changed in between.
func TestASampleOfAnotherStatementIsNotUsed(t *testing.T) {
	row := func(values ...string) []byte {
		fields, row := make([]pgproto3.FieldDescription, len(values)), &pgproto3.DataRow{}
		for i, v := range values {
			fields[i] = pgproto3.FieldDescription{Name: []byte("v"), DataTypeOID: 25, DataTypeSize: -1}
			row.Values = append(row.Values, []byte(v))
		}
		return encode(&pgproto3.RowDescription{Fields: fields}, row,
			&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
	const same = `SELECT pg_catalog.json_agg(s.r) AS r FROM (SELECT ARRAY[` +
		`pg_catalog.left("a"::pg_catalog.text, 256)] AS r FROM "shop"."t" LIMIT 1) AS s`
	for statement, want := range map[string]string{same: "ahead", strings.Replace(same, `"a"`, `"b"`, 1): "later"} {
		port := fixture.Listener(t, func(c net.Conn) {
			set := encode(&pgproto3.CommandComplete{CommandTag: []byte("SET")})
			ready := encode(&pgproto3.ReadyForQuery{TxStatus: 'T'})
			begun(c, slices.Concat(row("t", "a", "text", "text", "t", "f"), row(statement), set,
				row(`<row><r>[["ahead"]]</r></row>`), ready))
			say(c, slices.Concat(row("later"), ready))
			_, _ = io.Copy(io.Discard, c)
		})
		target := warehouses.HostTarget(t, connection.Postgres, map[string]any{
			"host": "127.0.0.1", "port": port, "database": "d", "username": "u", "tls": "disable",
		}, nil)
		got, err := direct(t).Preview(t.Context(), target, connection.PreviewQuery{Table: ref("t"), Rows: 1})
		if d := cmp.Diff([][]*string{{text(want)}}, got.Rows); d != "" || err != nil {
			t.Errorf("after %s: %v (-want +got):\n%s", statement, err, d)
		}
	}
}
