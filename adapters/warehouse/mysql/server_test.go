package mysql_test

import (
	"database/sql"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql" // for the test's own statements

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// server is a MariaDB with TLS.
type server struct {
	*services.Server
	authority *fixture.Authority
	admin     *sql.DB
	port      uint16
}

// sample is what the suite reads. what_is_not_read has no grant.
const sample = `
CREATE USER reader IDENTIFIED BY '%[1]s';
CREATE USER writer IDENTIFIED BY '%[1]s';
CREATE USER stranger IDENTIFIED BY '%[1]s';
CREATE USER auditor IDENTIFIED BY '%[1]s';
CREATE USER crowded IDENTIFIED BY '%[1]s' WITH MAX_USER_CONNECTIONS 1;
CREATE USER thrifty IDENTIFIED BY '%[1]s' WITH MAX_QUERIES_PER_HOUR 1;
CREATE USER only_tls IDENTIFIED BY '%[1]s' REQUIRE SSL;
CREATE USER locked IDENTIFIED BY '%[1]s' ACCOUNT LOCK;
CREATE USER with_token;
CREATE USER local IDENTIFIED VIA unix_socket;
CREATE DATABASE closed_to_all;
CREATE DATABASE shop;
SET SESSION sql_mode = '';
SET SESSION time_zone = '+00:00';
CREATE TABLE shop.kinds (id bigint unsigned PRIMARY KEY, name varchar(300) NOT NULL, price numeric(10,2), rate double,
sold boolean,
	born date, at timestamp NULL, doc json, raw blob, tags set('x', 'y'), flags bit(4), spot point, old varchar(10)
	CHARACTER SET latin1);
INSERT INTO shop.kinds VALUES
	(1, 'Ada', 12.50, 0.5, true, '1815-12-10', '2026-01-02 03:04:05', '{"a": 1}', x'00ff', 'x,y', 5, POINT(1, 2), 'é'),
	(2, repeat('é', 300), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(18446744073709551615, 'tab\t"quote"', -1, 1e300, false, '0000-00-00', '0000-00-00', 'null', '', '', 0, POINT(-1,
	0.5), '');
CREATE TABLE shop.Kinds_2 (id integer);
CREATE TABLE shop.empty (id integer);
CREATE TABLE shop.%[2]s (%[3]s text);
INSERT INTO shop.%[2]s VALUES ('here');
CREATE TABLE shop.wide (%[4]s);
INSERT INTO shop.wide VALUES ();
CREATE VIEW shop.seen AS SELECT id, name FROM shop.kinds;
CREATE TABLE shop.what_is_not_read (id integer);
CREATE TABLE shop.half (open text, closed text);
INSERT INTO shop.half VALUES ('o', 'c');
CREATE VIEW shop.several AS SELECT (SELECT id FROM shop.kinds) AS id;
CREATE FUNCTION shop.refuse() RETURNS integer BEGIN SIGNAL SQLSTATE '45000'; RETURN 1; END;
CREATE VIEW shop.refusing AS SELECT shop.refuse() AS id;
CREATE VIEW shop.slow AS SELECT SLEEP(30) AS never;
CREATE TABLE shop.written (id integer);
CREATE FUNCTION shop.note() RETURNS integer MODIFIES SQL DATA BEGIN INSERT INTO shop.written VALUES (1); RETURN 1; END;
CREATE VIEW shop.writing AS SELECT shop.note() AS id;
GRANT SELECT ON shop.kinds TO reader, writer, only_tls, crowded, thrifty, with_token;
GRANT SELECT ON shop.Kinds_2 TO reader;
GRANT SELECT ON shop.empty TO reader, writer;
GRANT SELECT ON shop.%[2]s TO reader;
GRANT SELECT ON shop.wide TO reader;
GRANT SELECT ON shop.seen TO reader;
GRANT SELECT ON shop.slow TO reader;
GRANT SELECT ON shop.several TO reader;
GRANT SELECT ON shop.refusing TO reader;
GRANT EXECUTE ON FUNCTION shop.refuse TO reader;
GRANT SELECT ON shop.writing TO reader;
GRANT EXECUTE ON FUNCTION shop.note TO reader;
GRANT SELECT (open) ON shop.half TO reader;
GRANT INSERT ON shop.empty TO writer, stranger;
GRANT SELECT ON *.* TO auditor;
ANALYZE TABLE shop.kinds;
`

var start = sync.OnceValues(func() (*server, error) {
	t := fixture.Setup{}
	authority := fixture.NewAuthority(t)
	certificate, key := authority.Sign(t, time.Hour, "127.0.0.1")
	s, err := open(map[string]string{"ssl_cert": "@/server.crt", "ssl_key": "@/server.key", "ssl_ca": "@/ca.crt"},
		map[string]string{"server.crt": certificate, "server.key": key, "ca.crt": authority.PEM})
	if err != nil {
		return nil, err
	}
	s.authority = authority
	wide := make([]string, connection.MaxColumns+50)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d text DEFAULT (repeat('%d', 300))", i, i%10)
	}
	s.admin.SetMaxOpenConns(1) // which holds the settings of the sample
	statements := fmt.Sprintf(sample, warehouses.Canary, quoted(strange), quoted("a `col`, b?"),
		strings.Join(wide, ", "))
	for _, statement := range strings.Split(strings.TrimSpace(statements), ";\n") {
		if _, err := s.admin.Exec(statement); err != nil {
			return nil, fmt.Errorf("%.60s: %w", statement, err)
		}
	}
	return s, nil
})

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func open(settings, files map[string]string) (*server, error) {
	startedServer, err := services.StartMariaDB(settings, files)
	if err != nil {
		return nil, err
	}
	s := &server{Server: startedServer, port: port(startedServer.URL)}
	s.admin, err = sql.Open("mysql", s.URL)
	return s, err
}

func shared(t *testing.T) *server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("this test needs MariaDB: %v", err)
	}
	return s
}

func port(address string) uint16 {
	config, err := mysql.ParseDSN(address)
	if err != nil {
		panic(err)
	}
	a, err := netip.ParseAddrPort(config.Addr)
	if err != nil {
		panic(err)
	}
	return a.Port()
}

// small starts a server without TLS with ten connections, and one more for root.
func small(t *testing.T) *server {
	t.Helper()
	s, err := open(map[string]string{"max_connections": "10"}, nil)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	t.Cleanup(func() { s.admin.Close() })
	s.authority = shared(t).authority
	return s
}

func keep(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func fullServer(t *testing.T) ports.Target {
	s := small(t)
	if _, err := s.admin.Exec(`CREATE USER reader IDENTIFIED BY '` + warehouses.Canary + `'`); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		keep(t, s.admin)
	}
	return s.target(t, map[string]any{"tls": "disable"})
}

// crowdedUser has one session, and may have no more.
func crowdedUser(t *testing.T) ports.Target {
	s := shared(t)
	db, err := sql.Open("mysql", fmt.Sprintf("crowded:%s@tcp(127.0.0.1:%d)/shop", warehouses.Canary, s.port))
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	keep(t, db)
	return s.target(t, map[string]any{"username": "crowded"})
}
