package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// open opens the database directly, beside the servers.
func (d *deployment) open(t *testing.T) *sql.DB {
	t.Helper()
	driver, source := "sqlite", filepath.Join(d.data, "atrium.db")+"?_pragma=busy_timeout(120000)"
	if d.database != "" {
		driver, source = "postgres", d.database
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	return db
}

// sql changes the database, to create states that would otherwise need a long time.
func (d *deployment) sql(t *testing.T, statement string) {
	t.Helper()
	d.ask(t, func(db *sql.DB) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	})
}

// ask calls f with the database of the deployment. On PostgreSQL it keeps the connection for the next call, as
// openStore says. f must close its rows, and neither call ask nor start a process.
func (d *deployment) ask(t *testing.T, f func(*sql.DB)) {
	t.Helper()
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	db := d.store.asked
	if db == nil {
		db = d.open(t)
	}
	if d.database != "" {
		d.store.asked = db
		_ = db.Ping() // replaces a connection that PostgreSQL has ended; f finds what else is wrong
	} else {
		defer db.Close()
	}
	f(db)
}

// dump returns every row of every table as text, with bytes in hexadecimal too.
func (s *server) dump(t *testing.T) string {
	t.Helper()
	tables := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if s.database != "" {
		tables = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
	}
	var out strings.Builder
	s.ask(t, func(db *sql.DB) {
		for _, table := range column(t, db, tables) {
			out.WriteString(rowsOf(t, db, table))
		}
	})
	return out.String()
}

// dumpOf returns every row of a table, one per line.
func (s *server) dumpOf(t *testing.T, table string) (text string) {
	t.Helper()
	s.ask(t, func(db *sql.DB) { text = rowsOf(t, db, table) })
	return text
}

func rowsOf(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM `+table)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var out strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, rows.Scan(values...))
		for _, v := range values {
			if b, ok := (*v.(*any)).([]byte); ok {
				fmt.Fprintf(&out, "%q %x ", b, b)
			} else {
				fmt.Fprintf(&out, "%q ", fmt.Sprint(*v.(*any)))
			}
		}
		out.WriteByte('\n')
	}
	require.NoError(t, rows.Err())
	return out.String()
}

// column returns the first column of a query's result, as text.
func (d *deployment) column(t *testing.T, query string) (values []string) {
	t.Helper()
	d.ask(t, func(db *sql.DB) { values = column(t, db, query) })
	return values
}

func column(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		out = append(out, name)
	}
	return out
}
