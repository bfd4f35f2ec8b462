// Package services gives tests the servers that they need: it finds, installs or starts them,
// and leaves neither process nor file behind. A server that cannot be had fails the test:
// what is skipped is not tested.
package services

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver that tests use for their own statements
)

// PostgresURL names the environment variable with the URL of a running PostgreSQL, 15 or
// newer, whose user may create databases. Without it each test binary starts a server of its
// own, which takes about a second; command withservices starts one for all.
const PostgresURL = "TEST_POSTGRES_URL"

// running is the server of this test binary. It is kept here because the server stops once
// nobody holds it.
var running = sync.OnceValues(StartPostgres)

// Postgres returns the URL of a fresh, empty database, which is dropped when the test ends,
// connections to it included. Making one takes about 20 ms.
func Postgres(t testing.TB) string {
	t.Helper()
	server := os.Getenv(PostgresURL)
	if server == "" {
		started, err := running()
		if err != nil {
			t.Fatalf("this test needs PostgreSQL 15 or newer: %v\nInstall it (Debian: apt-get install postgresql; macOS: brew install postgresql), or set %s.", err, PostgresURL)
		}
		server = started.URL
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL", PostgresURL) // without err, which would quote the password
	}
	name := "test_" + strings.ToLower(rand.Text())
	// FILE_COPY takes half as long as the default where fsync is off.
	if err := execute(server, `CREATE DATABASE `+name+` TEMPLATE template0 STRATEGY file_copy`); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(server, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	u.Path = "/" + name
	return u.String()
}

// DumpPostgres returns what pg_dump writes of a database, in plain text: all that a backup of it would
// hold. The program is that of the server which this package would start; one that is older than
// the server named by PostgresURL refuses.
func DumpPostgres(t testing.TB, database string) string {
	t.Helper()
	bin, err := postgresBin()
	if err != nil {
		t.Fatalf("this test needs pg_dump: %v", err)
	}
	dump := exec.Command(filepath.Join(bin, "pg_dump"), "--no-password", "--dbname="+database)
	var failed strings.Builder
	dump.Stderr = &failed
	text, err := dump.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, failed.String())
	}
	return string(text)
}

// execute connects for one statement: a pool that stays open would read as a leaked goroutine
// to the tests that look for such.
func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("postgres", server)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
