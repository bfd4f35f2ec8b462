package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCommands(t *testing.T) {
	t.Parallel()

	t.Run("every command's help shows an example", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		listed := regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)  +[A-Z]`).FindAllStringSubmatch(d.must(t, "--help"), -1)
		if len(listed) < 10 {
			t.Fatalf("only %d commands are listed", len(listed))
		}
		for _, c := range listed {
			help := d.must(t, append(strings.Fields(c[1]), "--help")...)
			if !strings.Contains(help, "Example") || !regexp.MustCompile(`\n\s+(\S+=\S+ )?atrium `+c[1]).MatchString(help) {
				t.Errorf("%s shows no example:\n%s", c[1], help)
			}
		}
	})
	t.Run("version, and no data is made for it", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		text := strings.TrimSpace(d.must(t, "version"))
		var out struct{ Version string }
		if err := json.Unmarshal([]byte(d.must(t, "version", "--json")), &out); err != nil || out.Version != text || text == "" {
			t.Errorf("%q, as JSON %+v, %v", text, out, err)
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("the data directory is there: %v", err)
		}
	})
	t.Run("openapi prints the contract as JSON", func(t *testing.T) {
		t.Parallel()
		var doc object
		if err := json.Unmarshal([]byte(deploy(t, sqlite).must(t, "openapi")), &doc); err != nil || doc["openapi"] != "3.1.0" {
			t.Errorf("%v, %v", doc["openapi"], err)
		}
	})
	t.Run("help is a command too", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		if d.must(t, "help") != d.must(t, "--help") || d.must(t, "help", "token", "create") != d.must(t, "token", "create", "--help") {
			t.Error("it shows something else than --help")
		}
	})
	t.Run("bringing back what is not deleted says so", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		if out := d.must(t, "workspace", "restore", "default"); !strings.Contains(out, "is not deleted; nothing was done") {
			t.Errorf("it says %s", out)
		}
	})
	t.Run("demo data that is not added is told of", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.flags = []string{"--demo"}
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		s := d.start(t)
		s.stdout.await(t, s, regexp.MustCompile(`No sample data was added: owner@localhost has no workspace here`))
	})
	t.Run("a wrong command line ends with 2", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		for _, args := range [][]string{{"server"}, {"serve", "--port", "1"}, {"user", "create"}, {"user", "create", "--email", "a@b.c", "--role", "king"}, {"keys"}, {"user", "create", "--email", "a@b.c", "--role", "owner", "--org", "nowhere"}, {"token", "create", "--email", "a@b.c", "--expires", "soon"}, {"version", "--data", ""}, {"version", "--data="}} {
			if r := d.run(t, args...); r.code != 2 || !strings.HasPrefix(r.stderr, "atrium: ") {
				t.Errorf("%v ended with %d: %s", args, r.code, r.stderr)
			}
		}
	})
	t.Run("what is asked wrongly of a right command ends with 1, and says why", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		for want, args := range map[string][]string{
			"ANN@example.com is a member of the workspace default already; for another API key: atrium token create --email ANN@example.com --workspace default": {"user", "create", "--email", "ANN@example.com", "--role", "member"},
			"role: The first person": {"user", "create", "--email", "bob@example.com", "--role", "member", "--workspace", "fresh"},
			"email: Must be":         {"user", "create", "--email", "ann", "--role", "owner"},
			"slug: Must have":        {"user", "create", "--email", "bob@example.com", "--role", "owner", "--workspace", "A B"},
			"nobody@example.com in the workspace default: There is no such user":   {"token", "create", "--email", "nobody@example.com"},
			"ann@example.com in the workspace nowhere: There is no such workspace": {"token", "create", "--email", "ann@example.com", "--workspace", "nowhere"},
			"expires_at: Must be":          {"token", "create", "--email", "ann@example.com", "--expires=0s"},
			"There is no such API key":     {"token", "revoke", "key_01jb4rqnx1e5btz2s1v2j9k3mn"},
			"data directory: mkdir":        {"keys", "create", "--data", "/proc/nowhere"},
			"cannot be read: no such file": {"migrate", "--config", "nowhere.yaml"},
		} {
			r := d.run(t, args...)
			code := 1
			if args[0] == "migrate" {
				code = 2 // the configuration is wrong
			}
			if r.code != code || !strings.Contains(r.stderr, want) {
				t.Errorf("%v ended with %d: %s\nwant %q", args, r.code, r.stderr, want)
			}
		}
	})
	t.Run("a person who is known joins another workspace, and the key of it works", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			s := start(t, engine)
			ann, other := s.user(t, "member"), s.user(t, "owner", "--workspace", "other")
			var made struct {
				Token     string `json:"token"`
				User      string `json:"user_id"`
				Workspace string `json:"workspace_id"`
			}
			out := s.must(t, "user", "create", "--json", "--email", strings.ToUpper(ann.email), "--role", "admin", "--operator", "--workspace", "other")
			if err := json.Unmarshal([]byte(out), &made); err != nil || made.User != ann.id || made.Workspace != other.workspace {
				t.Fatalf("%s: %v", out, err)
			}
			(&client{server: s, token: made.Token}).get(t, "/api/me").has(t, map[string]string{"user.id": ann.id, "user.operator": "true", "role": "admin", "workspace.id": other.workspace})
			if added := other.events(t, "&type=member.added"); len(added) != 1 {
				t.Errorf("the trail says %v", added)
			}
		})
	})
	t.Run("days may be told of a key as of a setting", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite)
		ann := s.user(t, "member")
		_, id := ann.key(t, "--expires", "1d12h")
		ends, err := time.Parse(time.RFC3339, ann.get(t, "/api/api-keys/"+id).at("expires_at"))
		if in := time.Until(ends); err != nil || in > 36*time.Hour || in < 35*time.Hour {
			t.Errorf("it ends in %s, %v", in, err)
		}
	})
	t.Run("an unknown or wrong setting stops the start with key and reason", func(t *testing.T) {
		t.Parallel()
		for setting, want := range map[string]string{
			"server: {listen: 127.0.0.1:1}":            "atrium.yaml:1: server.listen: unknown key",
			"server:\n  request_timeout: fast":         "atrium.yaml:2: server.request_timeout: ",
			"database: {url: 'mysql://u:s3cret@db/x'}": "database.url: must begin with",
			"orgs: [{slug: A}]":                        "orgs[0].slug: must be",
			"surprise: 1":                              "surprise: unknown key",
		} {
			d := deploy(t, sqlite, configured(setting))
			r := d.run(t, "serve")
			if r.code != 2 || !strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "s3cret") {
				t.Errorf("%s: ended with %d: %s", setting, r.code, r.stderr)
			}
		}
		d := deploy(t, sqlite, set("server.listen", "127.0.0.1:1"))
		if r := d.run(t, "serve"); r.code != 2 || !strings.Contains(r.stderr, "ATRIUM_SERVER_LISTEN: unknown variable") {
			t.Errorf("an unknown variable: ended with %d: %s", r.code, r.stderr)
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("a refused start has made the data directory: %v", err)
		}
	})
	t.Run("an address that is taken stops the start before anything is made", func(t *testing.T) {
		t.Parallel()
		taken := strings.TrimPrefix(start(t, sqlite).url, "http://")
		for key, d := range map[string]*deployment{"server.addr: ": deploy(t, sqlite), "metrics.addr: ": deploy(t, sqlite, set("metrics.addr", taken))} {
			args := []string{"serve"}
			if key == "server.addr: " {
				args = append(args, "--addr", taken)
			}
			if r := d.run(t, args...); r.code != 1 || !strings.Contains(r.stderr, key) {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
			if _, err := os.Stat(d.data); !os.IsNotExist(err) {
				t.Errorf("%sa refused start has made the data directory: %v", key, err)
			}
		}
	})
}

func TestDoctorAndHealthcheck(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)

		t.Run("doctor finds nothing wrong with a healthy deployment", func(t *testing.T) {
			var out struct {
				Checks []struct {
					Check, Note string
					OK          bool
				}
			}
			if err := json.Unmarshal([]byte(s.must(t, "doctor", "--json")), &out); err != nil || len(out.Checks) < 5 {
				t.Fatalf("%+v, %v", out, err)
			}
			for _, c := range out.Checks {
				if !c.OK {
					t.Errorf("%+v", c)
				}
			}
			if text := s.must(t, "doctor"); strings.Count(text, "\nok ")+1 != len(out.Checks) {
				t.Errorf("as text:\n%s", text)
			}
		})
		t.Run("doctor makes and changes nothing, and says what a start would do", func(t *testing.T) {
			d := deploy(t, engine)
			says := func(code int, want ...string) {
				t.Helper()
				r := d.run(t, "doctor")
				for _, w := range want {
					if r.code != code || !strings.Contains(r.stdout, w) {
						t.Errorf("ended with %d: %s%s\nwant %q", r.code, r.stdout, r.stderr, w)
					}
				}
			}
			says(0, "none yet: serve makes "+d.data, "no key file yet: serve makes "+d.keyFile())
			if engine == postgres {
				says(0, "migration(s) pending")
			} else {
				says(0, "database       none yet")
			}
			if _, err := os.Stat(d.data); !os.IsNotExist(err) {
				t.Errorf("there is a data directory: %v", err)
			}
			d.must(t, "migrate")
			files := func() string { return fmt.Sprint(os.ReadDir(d.data)) }
			before := files()
			says(0, "schema up to date", "none yet: ", "opens what the database holds")
			d.sql(t, `UPDATE goose_db_version SET is_applied = false WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)`)
			says(0, "1 migration(s) pending: serve and migrate apply them")
			d.sql(t, `UPDATE goose_db_version SET is_applied = true`)
			if after := files(); after != before {
				t.Errorf("before there was %s\nafter %s", before, after)
			}
			if err := os.Remove(d.keyFile()); err != nil {
				t.Fatal(err)
			}
			says(1, "FAILED  keyring        the key file "+d.keyFile()+" is missing")
			if _, err := os.Stat(d.keyFile()); !os.IsNotExist(err) {
				t.Errorf("there is a key file: %v", err)
			}
		})
		t.Run("a key file that cannot be used is the keyring's fault, not the database's", func(t *testing.T) {
			d := deploy(t, engine)
			d.must(t, "migrate")
			if err := os.Chmod(d.keyFile(), 0o640); err != nil {
				t.Fatal(err)
			}
			if r := d.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "FAILED  keyring        key file") || !strings.Contains(r.stdout, "ok      database") {
				t.Errorf("ended with %d: %s", r.code, r.stdout)
			}
		})
		t.Run("doctor names what is wrong", func(t *testing.T) {
			for want, d := range map[string]*deployment{
				"server.request_timeout": deploy(t, engine, set("server.request_timeout", "never")),
				"database":               deploy(t, engine, set("database.url", "postgres://nobody@127.0.0.1:1/x?sslmode=disable")),
			} {
				if r := d.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "FAILED") || !strings.Contains(r.stdout, want) {
					t.Errorf("ended with %d: %s%s", r.code, r.stdout, r.stderr)
				}
			}
			open := deploy(t, engine)
			if err := os.Mkdir(open.data, 0o755); err != nil {
				t.Fatal(err)
			}
			if r := open.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "chmod 700") {
				t.Errorf("ended with %d: %s%s", r.code, r.stdout, r.stderr)
			}
		})
		t.Run("healthcheck ends with 0 while the server is ready, and with 1 after", func(t *testing.T) {
			if out := s.must(t, "healthcheck", "--url", s.url); out != "ready\n" {
				t.Errorf("it wrote %q", out)
			}
			s.stop(t)
			if r := s.run(t, "healthcheck", "--url", s.url); r.code != 1 {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
		})
	})
}

func TestKeyring(t *testing.T) {
	t.Parallel()

	t.Run("after a rotation old cursors go on, and key material is not shown", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		s := d.start(t)
		admin := s.user(t, "admin")
		cursor := admin.get(t, "/api/events?limit=1").at("next_cursor")
		var before, after struct {
			Keys []struct {
				ID      uint32
				Primary bool
			}
		}
		list := func(into any) string {
			out := d.must(t, "keys", "list", "--json")
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatal(err)
			}
			return out
		}
		list(&before)
		d.must(t, "keys", "rotate")
		text := list(&after) + d.must(t, "keys", "list")
		if len(before.Keys) != 1 || len(after.Keys) != 2 || after.Keys[0].ID != before.Keys[0].ID || after.Keys[0].Primary || !after.Keys[1].Primary {
			t.Errorf("before %+v, after %+v", before, after)
		}
		for _, material := range keyMaterial(t, d) {
			if strings.Contains(text, material) {
				t.Error("keys list shows key material")
			}
		}
		s.stop(t)
		admin = admin.at(d.start(t))
		admin.get(t, "/api/events?limit=1&cursor="+cursor)
		admin.get(t, "/api/events?limit=1&cursor="+admin.get(t, "/api/events?limit=1").at("next_cursor"))
	})
	t.Run("a key file of others' eyes is refused", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "migrate")
		if err := os.Chmod(d.keyFile(), 0o640); err != nil {
			t.Fatal(err)
		}
		if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, "chmod 600") {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
	})
	t.Run("keys create makes none where data needs another", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			d := deploy(t, engine)
			d.must(t, "migrate")
			if err := os.Remove(d.keyFile()); err != nil {
				t.Fatal(err)
			}
			if r := d.run(t, "keys", "create"); r.code != 1 || !strings.Contains(r.stderr, "is missing, and the database holds secrets") {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
			if _, err := os.Stat(d.keyFile()); !os.IsNotExist(err) {
				t.Errorf("there is a key file: %v", err)
			}
		})
	})
	t.Run("keys create never writes over a file", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "migrate")
		before, _ := os.ReadFile(d.keyFile())
		if r := d.run(t, "keys", "create"); r.code != 1 {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
		if after, _ := os.ReadFile(d.keyFile()); string(after) != string(before) {
			t.Error("the file is another one")
		}
	})
	t.Run("data without its key file is an error, and no new one is left", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "migrate")
		if err := os.Remove(d.keyFile()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, "is missing") || !strings.Contains(r.stderr, d.keyFile()) || !strings.Contains(r.stderr, "backup") {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
			if _, err := os.Stat(d.keyFile()); !os.IsNotExist(err) {
				t.Fatalf("a key file was left: %v", err)
			}
		}
	})
	t.Run("another deployment's key file is an error, and stays", func(t *testing.T) {
		t.Parallel()
		d, other := deploy(t, sqlite), deploy(t, sqlite)
		d.must(t, "migrate")
		other.must(t, "migrate")
		if err := os.Rename(other.keyFile(), d.keyFile()); err != nil {
			t.Fatal(err)
		}
		if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, "keyring") {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
		if _, err := os.Stat(d.keyFile()); err != nil {
			t.Error(err)
		}
	})
}

func (d *deployment) keyFile() string { return filepath.Join(d.data, "keyring.json") }

// keyMaterial is what of the key file must be seen nowhere.
func keyMaterial(t *testing.T, d *deployment) []string {
	t.Helper()
	text, err := os.ReadFile(d.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`"value"\s*:\s*"([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatal("the key file holds no key")
	}
	return out
}

func TestStart(t *testing.T) {
	t.Parallel()

	t.Run("the first start prints a key that works, and keeps its files to itself; the second prints none", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.flags = []string{"--demo"}
		s := d.start(t)
		token := s.stdout.await(t, s, regexp.MustCompile(`Bearer (atk_\w+)'`))[1]
		owner := &client{server: s, token: token}
		owner.get(t, "/api/me").has(t, map[string]string{"role": "owner", "workspace.slug": "default"})
		demo := owner.get(t, templates).items(t)
		if len(demo) == 0 {
			t.Error("there is no demo data")
		}
		demoChats := owner.get(t, chats)
		if demoChats.has(t, map[string]string{"data.0.health": "ok", "data.1.health": "ok", "data.1.status": "published"}); len(demoChats.items(t)) != 2 {
			t.Errorf("the chats are %s", demoChats)
		}
		shop := owner.get(t, connections).has(t, map[string]string{"data.0.name": "Demo shop", "data.0.status": "active"}).at("data.0.id")
		owner.do(t, "POST", connections+"/"+shop+"/verify", nil).is(t, 200).has(t, map[string]string{"status": "active", "server.product": "SQLite"})
		owner.get(t, sources).has(t, map[string]string{"data.0.name": "Customers of the demo shop", "data.0.status": "active", "data.0.mapping_report.matched": "4", "data.1.name": "Sign-ups", "data.1.status": "unmapped"})
		owner.get(t, sources+"/sheet-preview?source_id="+owner.get(t, sources).at("data.1.id")).has(t, map[string]string{"suggestions.0.field": "email", "suggestions.0.column": "E-mail Address"})
		for path, mode := range map[string]fs.FileMode{d.data: 0o700, d.keyFile(): 0o600, filepath.Join(d.data, "atrium.db"): 0o600, filepath.Join(d.data, "atrium.db-wal"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
			}
		}
		s.stop(t)
		s = d.start(t)
		if again := len(owner.at(s).get(t, templates).items(t)); again != len(demo) {
			t.Errorf("the second start with --demo leaves %d templates, want %d", again, len(demo))
		}
		if again := len(owner.at(s).get(t, chats).items(t)); again != 2 {
			t.Errorf("the second start with --demo leaves %d chats", again)
		}
		if again := owner.at(s).get(t, connections).each(t, "id"); len(again) != 1 || again[0] != shop {
			t.Errorf("the second start with --demo leaves the connections %v", again)
		}
		if again := len(owner.at(s).get(t, sources).items(t)); again != 2 {
			t.Errorf("the second start with --demo leaves %d sources", again)
		}
		s.stdout.await(t, s, regexp.MustCompile(`No sample data was added: the workspace default is in use`))
		hint := s.stdout.await(t, s, regexp.MustCompile(`Make an API key with: atrium (token create --email \S+)`))[1]
		if strings.Contains(s.stdout.String(), "atk_") || hint != "token create --email owner@localhost" {
			t.Errorf("the second start wrote %s", s.stdout)
		}
		d.must(t, strings.Fields(hint)...)
	})
	t.Run("the hint names nobody where there are several", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "user", "create", "--email", "a@example.com", "--role", "owner")
		d.must(t, "user", "create", "--email", "b@example.com", "--role", "member")
		s := d.start(t)
		s.stdout.await(t, s, regexp.MustCompile(`Make an API key with: atrium token create --email EMAIL\n`))
	})
	t.Run("where several orgs are, somebody makes the first person of each", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite, configured("orgs: [{slug: red, hosts: [red.example.com]}, {slug: blue, hosts: [blue.example.com]}]"))
		s.stdout.await(t, s, regexp.MustCompile(`Make the first person with: atrium user create --config \S+ --email EMAIL --role owner --org SLUG\n`))
	})
	t.Run("on PostgreSQL the first start says what to back up", func(t *testing.T) {
		t.Parallel()
		s := start(t, postgres)
		if text := s.stdout.await(t, s, regexp.MustCompile(`shown\nonly now; (.*)\.\n`))[1]; text != "everything is kept in the postgres database and sealed by "+s.keyFile() {
			t.Errorf("it says: %s", text)
		}
	})
	t.Run("several nodes start at once on one empty PostgreSQL", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, postgres)
		d.must(t, "keys", "create", "--data", mkdir(t, d.data)) // copied to every node
		nodes := make([]*server, 3)
		for i := range nodes {
			nodes[i] = d.launch(t)
		}
		keys := 0
		for _, n := range nodes {
			n.url = n.stdout.await(t, n, greeting)[1]
			n.stdout.await(t, n, regexp.MustCompile(`curl|Make an API key`))
			keys += strings.Count(n.stdout.String(), "atk_")
		}
		if keys != 1 {
			t.Errorf("%d keys were printed, want one", keys)
		}
		ann := nodes[0].user(t, "member")
		path := ann.template(t, "everywhere")
		for _, n := range nodes {
			ann.at(n).get(t, path)
		}
	})
	t.Run("a database of a newer version is refused, and left as it is", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			d := deploy(t, engine)
			d.must(t, "migrate")
			d.sql(t, `INSERT INTO goose_db_version (version_id, is_applied, tstamp) VALUES (9999, true, CURRENT_TIMESTAMP)`)
			for _, command := range []string{"serve", "migrate"} {
				if r := d.run(t, command); r.code != 1 || !strings.Contains(r.stderr, "newer version") || !strings.Contains(r.stderr, "9999") {
					t.Errorf("%s ended with %d: %s", command, r.code, r.stderr)
				}
			}
		})
	})
	t.Run("a key made or revoked beside a running server counts within a second", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			s := start(t, engine)
			ann := s.user(t, "member")
			other, id := ann.key(t, "--role", "viewer", "--name", "brief")
			other.get(t, "/api/me").has(t, map[string]string{"role": "viewer"})
			s.must(t, "token", "revoke", id)
			time.Sleep(1100 * time.Millisecond) // what is promised, and a margin for the clock of two processes
			other.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			ann.get(t, "/api/api-keys/"+id).has(t, map[string]string{"status": "revoked", "name": "brief"})
			s.must(t, "token", "revoke", id) // again is no error
		})
	})
	t.Run("commands beside each other on an empty deployment make one of everything", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			d := deploy(t, engine)
			if engine == postgres {
				d.must(t, "keys", "create", "--data", mkdir(t, d.data))
			} else {
				d.must(t, "migrate")
			}
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
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
