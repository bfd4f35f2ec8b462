package services

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// durablePostgres is postgresScript for a server that may be stopped and started again, and that keeps
// what it has acknowledged through a crash: while there is a file named down, it stays down.
const durablePostgres = `
end=TERM
prepare() {
	"$1/initdb" -D "$folder/data" -U postgres -A trust --no-sync -E UTF8 --locale=C.UTF-8
}
serve() {
	bin=$1
	server=
	trap 'kill -QUIT $server 2>/dev/null; wait $server; exit' TERM
	while :; do
		"$bin/postgres" -D "$folder/data" -k "$folder" -h 127.0.0.1 -p "$port" -c max_connections=300 -c fsync=off -c synchronous_commit=on &
		server=$!
		wait $server
		while [ -e "$folder/down" ]; do sleep 0.02; done
	done
}
`

// OwnPostgres is a PostgreSQL that one test has for itself, to do with it what others would suffer from.
type OwnPostgres struct {
	*Server
	t testing.TB
}

// StartOwnPostgres starts a server that ends with the test. What it acknowledges outlasts its crash, but
// not the machine's.
func StartOwnPostgres(t testing.TB) *OwnPostgres {
	t.Helper()
	bin, err := postgresBin()
	if err != nil {
		t.Fatalf("this test needs PostgreSQL 15 or newer: %v", err)
	}
	p := program{
		name: "postgres", script: durablePostgres, args: []string{bin},
		url: func(port int) string {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		},
		ready: answers,
	}
	server, err := p.start()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	return &OwnPostgres{server, t}
}

// standbyScript keeps a streaming standby of the server at a port.
const standbyScript = `
end=QUIT
prepare() {
	"$1/pg_basebackup" -D "$folder/data" -R --checkpoint=fast -h 127.0.0.1 -p "$2" -U postgres
}
serve() {
	exec "$1/postgres" -D "$folder/data" -k "$folder" -h 127.0.0.1 -p "$port" -c max_connections=300 -c fsync=off
}
`

// Standby starts a standby of the server, which ends with the test. It accepts connections, and refuses writes.
func (p *OwnPostgres) Standby() *Server {
	p.t.Helper()
	bin, err := postgresBin()
	require.NoError(p.t, err)
	primary, err := url.Parse(p.URL)
	require.NoError(p.t, err)
	standby := program{
		name: "a standby of postgres", script: standbyScript, args: []string{bin, primary.Port()},
		url: func(port int) string {
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
		},
		ready: answers,
	}
	server, err := standby.start()
	require.NoError(p.t, err)
	p.t.Cleanup(server.Stop)
	return server
}

// Down stops the server, and returns once it is gone: at once as a crash does, or after it has thrown
// everybody out and written a checkpoint.
func (p *OwnPostgres) Down(crash bool) {
	p.t.Helper()
	signal := syscall.SIGINT // PostgreSQL's fast shutdown
	if crash {
		signal = syscall.SIGQUIT
	}
	file := filepath.Join(p.keeper.Dir, "data", "postmaster.pid")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(p.down(), nil, 0o600)
	}
	require.NoError(p.t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err == nil {
		err = syscall.Kill(pid, signal)
	}
	if err != nil {
		p.t.Fatalf("stop PostgreSQL: %v", err)
	}
	proof.Eventually(p.t, "PostgreSQL has stopped", func() bool { return syscall.Kill(pid, 0) != nil })
}

// Up starts the server again, and returns once it answers.
func (p *OwnPostgres) Up() {
	p.t.Helper()
	if err := os.Remove(p.down()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	proof.Await(p.t, "PostgreSQL accepts connections", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return answers(ctx, p.URL)
	}, func(err error) bool { return err == nil })
}

func (p *OwnPostgres) down() string { return filepath.Join(p.keeper.Dir, "down") }
