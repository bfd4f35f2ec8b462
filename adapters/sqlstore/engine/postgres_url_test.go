package engine

import (
	"context"
	"database/sql"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestPostgresURL(t *testing.T) {
	direct := services.Postgres(t)
	_, host := through(t, direct, "")
	direct, _ = through(t, direct, host)
	databaseWith := func(t *testing.T, extra string) *sql.DB {
		return pool(t, connector(t, direct+extra, 1500*time.Millisecond))
	}
	setting := func(t *testing.T, db *sql.DB, name string) string {
		return scan[string](t, db.QueryRowContext(t.Context(), `SELECT current_setting($1)`, name))
	}

	t.Run("the session has our settings", func(t *testing.T) {
		db := databaseWith(t, "")
		assert.Equal(t, "statement_timeout", setting(t, db, "statement_timeout"), "1500ms")
		assert.Equal(t, "application_name", setting(t, db, "application_name"), "atrium")
		c := connector(t, direct, time.Second)
		if !c.config.BinaryParameters || c.config.ConnectTimeout != ConnectTimeout {
			t.Errorf("binary_parameters = %v, connect_timeout = %v", c.config.BinaryParameters, c.config.ConnectTimeout)
		}
	})

	t.Run("what the URL says wins", func(t *testing.T) {
		extra := "&statement_timeout=700&application_name=other&search_path=elsewhere" +
			"&binary_parameters=no&connect_timeout=7"
		db := databaseWith(t, extra)
		for name, want := range map[string]string{"statement_timeout": "700ms", "application_name": "other",
			"search_path": "elsewhere"} {
			assert.Equal(t, name+": setting", setting(t, db, name), want)
		}
		c := connector(t, direct+extra, time.Second)
		if c.config.BinaryParameters || c.config.ConnectTimeout != 7*time.Second {
			t.Errorf("binary_parameters = %v, connect_timeout = %v", c.config.BinaryParameters, c.config.ConnectTimeout)
		}
	})

	t.Run("a URL that is none is refused without being quoted", func(t *testing.T) {
		for _, bad := range []string{
			"postgres://ann:hunter2%zz@db/atrium", "postgres://ann:hunter2/x@db/atrium",
			"postgres://ann:hunter2#x@db/atrium", "mysql://ann:hunter2@db/atrium",
			"host=db password=hunter2", "postgres://ann:hunter2@db/atrium?connect_timeout=soon",
			"postgres://ann:hunter2@db/atrium?sslmode=maybe", "",
		} {
			_, err := NewPostgres(bad, time.Second)
			if err == nil || !strings.Contains(err.Error(), "database URL") ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: error = %v", bad, err)
			}
		}
	})
}

func TestPostgresOverUnixSocket(t *testing.T) {
	direct := services.Postgres(t)
	change, upstream := through(t, direct, "")
	folder, err := os.MkdirTemp("", "pg") // t.TempDir's is too long for a socket
	require.NoError(t, err)
	defer os.RemoveAll(folder)
	gate, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	require.NoError(t, err)
	defer gate.Close()
	go func() {
		for {
			client, err := gate.Accept()
			if err != nil {
				return
			}
			go splice(client, upstream)
		}
	}()
	db := pool(t, connector(t, change+"&host="+url.QueryEscape(folder), unlimited))
	if got := scan[int](t, db.QueryRowContext(t.Context(), `SELECT $1::int`, 42)); got != 42 {
		t.Fatalf("got %d", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ends(t, 0, 200*time.Millisecond+Grace+busy, func() error {
		_, err := db.ExecContext(ctx, `SELECT pg_sleep(3600)`)
		return err
	})
}

// splice joins client and a new connection to upstream.
func splice(client net.Conn, upstream string) {
	defer client.Close()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, client)
		server.Close()
	}()
	io.Copy(client, server)
}
