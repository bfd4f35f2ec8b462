package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCommands(t *testing.T) {
	t.Parallel()

	t.Run("every command's help shows an example", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		list := regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)  +[A-Z]`).FindAllStringSubmatch(d.must(t, "--help"),
			-1)
		if len(list) < 10 {
			t.Fatalf("only %d commands are listed", len(list))
		}
		for _, c := range list {
			help := d.must(t, append(strings.Fields(c[1]), "--help")...)
			if !strings.Contains(help, "Example") ||
				!regexp.MustCompile(`\n\s+(\S+=\S+ )?atrium `+c[1]).MatchString(help) {
				t.Errorf("%s shows no example:\n%s", c[1], help)
			}
		}
	})
	t.Run("version creates no data", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		text := strings.TrimSpace(d.must(t, "--version"))
		var out struct{ Version string }
		if err := json.Unmarshal([]byte(d.must(t, "version", "--json")), &out); err != nil || out.Version != text ||
			text == "" {
			t.Errorf("%q, as JSON %+v, %v", text, out, err)
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("the data directory is there: %v", err)
		}
	})
	t.Run("openapi prints the contract as JSON", func(t *testing.T) {
		t.Parallel()
		var doc object
		if err := json.Unmarshal([]byte(deploy(t, sqlite).must(t, "openapi")), &doc); err != nil ||
			doc["openapi"] != "3.1.0" {
			t.Errorf("%v, %v", doc["openapi"], err)
		}
	})
	t.Run("help is a command too", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		if d.must(t, "help") != d.must(t, "--help") || d.must(t, "help", "token", "create") != d.must(t, "token",
			"create", "--help") {
			t.Error("it shows something else than --help")
		}
	})
	t.Run("restoring what is not deleted says so", func(t *testing.T) {
		t.Parallel()
		d := deployMigrated(t, sqlite)
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		assert.Contains(t, "it says", d.must(t, "workspace", "restore", "default"), "is not deleted; nothing was done")
	})
	t.Run("demo data that is not added is reported", func(t *testing.T) {
		t.Parallel()
		d := deployMigrated(t, sqlite)
		d.flags = []string{"--demo"}
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		s := d.start(t)
		s.stdout.await(t, s, regexp.MustCompile(`No sample data was added: owner@localhost has no workspace here`))
	})
	t.Run("an invalid command line exits with 2", func(t *testing.T) {
		t.Parallel()
		d := deployMigrated(t, sqlite)
		for _, args := range [][]string{{"server"}, {"serve", "--port", "1"}, {"user", "create"},
			{"user", "create", "--email", "a@b.c", "--role", "king"}, {"keys"},
			{"user", "create", "--email", "a@b.c", "--role", "owner", "--org", "nowhere"},
			{"token", "create", "--email", "a@b.c", "--expires", "soon"}, {"version", "--data", ""},
			{"version", "--data="}} {
			if r := d.run(t, args...); r.code != 2 || !strings.HasPrefix(r.stderr, "atrium: ") {
				t.Errorf("%v ended with %d: %s", args, r.code, r.stderr)
			}
		}
	})
	t.Run("a command that fails exits with 1 and says why", func(t *testing.T) {
		t.Parallel()
		d := deployMigrated(t, sqlite)
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		for want, args := range map[string][]string{
			"ANN@example.com is a member of the workspace default already; for another API key: atrium token create " +
				"--email ANN@example.com --workspace default": {"user", "create", "--email", "ANN@example.com",
				"--role", "member"},
			"role: The first person": {"user", "create", "--email", "bob@example.com", "--role", "member",
				"--workspace", "fresh"},
			"email: Must be": {"user", "create", "--email", "ann", "--role", "owner"},
			"slug: Must have": {"user", "create", "--email", "bob@example.com", "--role", "owner",
				"--workspace", "A B"},
			"nobody@example.com in the workspace default: There is no such user": {"token", "create", "--email",
				"nobody@example.com"},
			"ann@example.com in the workspace nowhere: There is no such workspace": {"token", "create", "--email",
				"ann@example.com", "--workspace", "nowhere"},
			"expires_at: Must be":          {"token", "create", "--email", "ann@example.com", "--expires=0s"},
			"There is no such API key":     {"token", "revoke", "key_01jb4rqnx1e5btz2s1v2j9k3mn"},
			"data directory: mkdir":        {"keys", "create", "--data", "/proc/nowhere"},
			"cannot be read: no such file": {"migrate", "--config", "nowhere.yaml"},
		} {
			r := d.run(t, args...)
			code := 1
			if args[0] == "migrate" {
				code = 2 // the configuration is invalid
			}
			if r.code != code || !strings.Contains(r.stderr, want) {
				t.Errorf("%v ended with %d: %s\nwant %q", args, r.code, r.stderr, want)
			}
		}
	})
	t.Run("a known user joins another workspace and gets a working key", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			s := start(t, engine)
			ann, other := s.user(t, "member"), s.user(t, "owner", "--workspace", "other")
			var newCase struct {
				Token     string `json:"token"`
				User      string `json:"user_id"`
				Workspace string `json:"workspace_id"`
			}
			out := s.must(t, "user", "create", "--json", "--email", strings.ToUpper(ann.email), "--role", "admin",
				"--operator", "--workspace", "other")
			if err := json.Unmarshal([]byte(out), &newCase); err != nil || newCase.User != ann.id ||
				newCase.Workspace != other.workspace {
				t.Fatalf("%s: %v", out, err)
			}
			(&client{server: s, token: newCase.Token}).get(t, "/api/me").has(t,
				map[string]string{"user.id": ann.id, "user.operator": "true", "role": "admin",
					"workspace.id": other.workspace})
			if additions := other.events(t, "&type=member.added"); len(additions) != 2 { // the owner is new, ann is not
				t.Errorf("the trail says %v", additions)
			}
			other.recordsJoins(t)
		})
	})
	t.Run("the lifetime of a key can be given in days", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite)
		ann := s.user(t, "member")
		var newCase struct {
			ID string `json:"api_key_id"`
		}
		out := s.must(t, "token", "create", "--json", "--email", ann.email, "--expires", "1d12h")
		require.NoError(t, json.Unmarshal([]byte(out), &newCase))
		ends, err := time.Parse(time.RFC3339, ann.get(t, "/api/api-keys/"+newCase.ID).at("expires_at"))
		if in := time.Until(ends); err != nil || in > 36*time.Hour || in < 35*time.Hour {
			t.Errorf("it ends in %s, %v", in, err)
		}
	})
	t.Run("an unknown or invalid setting stops the start and is named", func(t *testing.T) {
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
		if r := d.run(t, "serve"); r.code != 2 ||
			!strings.Contains(r.stderr, "ATRIUM_SERVER_LISTEN: unknown variable") {
			t.Errorf("an unknown variable: ended with %d: %s", r.code, r.stderr)
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("a refused start has made the data directory: %v", err)
		}
	})
	t.Run("an address in use stops the start before anything is created", func(t *testing.T) {
		t.Parallel()
		takenText := strings.TrimPrefix(start(t, sqlite).url, "http://")
		for key, d := range map[string]*deployment{"server.addr: ": deploy(t, sqlite),
			"metrics.addr: ": deploy(t, sqlite, set("metrics.addr", takenText))} {
			args := []string{"serve"}
			if key == "server.addr: " {
				args = append(args, "--addr", takenText)
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
