package services

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// pgbouncerScript keeps PgBouncer.
const pgbouncerScript = `
end=KILL
prepare() { sed -i "s|PORT|${2:-$port}|" pgbouncer.ini; }
serve() { exec "$1" pgbouncer.ini; }
`

// StartPgBouncer starts a PgBouncer with a configuration of the test's own, in which "listen_port = PORT" stands for
// the port, and with files beside it. It stops with Stop, or soon after the calling process ends. URL has only
// its host.
func StartPgBouncer(config string, files map[string]string) (*Server, error) {
	all := map[string]string{"pgbouncer.ini": config}
	maps.Copy(all, files)
	return startPgBouncer("", all, func(port int) string { return fmt.Sprintf("postgres://127.0.0.1:%d", port) })
}

func startPgBouncer(port string, files map[string]string, address func(free int) string) (*Server, error) {
	bin, err := installed("pgbouncer", "pgbouncer")
	if err != nil {
		return nil, err
	}
	p := program{name: "pgbouncer", script: pgbouncerScript, args: []string{bin, port}, files: files, url: address}
	p.ready = func(ctx context.Context, via string) error {
		u, err := url.Parse(via)
		if err != nil {
			return err
		}
		return accepts(ctx, u.Host)
	}
	return p.start()
}

// pgbouncerConfig has the defaults of PgBouncer, except for where it listens and what it leads to.
const pgbouncerConfig = `
[databases]
* = host=%s port=%s user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = PORT
unix_socket_dir =
auth_type = any
pool_mode = %s
`

// PgBouncerServer is a PgBouncer in front of the server of a database.
type PgBouncerServer struct {
	*Server
	database *url.URL // behind it
	port     string
}

// PgBouncer starts a PgBouncer before the server of a database, with its default settings except for the pool mode:
// session, transaction or statement. URL leads to the database through it. It ends with the test.
func PgBouncer(t testing.TB, database, mode string) *PgBouncerServer {
	t.Helper()
	backend, err := url.Parse(database)
	if err != nil {
		t.Fatal("the database is not a URL")
	}
	b := &PgBouncerServer{database: backend}
	if b.Server, err = b.start(mode); err != nil {
		t.Fatalf("this test needs PgBouncer: %v\nInstall it (Debian: apt-get install pgbouncer; macOS: brew install "+
			"pgbouncer).", err)
	}
	proxy, err := url.Parse(b.URL)
	require.NoError(t, err)
	b.port = proxy.Port()
	t.Cleanup(func() { b.Stop() })
	return b
}

// Restart starts it again on the same port, with another pool mode. All connections through it end.
func (b *PgBouncerServer) Restart(mode string) error {
	b.Stop()
	server, err := b.start(mode)
	if err == nil {
		b.Server = server
	}
	return err
}

func (b *PgBouncerServer) start(mode string) (*Server, error) {
	config := fmt.Sprintf(pgbouncerConfig, b.database.Hostname(), b.database.Port(), b.database.User.Username(), mode)
	return startPgBouncer(b.port, map[string]string{"pgbouncer.ini": config}, func(free int) string {
		u := *b.database
		u.Host = fmt.Sprintf("127.0.0.1:%d", free)
		if b.port != "" {
			u.Host = "127.0.0.1:" + b.port
		}
		return u.String()
	})
}
