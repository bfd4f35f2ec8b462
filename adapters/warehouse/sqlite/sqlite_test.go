package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for the test's own statements

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/sqlite"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// childMode is the argument that makes this test binary a child process; the folder follows.
const childMode = "probe-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childMode {
		kinds := map[connection.Kind]ports.Warehouse{connection.SQLite: sqlite.New(os.Args[2])}
		os.Exit(confine.Serve(map[string]confine.Job{
			warehouse.JobName: {Do: warehouse.Job(kinds), Stream: warehouse.StreamJob(kinds),
				Needs: warehouse.Needs(os.Args[2])},
		}, os.Stdin, os.Stdout))
	}
	var remove func()
	program, remove = fixture.Unraced()
	code := m.Run()
	remove()
	os.Exit(code)
}

// program is what runs as a child.
var program string

const sample = `
CREATE TABLE kinds (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price NUMERIC(10,2), rate REAL, sold BOOLEAN, born DATE,
at DATETIME, doc JSON, raw BLOB, anything,
	twice GENERATED ALWAYS AS (id * 2));
INSERT INTO kinds VALUES (1, 'Ada', 12.5, 0.5, 1, '1815-12-10', '2026-01-02 03:04:05', '{"a": 1}', x'00ff', 7),
	(2, '%[1]s', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 'tab	"quote"', -1, 1e300, 0, 'no date', '', 'null', x'', 'x');
CREATE TABLE empty (id INTEGER);
CREATE TABLE "a ""strange"" name; DROP TABLE kinds" ("a ""col"", b" TEXT);
INSERT INTO "a ""strange"" name; DROP TABLE kinds" VALUES ('here');
CREATE VIEW seen AS SELECT id, name FROM kinds;
CREATE VIEW broken AS SELECT gone FROM kinds;
CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) AS never FROM n;
CREATE TABLE huge (b BLOB);
INSERT INTO huge VALUES (zeroblob(20000000));
CREATE TABLE wide (%[2]s);
INSERT INTO wide (c0) VALUES ('0');
`

// folder makes the sample, and what a file may not be.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "warehouses")
	require.NoError(t, os.Mkdir(in, 0o700))
	columns := make([]string, connection.MaxColumns+50)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d TEXT", i)
	}
	create(t, filepath.Join(in, "sample.db"),
		fmt.Sprintf(sample, strings.Repeat("é", 300), strings.Join(columns, ", ")))
	create(t, filepath.Join(dir, "outside.db"), `CREATE TABLE secrets (id INTEGER)`)
	text := strings.Repeat("this is no database. ", 100)
	require.NoError(t, os.WriteFile(filepath.Join(in, "text.db"), []byte(text), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "outside.db"), filepath.Join(in, "link.db")))
	require.NoError(t, os.Mkdir(filepath.Join(in, "folder.db"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(in, "pipe.db"), 0o600))
	return in
}

func create(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(statements)
	require.NoError(t, err)
}

func target(file string) func(*testing.T) ports.Target {
	return func(t *testing.T) ports.Target {
		t.Helper()
		text, err := json.Marshal(map[string]string{"file": file})
		require.NoError(t, err)
		c, err := connection.ParseCredential(connection.SQLite, text)
		require.NoError(t, err)
		return ports.Target{Credential: c, Limits: ports.Limits{Connect: proof.Patience, Statement: proof.Patience,
			Total: 2 * proof.Patience, Bytes: 1 << 20}}
	}
}

func text(s string) *string { return &s }

func ref(name string) connection.TableRef { return connection.TableRef{Schema: "main", Name: name} }

func harness(open func(*testing.T) ports.Warehouse) warehouses.Harness {
	table := func(name string, kind connection.TableKind) connection.Table {
		return connection.Table{TableRef: ref(name), Kind: kind, RowEstimate: -1}
	}
	preview := func(name string) func(context.Context, ports.Warehouse, ports.Target) error {
		return func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
			return warehouses.Sampled(w.Preview(ctx, target, connection.PreviewQuery{Table: ref(name), Rows: 1}))
		}
	}
	const strange = `a "strange" name; DROP TABLE kinds`
	var wide connection.Preview
	row := make([]*string, connection.MaxColumns)
	row[0] = text("0")
	for i := range connection.MaxColumns {
		wide.Columns = append(wide.Columns, connection.Column{Name: "c" + strconv.Itoa(i), DatabaseType: "TEXT",
			Type: connection.Text, Nullable: true})
	}
	wide.Rows, wide.Total, wide.Truncated = [][]*string{row}, warehouses.WideColumns, true
	empty := "there is no server and no network"
	absent := map[connection.Code]string{
		connection.Internal:        "it means a bug of ours",
		connection.TableUnreadable: "SQLite has one result code for all errors of a view",
	}
	for _, code := range []connection.Code{
		connection.NetworkNotAllowed, connection.DNSFailed, connection.PortClosed, connection.HostUnreachable,
		connection.ConnectTimeout,
		connection.TLSUnsupported, connection.TLSRequired, connection.TLSUntrusted, connection.TLSNameMismatch,
		connection.TLSExpired,
		connection.AuthFailed,
		connection.AuthRejected, connection.DatabaseDeniedOrMissing, connection.TooManyConnections,
		connection.ServerStarting, connection.BackendUnreachable, connection.PoolingUnsupported,
		connection.QuotaExceeded, connection.UnsupportedVersion, connection.PermissionDenied,
	} {
		absent[code] = empty
	}
	return warehouses.Harness{
		Kind: connection.SQLite, Open: open, Reader: target("sample.db"),
		Tables: []connection.Table{
			table(strange, connection.BaseTable), table("broken", connection.View),
			table("empty", connection.BaseTable), table("huge", connection.BaseTable),
			table("kinds", connection.BaseTable), table("seen", connection.View), table("slow", connection.View),
			table("wide", connection.BaseTable),
		},
		Previews: map[connection.TableRef]connection.Preview{
			ref("kinds"): {
				Columns: []connection.Column{
					{Name: "id", DatabaseType: "INTEGER", Type: connection.Integer},
					{Name: "name", DatabaseType: "TEXT", Type: connection.Text},
					{Name: "price", DatabaseType: "NUMERIC(10,2)", Type: connection.Number, Nullable: true},
					{Name: "rate", DatabaseType: "REAL", Type: connection.Number, Nullable: true},
					{Name: "sold", DatabaseType: "BOOLEAN", Type: connection.Boolean, Nullable: true},
					{Name: "born", DatabaseType: "DATE", Type: connection.Date, Nullable: true},
					{Name: "at", DatabaseType: "DATETIME", Type: connection.DateTime, Nullable: true},
					{Name: "doc", DatabaseType: "JSON", Type: connection.JSON, Nullable: true},
					{Name: "raw", DatabaseType: "BLOB", Type: connection.Text, Nullable: true},
					{Name: "anything", DatabaseType: "", Type: connection.Text, Nullable: true},
					{Name: "twice", DatabaseType: "", Type: connection.Text, Nullable: true},
				},
				Rows: [][]*string{
					{text("1"), text("Ada"), text("12.5"), text("0.5"), text("1"), text("1815-12-10"),
						text("2026-01-02 03:04:05"), text(`{"a": 1}`), text("0x00ff"), text("7"), text("2")},
					{text("2"), text(strings.Repeat("é", connection.MaxCell)), nil, nil, nil, nil, nil, nil, nil,
						nil, text("4")},
					{text("3"), text("tab\t\"quote\""), text("-1"), text("1e+300"), text("0"), text("no date"),
						text(""), text("null"), text("0x"), text("x"), text("6")},
				},
			},
			ref(strange): {
				Columns: []connection.Column{{Name: `a "col", b`, DatabaseType: "TEXT", Type: connection.Text,
					Nullable: true}},
				Rows: [][]*string{{text("here")}},
			},
			ref("empty"): {
				Columns: []connection.Column{{Name: "id", DatabaseType: "INTEGER", Type: connection.Integer,
					Nullable: true}}},
			ref("wide"): wide,
		},
		Failures: []warehouses.Failure{
			{Name: "a file that is not there", Code: connection.DatabaseNotFound, Step: connection.Database,
				Target: target("nothing.db")},
			{Name: "a link to a file outside", Code: connection.DatabaseNotFound, Step: connection.Database,
				Target: target("link.db")},
			{Name: "a folder", Code: connection.DatabaseNotFound, Step: connection.Database,
				Target: target("folder.db")},
			{Name: "a pipe", Code: connection.DatabaseNotFound, Step: connection.Database, Target: target("pipe.db")},
			{Name: "a file that is no database", Code: connection.NotThisDatabase, Step: connection.Database,
				Target: target("text.db")},
			{Name: "a table that is not there", Code: connection.TableNotFound, Target: target("sample.db"),
				Call: preview("nothing")},
			{Name: "a table of the system", Code: connection.TableNotFound, Target: target("sample.db"),
				Call: preview("sqlite_schema")},
			{Name: "a view of a column that is not there", Code: connection.TableNotFound, Target: target("sample.db"),
				Call: preview("broken")},
			{Name: "a view that takes too long", Code: connection.QueryTimeout,
				Target: func(t *testing.T) ports.Target {
					recipient := target("sample.db")(t)
					recipient.Limits.Statement = 500 * time.Millisecond
					return recipient
				}, Call: preview("slow")},
			{Name: "a value that is larger than allowed", Code: connection.ResponseTooLarge,
				Target: target("sample.db"), Call: preview("huge")},
		},
		Never: absent,
	}
}

func TestWarehouse(t *testing.T) {
	in := folder(t)
	warehouses.Warehouse(t, harness(func(*testing.T) ports.Warehouse { return sqlite.New(in) }))
}

func TestWarehouseThroughTheChild(t *testing.T) {
	in := folder(t)
	warehouses.Warehouse(t, harness(func(t *testing.T) ports.Warehouse {
		runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode, in)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, runner.Close()) })
		return warehouse.NewConfined(runner.Run, runner.Stream)
	}))
}

func TestAFileInWALModeIsReadWithoutATouch(t *testing.T) {
	in := folder(t)
	create(t, filepath.Join(in, "wal.db"),
		`PRAGMA journal_mode = WAL; CREATE TABLE kept (id INTEGER); INSERT INTO kept VALUES (1)`)
	previous := listing(t, in)
	found, err := sqlite.New(in).Tables(t.Context(), target("wal.db")(t), connection.TableQuery{Limit: 10})
	require.NoError(t, err)
	if len(found) != 1 || found[0].Name != "kept" {
		t.Errorf("tables = %+v", found)
	}
	if next := listing(t, in); next != previous {
		t.Errorf("the folder was\n%s\nand is\n%s", previous, next)
	}
}

// listing tells the names, sizes and times of a folder's files.
func listing(t *testing.T, dir string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		all += fmt.Sprintln(e.Name(), info.Size(), info.ModTime())
	}
	return all
}

func TestNoViewReachesAnotherFile(t *testing.T) {
	in := folder(t)
	foreignPath := filepath.Join(filepath.Dir(in), "outside.db")
	for _, statement := range []string{
		"ATTACH '" + foreignPath + "' AS other", "ATTACH 'file:" + foreignPath + "?vfs=unix' AS other",
		"VACUUM INTO '" + in + "/copy.db'",
		"SELECT load_extension('x')", "CREATE TABLE t (id INTEGER)", "INSERT INTO kinds (id, name) VALUES (9, 'x')",
		"PRAGMA journal_mode = DELETE; DELETE FROM kinds",
	} {
		if err := sqlite.New(in).Exec(t.Context(), target("sample.db")(t), statement); err == nil {
			t.Errorf("%s: it was done", statement)
		}
	}
}
