package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq" // for the test's own statements

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// server is a PostgreSQL with TLS, whose pg_hba.conf has a rule for each way to be let in or not.
type server struct {
	*services.Server
	authority *fixture.Authority
	admin     *sql.DB
	port      uint16
}

const hba = `
hostnossl all only_tls  127.0.0.1/32 reject
host    all rejected    127.0.0.1/32 reject
host    all cleartext   127.0.0.1/32 password
host    all postgres    127.0.0.1/32 trust
host    all with_token  127.0.0.1/32 trust
hostssl all certified   127.0.0.1/32 cert
host    all all         127.0.0.1/32 scram-sha-256
`

// sample is what the suite reads. what_is_not_read has no grant.
const sample = `
CREATE ROLE reader LOGIN PASSWORD '%[1]s';
CREATE ROLE writer LOGIN PASSWORD '%[1]s';
CREATE ROLE stranger LOGIN PASSWORD '%[1]s';
CREATE ROLE crowded LOGIN PASSWORD '%[1]s' CONNECTION LIMIT 0;
CREATE ROLE only_tls LOGIN PASSWORD '%[1]s';
CREATE ROLE rejected LOGIN PASSWORD '%[1]s';
CREATE ROLE cleartext LOGIN PASSWORD '%[1]s';
CREATE ROLE with_token LOGIN;
CREATE ROLE certified LOGIN;
CREATE DATABASE closed_to_all;
CREATE DATABASE without_connections ALLOW_CONNECTIONS false;
REVOKE ALL ON DATABASE closed_to_all FROM PUBLIC;
ALTER ROLE reader SET temp_file_limit = '64kB';
ALTER ROLE reader SET work_mem = '64kB';
CREATE SCHEMA shop;
CREATE DOMAIN shop.grade AS integer;
CREATE TABLE shop.kinds (id bigint PRIMARY KEY, name text NOT NULL, price numeric(10,2), rate double precision,
sold boolean,
	born date, at timestamptz, doc jsonb, raw bytea, tags text[], grade shop.grade, code varchar(10));
INSERT INTO shop.kinds VALUES
	(1, 'Ada', 12.50, 0.5, true, '1815-12-10', '2026-01-02 03:04:05+00', '{"a": 1}', '\x00ff', '{x,y}', 7, 'a'),
	(2, repeat('é', 300), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, E'tab\t"quote"', -1, 1e300, false, '0044-03-15 BC', 'infinity', 'null', '', '{}', 0, '');
CREATE TABLE shop.empty (id integer);
CREATE TABLE shop."a ""strange"" name; DROP TABLE shop.kinds" ("a ""col"", b" text);
INSERT INTO shop."a ""strange"" name; DROP TABLE shop.kinds" VALUES ('here');
CREATE VIEW shop.seen AS SELECT id, name FROM shop.kinds;
CREATE MATERIALIZED VIEW shop.stored AS SELECT id FROM shop.kinds;
CREATE TABLE shop.parts (id integer) PARTITION BY RANGE (id);
CREATE TABLE shop.parts_1 PARTITION OF shop.parts FOR VALUES FROM (0) TO (10);
CREATE TABLE shop.what_is_not_read (id integer);
CREATE TABLE shop.half (open text, closed text);
INSERT INTO shop.half VALUES ('o', 'c');
CREATE VIEW shop.bad_cast AS SELECT name::integer AS n FROM shop.kinds;
CREATE VIEW shop.divided AS SELECT 1 / (id - id) AS share FROM shop.kinds;
CREATE FUNCTION shop.refuse() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''of ours''; END';
CREATE VIEW shop.refusing AS SELECT shop.refuse() AS id;
CREATE FUNCTION shop.refuse_ours() RETURNS integer LANGUAGE plpgsql AS
'BEGIN RAISE EXCEPTION ''of ours'' USING ERRCODE = ''ATR42''; END';
CREATE VIEW shop.refusing_ours AS SELECT shop.refuse_ours() AS id;
CREATE FUNCTION shop.look() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT id FROM shop.gone); END';
CREATE VIEW shop.lost AS SELECT shop.look() AS id;
CREATE MATERIALIZED VIEW shop.unfilled AS SELECT id FROM shop.kinds WITH NO DATA;
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE shop.afar (id integer) SERVER files OPTIONS (filename '/nonexistent', format 'csv');
CREATE EXTENSION postgres_fdw;
CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1');
CREATE USER MAPPING FOR PUBLIC SERVER away OPTIONS (user 'reader', password 'p');
CREATE FOREIGN TABLE shop.away (id integer) SERVER away;
GRANT SELECT ON shop.bad_cast, shop.divided, shop.refusing, shop.refusing_ours, shop.lost, shop.unfilled, shop.afar,
shop.away TO reader;
CREATE FUNCTION shop.first_name() RETURNS text LANGUAGE plpgsql STABLE AS
'BEGIN RETURN (SELECT name FROM kinds ORDER BY id LIMIT 1); END';
CREATE FUNCTION shop.first_names() RETURNS text LANGUAGE plpgsql STABLE AS
'BEGIN RETURN first_name() || first_name(); END';
CREATE VIEW shop.looked AS SELECT shop.first_name() AS one, shop.first_names() AS two;
GRANT SELECT ON shop.looked TO reader;
CREATE FUNCTION shop.left(text, integer) RETURNS text LANGUAGE sql AS 'SELECT ''not ours''';
CREATE FUNCTION shop.format_type(oid, integer) RETURNS text LANGUAGE sql AS 'SELECT ''not ours''';
CREATE FUNCTION shop.version() RETURNS text LANGUAGE sql AS 'SELECT ''Redshift''';
ALTER ROLE reader SET search_path = shop, pg_catalog;
CREATE VIEW shop.slow AS SELECT pg_sleep(30)::text AS never;
CREATE VIEW shop.costly AS SELECT i FROM generate_series(1, 200000) AS i ORDER BY i DESC;
CREATE TABLE shop.written (id integer);
CREATE FUNCTION shop.note() RETURNS integer LANGUAGE sql VOLATILE SECURITY DEFINER AS
'INSERT INTO shop.written VALUES (1) RETURNING id';
CREATE VIEW shop.writing AS SELECT shop.note() AS id;
GRANT SELECT ON shop.writing TO reader;
GRANT USAGE ON SCHEMA shop TO reader, writer, stranger, only_tls, cleartext;
GRANT SELECT ON shop.kinds, shop.empty, shop."a ""strange"" name; DROP TABLE shop.kinds", shop.seen, shop.stored,
shop.parts, shop.slow, shop.costly, shop.wide TO reader, writer;
GRANT USAGE ON SCHEMA shop TO with_token, certified;
GRANT SELECT ON shop.kinds TO only_tls, cleartext, with_token, certified;
GRANT SELECT (open) ON shop.half TO reader;
GRANT INSERT ON shop.empty TO writer;
ANALYZE shop.kinds;
`

var start = sync.OnceValues(func() (*server, error) { return startServer() })

func startServer() (*server, error) {
	t := fixture.Setup{}
	s := &server{authority: fixture.NewAuthority(t)}
	certificate, key := s.authority.Sign(t, time.Hour, "127.0.0.1")
	var err error
	s.Server, err = services.StartPostgresWith(map[string]string{
		"ssl": "on", "ssl_cert_file": "@/server.crt", "ssl_key_file": "@/server.key", "ssl_ca_file": "@/ca.crt",
		"hba_file": "@/hba",
	}, map[string]string{"server.crt": certificate, "server.key": key, "ca.crt": s.authority.PEM, "hba": hba})
	if err != nil {
		return nil, err
	}
	if s.admin, err = sql.Open("postgres", s.URL); err != nil {
		return nil, err
	}
	s.port = port(s.URL)
	wide := make([]string, connection.MaxColumns+50)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d text DEFAULT repeat('%d', 300)", i, i%10)
	}
	statements := strings.Replace(fmt.Sprintf(sample, warehouses.Canary), "CREATE VIEW shop.seen",
		"CREATE TABLE shop.wide ("+strings.Join(wide, ", ")+"); INSERT INTO shop.wide DEFAULT VALUES; CREATE VIEW "+
			"shop.seen", 1)
	for _, statement := range strings.Split(statements, ";\n") {
		if _, err := s.admin.Exec(statement); err != nil {
			return nil, fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return s, nil
}

func shared(t *testing.T) *server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("this test needs PostgreSQL 15 or newer: %v", err)
	}
	return s
}

func port(address string) uint16 {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		panic(err)
	}
	return uint16(n)
}

// startSmall starts a server without TLS with four connections, three of them the superuser's.
func startSmall() (*server, error) {
	sharedServer, err := start()
	if err != nil {
		return nil, err
	}
	startedServer, err := services.StartPostgresWith(map[string]string{"max_connections": "4",
		"superuser_reserved_connections": "3"}, nil)
	if err != nil {
		return nil, err
	}
	s := &server{Server: startedServer, port: port(startedServer.URL), authority: sharedServer.authority}
	if s.admin, err = sql.Open("postgres", s.URL); err != nil {
		return nil, err
	}
	_, err = s.admin.Exec(`CREATE ROLE reader LOGIN`)
	return s, err
}

// startFull starts a small server that has no connection left for its reader.
var startFull = sync.OnceValues(func() (*server, error) {
	s, err := startSmall()
	for range 2 {
		if err == nil {
			_, err = s.admin.Conn(context.Background())
		}
	}
	return s, err
})

func full(t *testing.T) *server {
	t.Helper()
	s, err := startFull()
	require.NoError(t, err)
	return s
}

func fullServer(t *testing.T) ports.Target {
	return full(t).target(t, map[string]any{"tls": "disable"})
}

// endingServer is told to stop once all sessions are over, and one is not.
func endingServer(t *testing.T) ports.Target {
	s, err := startSmall()
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	t.Cleanup(func() { s.admin.Close() })
	c, err := s.admin.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	var folder string
	require.NoError(t, c.QueryRowContext(t.Context(), `SHOW data_directory`).Scan(&folder))
	b, err := os.ReadFile(filepath.Join(folder, "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(bytes.SplitN(b, []byte("\n"), 2)[0]))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	target := s.target(t, map[string]any{"tls": "disable"})
	// It takes note of the signal a moment later.
	for start := time.Now(); direct(t).Probe(t.Context(), target).Failure() != connection.ServerStarting; {
		if time.Since(start) > proof.Patience {
			t.Fatal("the server does not stop")
		}
	}
	return target
}
