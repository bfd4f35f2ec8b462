// Package services gives tests the servers that they need: it finds, installs or starts them,
// and leaves neither process nor file behind. A server that cannot be had fails the test:
// what is skipped is not tested.
package services

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq" // also the driver that tests use for their own statements
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
	return copyOf(t, postgresServer(t), "template0")
}

// PostgresCopy returns the URL of a fresh copy of the template of this name, which is dropped when the test ends. The
// first test that needs a template makes it by prepare, which must close its connections; the template stays for
// later ones, so its name must tell what is in it.
func PostgresCopy(t testing.TB, template string, prepare func(url string) error) string {
	t.Helper()
	server := postgresServer(t)
	if err := makeTemplate(server, template, prepare); err != nil {
		t.Fatalf("make the template database %s: %v", template, err)
	}
	return copyOf(t, server, template)
}

// postgresServer returns the URL of the server that tests share.
func postgresServer(t testing.TB) *url.URL {
	t.Helper()
	server := os.Getenv(PostgresURL)
	if server == "" {
		startedServer, err := running()
		if err != nil {
			t.Fatalf("this test needs PostgreSQL 15 or newer: %v\nInstall it (Debian: apt-get install postgresql; "+
				"macOS: brew install postgresql), or set %s.", err, PostgresURL)
		}
		server = startedServer.URL
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL", PostgresURL) // without err, which would quote the password
	}
	return u
}

func copyOf(t testing.TB, server *url.URL, template string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	// FILE_COPY takes half as long as the default where fsync is off.
	if err := administer(server.String(), `CREATE DATABASE `+name+` TEMPLATE `+template+
		` STRATEGY file_copy`); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := administer(server.String(), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return database(server, name)
}

// made has the templates that this process knows to be complete.
var made sync.Map

// makeTemplate makes the template unless the server has it. Test binaries that run at the same time wait for each
// other, and one that was stopped in the middle leaves only a database under another name.
func makeTemplate(server *url.URL, template string, prepare func(url string) error) error {
	if _, ok := made.Load(template); ok {
		return nil
	}
	db, err := sql.Open("postgres", server.String())
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // and the lock with it
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock(hashtext($1))`, template); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)`,
		template).Scan(&exists); err != nil {
		return err
	}
	if !exists {
		draft := "draft_" + strings.ToLower(rand.Text())
		if _, err := conn.ExecContext(ctx,
			`CREATE DATABASE `+draft+` TEMPLATE template0 STRATEGY file_copy`); err != nil {
			return err
		}
		if err := prepare(database(server, draft)); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, `ALTER DATABASE `+draft+` RENAME TO `+template); err != nil {
			return err
		}
	}
	made.Store(template, nil)
	return nil
}

// database returns the URL of a database. Its connections may take long to open, as they do while tests use all of a
// machine: Atrium's default is 3 s.
func database(server *url.URL, name string) string {
	u := *server
	u.Path = "/" + name
	query := u.Query()
	query.Set("connect_timeout", strconv.Itoa(int(patience.Seconds())))
	u.RawQuery = query.Encode()
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
	var failedText strings.Builder
	dump.Stderr = &failedText
	text, err := dump.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, failedText.String())
	}
	return string(text)
}

// administrators are open connections to the server that tests share. They are no pool, whose goroutine would read as
// leaked to the tests that look for such.
var administrators = make(chan driver.Conn, 2)

// administer runs a statement on the server that tests share. It keeps the connection for the next one: to start and
// end a backend takes half as long as to create a database.
func administer(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var conn driver.Conn
	var err error
	select {
	case conn = <-administrators:
	default:
		if conn, err = connect(ctx, server); err != nil {
			return err
		}
	}
	executer, ok := conn.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("a connection of the kind %T runs no statements", conn)
	}
	if _, err := executer.ExecContext(ctx, statement, nil); err != nil {
		_ = conn.Close()
		return fmt.Errorf("%s: %w", statement, err)
	}
	select {
	case administrators <- conn:
	default:
		_ = conn.Close()
	}
	return nil
}

func connect(ctx context.Context, server string) (driver.Conn, error) {
	connector, err := pq.NewConnector(server)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

// answers returns an error unless the server accepts a connection.
func answers(ctx context.Context, server string) error {
	conn, err := connect(ctx, server)
	if err != nil {
		return err
	}
	return conn.Close()
}
