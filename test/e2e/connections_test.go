package e2e

import (
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

const connections = "/api/connections"

// shopWarehouse is a customer's database with a table.
type shopWarehouse struct {
	url  *url.URL
	name string // of the database
	db   *sql.DB
}

func newShop(t *testing.T) *shopWarehouse {
	t.Helper()
	u, err := url.Parse(services.Postgres(t))
	require.NoError(t, err)
	s := &shopWarehouse{url: u, name: strings.TrimPrefix(u.Path, "/")}
	s.db = s.open(t, s.name)
	t.Cleanup(func() { _ = s.db.Close() })
	s.sql(t, s.name, `CREATE TABLE orders (id BIGINT PRIMARY KEY, total NUMERIC(10, 2))`)
	return s
}

// open opens a database of the shop's server.
func (s *shopWarehouse) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	u := *s.url
	u.Path = "/" + database
	db, err := sql.Open("postgres", u.String())
	require.NoError(t, err)
	return db
}

// sql runs a statement in a database of the shop's server. It keeps the connection to the shop's own, unless the
// statement is for another one: that may rename the shop's, to which nobody may be connected then.
func (s *shopWarehouse) sql(t *testing.T, database, statement string) {
	t.Helper()
	db := s.db
	if database != s.name {
		s.db.SetMaxIdleConns(-1) // closes those that are idle
		defer s.db.SetMaxIdleConns(1)
		db = s.open(t, database)
		defer db.Close()
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// credential returns a credential for the shop. The server accepts any password.
func (s *shopWarehouse) credential(password string) object {
	port, _ := strconv.Atoi(s.url.Port())
	return object{"host": s.url.Hostname(), "port": port, "database": s.name, "username": s.url.User.Username(),
		"password": password, "tls": "disable"}
}

func (s *shopWarehouse) connection(password string) object {
	return object{"kind": "postgres", "name": "The shop", "credential": s.credential(password)}
}

// toShops allows every org to reach the tests' servers, and to probe, preview and refresh without limits. A busy
// machine needs longer for a child process of low priority than people would wait.
func toShops(d *deployment) {
	set("connections.preview_limits.workspace_per_minute", "100000")(d)
	set("connections.preview_limits.target_per_hour", "100000")(d)
	set("connections.refresh_interval", "0s")(d)
	set("server.request_timeout", "2m")(d)
	set("server.write_timeout", "125s")(d)
	set("connections.probe_limits.workspace_per_minute", "10000")(d)
	set("connections.probe_limits.target_per_hour", "10000")(d)
	if !slices.ContainsFunc(d.env, func(v string) bool { return strings.HasPrefix(v, "ATRIUM_CONFIG=") }) {
		configured("orgs: [{slug: default, egress: {allow: [127.0.0.0/8, '::1'], " +
			"addresses: [203.0.113.7, '2001:db8:7::/48']}, " + unhurriedWarehouses + "}]")(d)
	}
}

// unhurriedWarehouses is a part of the configuration of an org.
const unhurriedWarehouses = "warehouse_timeouts: {connect: 30s, statement: 1m, total: 2m}"

func TestConnections(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		ann, admin, peer := s.user(t, "member"), s.user(t, "admin"), s.user(t, "member")
		owner := s.user(t, "owner")
		shop := newShop(t)

		item := ann.create(t, connections, shop.connection(fixture.Canary), "Idempotency-Key: made").has(t,
			map[string]string{
				"status": "active", "kind": "postgres", "name": "The shop", "secret.set": `["password"]`,
				"config.database": shop.name, "failure": "null",
				"sources": "[]", "server.product": "PostgreSQL", "server.can_write": "true",
				"warnings": `["credential_can_write"]`, "created_by": ann.id,
			})
		one := connections + "/" + item.at("id")

		t.Run("a repeated request gets the same response, and dials nothing", func(t *testing.T) {
			second := ann.create(t, connections, shop.connection(fixture.Canary), "Idempotency-Key: made")
			if second.text != item.text || second.header.Get("Idempotency-Replayed") != "true" ||
				second.header.Get("Location") != one {
				t.Errorf("%s", second)
			}
			if all := ann.get(t, connections).items(t); len(all) != 1 {
				t.Errorf("%d connections", len(all))
			}
		})
		t.Run("a dry run stores nothing", func(t *testing.T) {
			ann.do(t, "POST", connections+"?dry_run=true", shop.connection(fixture.Canary),
				"Idempotency-Key: dry").is(t, 200).has(t, map[string]string{"checks.4.result": "ok"})
			ann.do(t, "POST", connections+"?dry_run=true", shop.connection(fixture.Canary),
				"Idempotency-Key: dry").is(t, 200).has(t, map[string]string{"checks.4.step": "authenticate"})
			if all := ann.get(t, connections).items(t); len(all) != 1 {
				t.Errorf("%d connections", len(all))
			}
		})
		t.Run("the steps of a test are streamed", func(t *testing.T) {
			a := ann.do(t, "POST", connections+"?dry_run=true", shop.connection(fixture.Canary),
				"Accept: text/event-stream").is(t, 200)
			if strings.Count(a.text, "event: check\n") != 8 || strings.Contains(a.text, fixture.Canary) ||
				!strings.Contains(a.text, "event: result\ndata: {\"status\":200,\"body\":{\"checks\":") {
				t.Errorf("%s", a)
			}
		})
		t.Run("the list names the available kinds, and the addresses for firewalls", func(t *testing.T) {
			list := ann.get(t, connections).has(t, map[string]string{"next_cursor": "null", "data.0.id": item.at("id"),
				"egress_addresses": `["203.0.113.7","2001:db8:7::/48"]`})
			if !strings.Contains(list.at("kinds"), `"postgres"`) || !strings.Contains(list.at("kinds"), "x-secret") {
				t.Errorf("kinds = %s", list.at("kinds"))
			}
		})
		t.Run("a connection that does not work is not stored, and the response says why", func(t *testing.T) {
			for want, change := range map[string]object{
				"database_not_found":  {"database": "no_such_database"},
				"tls_unsupported":     {"tls": "require"},
				"network_not_allowed": {"host": "10.0.0.1"},
			} {
				body := shop.connection(fixture.Canary)
				for field, value := range change {
					body["credential"].(object)[field] = value
				}
				a := ann.do(t, "POST", connections, body).problem(t, 422, "probe_failed").has(t,
					map[string]string{"failure.code": want})
				if len(a.at("failure.fields")) < 4 || a.at("failure.hint") == "" ||
					!strings.Contains(a.at("checks"), `"failed"`) {
					t.Errorf("%s", a)
				}
			}
			ann.do(t, "POST", connections,
				object{"kind": "postgres", "credential": object{"host": "h", "dsn": fixture.Canary}}).problem(t, 422,
				"invalid_fields")
			ann.do(t, "POST", connections, object{"kind": "oracle", "credential": object{}}).problem(t, 403,
				"kind_not_offered")
			if all := ann.get(t, connections).items(t); len(all) != 1 {
				t.Errorf("%d connections", len(all))
			}
		})
		t.Run("a member verifies a connection, which fails and recovers with its server", func(t *testing.T) {
			shop.sql(t, "postgres", `ALTER DATABASE `+shop.name+` RENAME TO `+shop.name+`_away`)
			peer.do(t, "POST", one+"/verify", nil).is(t, 200).has(t,
				map[string]string{"status": "failing", "failure.code": "database_not_found",
					"consecutive_failures": "1", "revision": "2"})
			shop.sql(t, "postgres", `ALTER DATABASE `+shop.name+`_away RENAME TO `+shop.name)
			peer.do(t, "POST", one+"/verify", object{}).is(t, 200).has(t,
				map[string]string{"status": "active", "failure": "null", "consecutive_failures": "0", "revision": "3"})
		})
		t.Run("connections are checked automatically", func(t *testing.T) {
			shop.sql(t, "postgres", `ALTER DATABASE `+shop.name+` RENAME TO `+shop.name+`_away`)
			s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'connection.check' AND state = 'queued'`)
			s.stderr.await(t, s, checked)
			ann.get(t, one).has(t, map[string]string{"status": "failing", "failure.code": "database_not_found"})
			shop.sql(t, "postgres", `ALTER DATABASE `+shop.name+`_away RENAME TO `+shop.name)
			peer.do(t, "POST", one+"/verify", nil).is(t, 200).has(t, map[string]string{"status": "active"})
		})
		t.Run("a new credential replaces the old one only if it works", func(t *testing.T) {
			fingerprint := ann.get(t, one).at("secret.fingerprint")
			peer.do(t, "POST", one+"/verify", object{"credential": shop.credential(fixture.Canary + "2")}).problem(t,
				403, "connection_forbidden")
			broken := shop.credential(fixture.Canary + "2")
			broken["database"] = "no_such_database"
			ann.do(t, "POST", one+"/verify", object{"credential": broken}).problem(t, 422, "probe_failed")
			ann.get(t, one).has(t, map[string]string{"secret.fingerprint": fingerprint, "status": "active",
				"config.database": shop.name})
			current := admin.do(t, "POST", one+"/verify",
				object{"credential": shop.credential(fixture.Canary + "2")}).is(t, 200)
			if current.at("secret.fingerprint") == fingerprint || current.at("status") != "active" {
				t.Errorf("%s", current)
			}
			reply := ann.do(t, "POST", one+"/verify", object{"credential": shop.credential(fixture.Canary)}).is(t, 200)
			if reply.at("secret.fingerprint") != fingerprint {
				t.Errorf("the same secret has another fingerprint: %s, then %s", fingerprint, reply)
			}
		})
		t.Run("a connection is renamed, and says when it is verified next", func(t *testing.T) {
			peer.do(t, "PATCH", one, object{"name": "The shop in Lyon"}).problem(t, 403, "connection_forbidden")
			response := ann.do(t, "PATCH", one, object{"name": "The shop in Lyon"}).is(t, 200).has(t,
				map[string]string{"name": "The shop in Lyon"})
			if next := response.at("next_verify_at"); next <= response.at("last_verified_at") || next == "null" {
				t.Errorf("next_verify_at = %s", next)
			}
			ann.get(t, one).has(t, map[string]string{"name": "The shop in Lyon",
				"next_verify_at": response.at("next_verify_at")})
			ann.do(t, "POST", one+"/erase", nil).problem(t, 409, "connection_not_revoked")
		})
		t.Run("all fields that are wrong are named at once", func(t *testing.T) {
			a := ann.do(t, "POST", connections, object{"kind": "postgres", "name": strings.Repeat("x", 121),
				"credential": object{"database": "d", "username": "u", "port": "x"}}).problem(t, 422, "invalid_fields")
			for _, field := range []string{"/name", "/credential/host", "/credential/port"} {
				if !strings.Contains(a.text, `"`+field+`"`) {
					t.Errorf("%s is not named: %s", field, a)
				}
			}
		})
		t.Run("a workspace with a live connection cannot be deleted", func(t *testing.T) {
			owner.do(t, "DELETE", "/api/workspaces/"+owner.workspace, nil).problem(t, 409, "workspace_in_use")
			owner.get(t, "/api/workspaces/"+owner.workspace)
		})
		t.Run("a revoked connection stays revoked until it gets a new credential", func(t *testing.T) {
			peer.do(t, "DELETE", one, nil).problem(t, 403, "connection_forbidden")
			ann.do(t, "DELETE", one, nil, `If-Match: "1-x"`).problem(t, 412, "revision_mismatch")
			ann.do(t, "DELETE", one, nil).is(t, 200).has(t,
				map[string]string{"connection.status": "revoked", "cancelled_jobs": "1", "paused_sources": "[]",
					"connection.secret.set": "[]"})
			ann.do(t, "DELETE", one, nil).is(t, 200).has(t,
				map[string]string{"connection.status": "revoked", "cancelled_jobs": "0"})
			ann.do(t, "POST", one+"/verify", nil).problem(t, 409, "connection_revoked")
			ann.do(t, "POST", one+"/verify", object{"credential": shop.credential(fixture.Canary)}).is(t, 200).has(t,
				map[string]string{"status": "active", "revoked_at": "null"})
			admin.do(t, "DELETE", one, nil).is(t, 200).has(t, map[string]string{"cancelled_jobs": "1"})
			ann.do(t, "POST", one+"/erase", nil).is(t, 200).has(t, map[string]string{"name": "Erased", "config": "{}",
				"checks": "[]", "next_verify_at": "null", "status": "revoked"})
			ann.get(t, one).has(t, map[string]string{"name": "Erased", "config": "{}"})
		})
		t.Run("the audit trail records every change without secrets", func(t *testing.T) {
			types := admin.get(t, "/api/events?limit=100&subject="+item.at("id")).each(t, "type")
			slices.Reverse(types)
			for i, want := range []string{"created", "verified", "failing", "verified", "recovered", "failing",
				"verified", "recovered", "credential_replaced", "credential_replaced", "renamed", "revoked",
				"credential_replaced", "revoked", "erased"} {
				if i >= len(types) || types[i] != "connection."+want {
					t.Fatalf("events = %v, want connection.%s in place %d", types, want, i)
				}
			}
		})
		t.Run("a workspace without live connections can be deleted", func(t *testing.T) {
			owner.do(t, "DELETE", "/api/workspaces/"+owner.workspace, nil).is(t, 204)
			s.must(t, "workspace", "restore", owner.workspace)
		})
		s.stop(t)
		lookForCanary(t, s)
	})
}

func TestProbesAreLimited(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops, set("connections.probe_limits.workspace_per_minute", "4"),
			set("connections.probe_limits.target_per_hour", "3"))
		ann, elsewhere := s.user(t, "member"), s.user(t, "owner", "--workspace", "elsewhere")
		body := object{"kind": "postgres", "credential": object{"host": "127.0.0.1", "port": 1, "database": "d",
			"username": "u"}}
		limit := func(c *client) {
			t.Helper()
			a := c.do(t, "POST", connections, body).problem(t, 429, "probe_rate_limited")
			if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 3600 {
				t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
			}
		}
		for range 3 {
			ann.do(t, "POST", connections, body).problem(t, 422, "probe_failed")
		}
		limit(ann)
		for range 3 { // another workspace has its own
			elsewhere.do(t, "POST", connections, body).problem(t, 422, "probe_failed")
		}
		limit(elsewhere)
		body["credential"].(object)["host"] = "127.0.0.2"
		elsewhere.do(t, "POST", connections, body).problem(t, 422, "probe_failed")
		limit(elsewhere) // four of the workspace
	})
}

// TestNoOneUsesUpTheProbesOfAnother guesses a warehouse's password in two workspaces, beside the one that uses it.
func TestNoOneUsesUpTheProbesOfAnother(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops, set("connections.probe_limits.target_per_hour", "12"))
		shop := newShop(t)
		ann := s.user(t, "owner")
		id := ann.create(t, connections, shop.connection(fixture.Canary)).at("id")
		guess := shop.connection(fixture.Canary)
		guess["credential"].(object)["username"] = "nobody"
		for _, workspace := range []string{"mallory", "trudy"} {
			guesser := s.user(t, "owner", "--workspace", workspace)
			for range 6 {
				guesser.do(t, "POST", connections, guess).problem(t, 422, "probe_failed")
			}
		}
		guesser := s.user(t, "owner", "--workspace", "mallory")
		guesser.do(t, "POST", connections, guess).problem(t, 429, "probe_rate_limited")
		ann.do(t, "POST", connections+"/"+id+"/verify", object{}).is(t, 200).
			has(t, map[string]string{"status": "active"})
		other := s.user(t, "owner", "--workspace", "other")
		other.create(t, connections, shop.connection(fixture.Canary))
	})
}

var checked = regexp.MustCompile(`"kind":"connection.check".*`)

// lookForCanary searches everything that a stopped server has left for secrets in plain text.
func lookForCanary(t *testing.T, s *server) {
	t.Helper()
	texts := map[string]string{"the log": s.stderr.String() + s.stdout.String(), "the database": s.dump(t)}
	if s.database != "" {
		texts["what pg_dump writes"] = services.DumpPostgres(t, s.database)
		if !strings.Contains(texts["what pg_dump writes"], "COPY public.connection_credentials") {
			t.Error("pg_dump leaves the credentials out")
		}
	}
	for _, name := range []string{"atrium.db", "atrium.db-wal"} {
		if file, err := os.ReadFile(filepath.Join(s.data, name)); err == nil {
			texts[name] = string(file)
		}
	}
	for place, text := range texts {
		for _, form := range []string{fixture.Canary, hex.EncodeToString([]byte(fixture.Canary)),
			base64.StdEncoding.EncodeToString([]byte(fixture.Canary))[:24]} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s holds a secret: …%s…", place, text[max(0, i-200):i])
			}
		}
	}
}
