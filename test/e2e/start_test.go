package e2e

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("the first start prints a working key and creates private files; the second prints no key",
		func(t *testing.T) {
			t.Parallel()
			d := deploy(t, sqlite, asText)
			d.flags = []string{"--demo"}
			s := d.start(t)
			token := s.stdout.await(t, s, regexp.MustCompile(`Bearer (atk_\w+)'`))[1]
			owner := &client{server: s, token: token}
			owner.get(t, "/api/me").has(t, map[string]string{"role": "owner", "workspace.slug": "default"})
			link := s.stdout.await(t, s, regexp.MustCompile(`once:\nhttp://\S+/console/sign-in#token=(atl_\w+)\n`))[1]
			(&client{server: s}).do(t, "POST", "/api/auth/sessions", object{"token": link}).is(t, 201).
				has(t, map[string]string{"user.email": "owner@localhost"})
			demo := owner.get(t, templates).items(t)
			if len(demo) == 0 {
				t.Error("there is no demo data")
			}
			site := s.stdout.await(t, s, regexp.MustCompile(`sample chat: (http://localhost:\d+)/\n`))[1]
			page, _ := io.ReadAll(fetch(t, &server{url: site}, "/").Body)
			embedToken := regexp.MustCompile(`data-token="(ate_\w+)"`).FindSubmatch(page)[1]
			visibleChat := &embeddedChat{manager: owner, secret: string(embedToken)}
			visit := visibleChat.visit(t, "Origin: "+site).is(t, 200).at("session")
			request := visibleChat.says(t, visit, object{"text": "Where is my order?"}, "Origin: "+site).is(t, 200)
			if !strings.Contains(request.text, "D-1042") {
				t.Errorf("the sample chat answers %s", request)
			}
			demoChats := owner.get(t, chats)
			if demoChats.has(t, map[string]string{"data.0.health": "ok", "data.1.health": "ok",
				"data.1.status": "published"}); len(demoChats.items(t)) != 2 {
				t.Errorf("the chats are %s", demoChats)
			}
			shop := owner.get(t, connections).has(t,
				map[string]string{"data.0.name": "Demo shop", "data.0.status": "active", "data.1.name": "Sample site",
					"data.1.status": "active"}).at("data.0.id")
			owner.do(t, "POST", connections+"/"+shop+"/verify", nil).is(t, 200).has(t,
				map[string]string{"status": "active", "server.product": "SQLite"})
			owner.get(t, sources).has(t, map[string]string{"data.0.name": "Customers of the demo shop",
				"data.0.status": "active", "data.0.mapping_report.matched": "4", "data.1.name": "Sign-ups",
				"data.1.status": "unmapped"})
			owner.get(t, sources+"/sheet-preview?source_id="+owner.get(t, sources).at("data.1.id")).has(t,
				map[string]string{"suggestions.0.field": "email", "suggestions.0.column": "E-mail Address"})
			for path, mode := range map[string]fs.FileMode{d.data: 0o700, d.keyFile(): 0o600,
				filepath.Join(d.data, "atrium.db"): 0o600, filepath.Join(d.data, "atrium.db-wal"): 0o600} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
				}
			}
			s.stop(t)
			s = d.start(t)
			if second := len(owner.at(s).get(t, templates).items(t)); second != len(demo) {
				t.Errorf("the second start with --demo leaves %d templates, want %d", second, len(demo))
			}
			if second := len(owner.at(s).get(t, chats).items(t)); second != 2 {
				t.Errorf("the second start with --demo leaves %d chats", second)
			}
			other := owner.at(s).get(t, connections).each(t, "id")
			if len(other) != 2 || !slices.Contains(other, shop) {
				t.Errorf("the second start with --demo leaves the connections %v", other)
			}
			if second := len(owner.at(s).get(t, sources).items(t)); second != 2 {
				t.Errorf("the second start with --demo leaves %d sources", second)
			}
			s.stdout.await(t, s, regexp.MustCompile(`No sample data was added: the workspace default is in use`))
			hint := s.stdout.await(t, s, regexp.MustCompile(
				`Create an API key with: atrium (token create --email \S+)`))[1]
			if strings.Contains(s.stdout.String(), "atk_") || hint != "token create --email owner@localhost" {
				t.Errorf("the second start wrote %s", s.stdout)
			}
			d.must(t, strings.Fields(hint)...)
			s.stdout.await(t, s, regexp.MustCompile(`Sign in with a browser with a link from: atrium console\n`))
		})
	t.Run("without a terminal the first key is written to a file, and expires", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite, asText)
		s := d.start(t)
		path := s.stdout.await(t, s, regexp.MustCompile(`The API key is in the file\n(.*) and expires in 24 hours`))[1]
		command := s.stdout.await(t, s, regexp.MustCompile(`(?m)^curl .*$`))[0]
		s.stdout.await(t, s, regexp.MustCompile(`create a link with: atrium console`))
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(path) != d.data {
			t.Fatalf("%s: %v, %v", path, info, err)
		}
		token, err := os.ReadFile(path)
		require.NoError(t, err)
		owner := &client{server: s, token: strings.TrimSpace(string(token))}
		ends, err := time.Parse(time.RFC3339, owner.get(t, "/api/api-keys").at("data.0.expires_at"))
		if rest := time.Until(ends); err != nil || rest < 23*time.Hour || rest > 24*time.Hour {
			t.Errorf("the key ends in %s, %v", rest, err)
		}
		if answers := newShell(t).run(t, []string{command}); len(answers[0]) != 1 || answers[0][0] != "200" {
			t.Errorf("%s: %v", command, answers)
		}
		printedText := s.stdout.String() + s.stderr.String()
		if strings.Contains(printedText, "atk_") || strings.Contains(printedText, "atl_") {
			t.Error("the key or a link was printed")
		}
	})
	t.Run("the hint names no user if there are several", func(t *testing.T) {
		t.Parallel()
		d := deployMigrated(t, sqlite, asText)
		d.must(t, "user", "create", "--email", "a@example.com", "--role", "owner")
		d.must(t, "user", "create", "--email", "b@example.com", "--role", "member")
		s := d.start(t)
		s.stdout.await(t, s, regexp.MustCompile(`Create an API key with: atrium token create --email EMAIL\n`+
			`Sign in with a browser with a link from: atrium console --email EMAIL\n`))
	})
	t.Run("with several orgs the first user of each is created by a command", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite, asText, configured("orgs: [{slug: red, hosts: [red.example.com]}, {slug: blue, hosts: "+
			"[blue.example.com]}]"))
		s.stdout.await(t, s, regexp.MustCompile(
			`Create the first person with: atrium user create --config \S+ --email EMAIL --role owner --org SLUG\n`))
	})
	t.Run("on PostgreSQL the first start says what to back up", func(t *testing.T) {
		t.Parallel()
		s := start(t, postgres, asText)
		if text := s.stdout.await(t, s, regexp.MustCompile(`expires in 24 hours; (.*)\.\n`))[1]; text != "everything is "+
			"kept in the postgres database and sealed by "+s.keyFile() {
			t.Errorf("it says: %s", text)
		}
	})
	t.Run("several nodes start at once on one empty PostgreSQL", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, postgres, asText)
		d.must(t, "keys", "create", "--data", mkdir(t, d.data)) // copied to every node
		nodes := make([]*server, 3)
		for i := range nodes {
			nodes[i] = d.launch(t)
		}
		keys := 0
		for _, n := range nodes {
			n.url = n.stdout.await(t, n, greeting)[1]
			n.stdout.await(t, n, regexp.MustCompile(`curl|Create an API key`))
			if strings.Contains(n.stdout.String()+n.stderr.String(), "atk_") {
				t.Error("a key was printed, and nobody is at a terminal")
			}
			keys += strings.Count(n.stdout.String(), "first-api-key and expires")
		}
		assert.Equal(t, "keys were made", keys, 1)
		ann := nodes[0].user(t, "member")
		path := ann.template(t, "everywhere")
		for _, n := range nodes {
			ann.at(n).get(t, path)
		}
	})
	t.Run("a database of a newer version is refused and not changed", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			d := deploy(t, engine)
			d.must(t, "migrate")
			d.sql(t, `INSERT INTO goose_db_version (version_id, is_applied, tstamp)
				VALUES (9999, true, CURRENT_TIMESTAMP)`)
			for _, command := range []string{"serve", "migrate"} {
				if r := d.run(t, command); r.code != 1 || !strings.Contains(r.stderr, "newer version") ||
					!strings.Contains(r.stderr, "9999") {
					t.Errorf("%s ended with %d: %s", command, r.code, r.stderr)
				}
			}
		})
	})
	t.Run("a key created or revoked by a command takes effect on a running server within a second", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			s := start(t, engine)
			ann := s.user(t, "member")
			other, id := ann.key(t, "--role", "viewer", "--name", "brief")
			other.get(t, "/api/me").has(t, map[string]string{"role": "viewer"})
			s.must(t, "token", "revoke", id)
			// what is promised, and a margin for the clock of two processes
			other.refusedWithin(t, 1100*time.Millisecond)
			other.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			ann.get(t, "/api/api-keys/"+id).has(t, map[string]string{"status": "revoked", "name": "brief"})
			s.must(t, "token", "revoke", id) // again is no error
		})
	})
	t.Run("concurrent commands on an empty deployment create one of everything", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			d := deploy(t, engine)
			if engine == postgres {
				d.must(t, "keys", "create", "--data", mkdir(t, d.data))
			}
			d.must(t, "migrate")
			var wg sync.WaitGroup
			for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
				wg.Go(func() {
					if r := d.run(t, "user", "create", "--email", email, "--role", "owner"); r.code != 0 {
						t.Errorf("%s: ended with %d: %s", email, r.code, r.stderr)
					}
				})
			}
			wg.Wait()
		})
	})
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.Mkdir(path, 0o700))
	return path
}
