package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// jsonArray parses the output of a list command with --json.
func jsonArray(t *testing.T, out string) (all []map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return all
}

func TestListCommands(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine)
		for _, name := range []string{"ann", "bob"} {
			d.must(t, "user", "create", "--email", name+"@example.com", "--role", "owner", "--workspace", name+"-space",
				"--name", strings.ToUpper(name))
		}
		d.must(t, "user", "disable", "--email", "bob@example.com")

		people := jsonArray(t, d.must(t, "user", "list", "--json"))
		if len(people) != 2 || people[0]["email"] != "ann@example.com" || people[0]["disabled"] != false ||
			people[1]["disabled"] != true {
			t.Errorf("people: %v", people)
		}
		spaces := jsonArray(t, d.must(t, "workspace", "list", "--json"))
		if len(spaces) != 2 || spaces[1]["slug"] != "bob-space" || spaces[1]["deleted_at"] != nil {
			t.Errorf("workspaces: %v", spaces)
		}
		keys := jsonArray(t, d.must(t, "token", "list", "--workspace", "ann-space", "--json"))
		if len(keys) != 1 || keys[0]["user_id"] != people[0]["user_id"] || len(keys[0]["hint"].(string)) != 4 {
			t.Errorf("keys: %v", keys)
		}
		id := keys[0]["api_key_id"].(string)
		assert.Contains(t, "revoke", d.must(t, "token", "revoke", id, "--workspace", "ann-space", "--json"), id)
		assert.Equal(t, "a revoked key is listed", d.must(t, "token", "list", "--workspace", "ann-space"), "")
		// Other programs get one line for each person, with tabs and without names of columns.
		rows := strings.Split(strings.TrimSpace(d.must(t, "user", "list")), "\n")
		if len(rows) != 2 || len(strings.Split(rows[0], "\t")) != 6 {
			t.Errorf("rows: %q", rows)
		}
		if r := d.run(t, "token", "list", "--workspace", "nowhere"); r.code != 1 {
			t.Errorf("a workspace that does not exist: %+v", r)
		}
	})
}

func TestConfigCommands(t *testing.T) {
	t.Parallel()
	t.Run("a valid configuration is shown without secrets and without creating data", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite, configured("log:\n  level: warn\norgs: [{slug: red, google_api_key: s3cret-key}]\n"),
			set("mail.smtp.addr", "mail.example.com:587"), set("mail.smtp.user", "u"),
			set("mail.smtp.password", "s3cret-word"), set("mail.smtp.from", "a@example.com"))
		if out := d.must(t, "config", "check"); out != "The configuration is valid.\n" {
			t.Error(out)
		}
		if out := d.must(t, "config", "check", "--json"); out != `{"problems":[],"valid":true}`+"\n" {
			t.Error(out)
		}
		text, asJSON := d.must(t, "config", "show"), d.must(t, "config", "show", "--json")
		for _, want := range []string{
			"mail.smtp.password\t[redacted]\tATRIUM_MAIL_SMTP_PASSWORD\n",
			"orgs[0].google_api_key\t[redacted]\t" + d.config() + ":3\n",
			"log.level\tdebug\tATRIUM_LOG_LEVEL\n",
			"server.read_timeout\t30s\tdefault\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("config show lacks %q:\n%s", want, text)
			}
		}
		var settings []struct{ Key, From string }
		if err := json.Unmarshal([]byte(asJSON), &settings); err != nil || len(settings) < 50 {
			t.Errorf("%d settings, %v", len(settings), err)
		}
		if strings.Contains(text+asJSON, "s3cret") {
			t.Error("a secret is shown")
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("the data directory is there: %v", err)
		}
	})
	t.Run("a wrong one exits with 2 and lists every problem", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite, configured("surprise: s3cret\nevents: {retention: 1h}\n"))
		for _, args := range [][]string{{"config", "check"}, {"config", "show"}, {"config", "check", "--json"}} {
			r := d.run(t, args...)
			if r.code != 2 || !strings.Contains(r.stderr, "surprise: unknown key") ||
				!strings.Contains(r.stderr, "events.retention: must be") ||
				strings.Contains(r.stderr+r.stdout, "s3cret") {
				t.Errorf("%v: %+v", args, r)
			}
		}
		var out struct {
			Valid    bool
			Problems []string
		}
		r := d.run(t, "config", "check", "--json")
		if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || out.Valid || len(out.Problems) != 2 {
			t.Errorf("%s: %v", r.stdout, err)
		}
	})
}

func TestVersionAndManual(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite)
	short := d.must(t, "--version")
	if long := d.must(t, "version"); !strings.HasPrefix(long, short) || !strings.Contains(long, "\ngo        go1.") {
		t.Errorf("--version: %q, version: %q", short, long)
	}
	d.must(t, "man", filepath.Join(d.folder, "man"))
	if _, err := os.Stat(filepath.Join(d.folder, "man", "atrium-serve.1")); err != nil {
		t.Error(err)
	}
}
