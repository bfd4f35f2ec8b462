package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// asText has a server print what it announces as people read it.
func asText(d *deployment) { set("log.format", "text")(d) }

// TestCommandsWithoutData runs the commands that need data where there is none.
func TestCommandsWithoutData(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deploy(t, engine)
		place := d.data
		if engine == postgres {
			place = "database.url"
		}
		for _, command := range []string{
			"token create --email ann@example.com", "token revoke key_01jb4rqnx1e5btz2s1v2j9k3mn",
			"user create --email ann@example.com --role owner", "user show --email ann@example.com",
			"user reset-passkeys --email ann@example.com",
			"user disable --email ann@example.com", "user update --email ann@example.com --operator",
			"user link --email ann@example.com --issuer https://login.example --subject 1",
			"workspace restore default", "events verify", "payments events list", "payments resume default",
			"doctor payments", "keys reseal", "work",
		} {
			r := d.run(t, strings.Fields(command)...)
			if r.code != 1 || !strings.Contains(r.stderr, "there is no data in") || !strings.Contains(r.stderr, place) {
				t.Errorf("%s ended with %d: %s", command, r.code, r.stderr)
			}
		}
		for _, command := range []string{"keys list", "keys rotate"} {
			r := d.run(t, strings.Fields(command)...)
			if r.code != 1 || !strings.Contains(r.stderr, d.keyFile()) {
				t.Errorf("%s ended with %d: %s", command, r.code, r.stderr)
			}
		}
		if _, err := os.Stat(d.data); !os.IsNotExist(err) {
			t.Errorf("there is a data directory: %v", err)
		}
		d.must(t, "keys", "create") // a key file is no data either
		r := d.run(t, "user", "create", "--email", "ann@example.com", "--role", "owner")
		if r.code != 1 || !strings.Contains(r.stderr, "there is no data in") || !strings.Contains(r.stderr, place) {
			t.Errorf("with a key file, user create ended with %d: %s", r.code, r.stderr)
		}
		if engine == postgres {
			if tables := d.column(t, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`); len(tables) > 0 {
				t.Errorf("there are tables: %s", tables)
			}
			s := start(t, engine)
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			r := s.run(t, "user", "create", "--email", "ann@example.com", "--role", "owner", "--data", elsewhere)
			if r.code != 1 || !strings.Contains(r.stderr, filepath.Join(elsewhere, "keyring.json")) {
				t.Errorf("with another data directory: ended with %d: %s", r.code, r.stderr)
			}
			if _, err := os.Stat(elsewhere); !os.IsNotExist(err) {
				t.Errorf("there is a data directory: %v", err)
			}
		}
	})
}

// TestTheBannerIsJSON reads what a server prints when its log is JSON.
func TestTheBannerIsJSON(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite)
	for _, first := range []bool{true, false} {
		s := d.start(t)
		var line struct {
			Msg, URL, Next string
			First          bool   `json:"first_start"`
			File           string `json:"api_key_file"`
		}
		text := s.stdout.await(t, s, regexp.MustCompile(`(?s)^(\{.*\})\n$`))[1]
		if err := json.Unmarshal([]byte(text), &line); err != nil || line.URL != s.url || line.First != first {
			t.Fatalf("%s: %v", text, err)
		}
		if token, err := os.ReadFile(line.File); first && (err != nil || !strings.HasPrefix(string(token), "atk_")) {
			t.Errorf("%q: %q, %v", line.File, token, err)
		}
		if !first && !strings.Contains(line.Next, "token create --email owner@localhost") {
			t.Errorf("it says %q", line.Next)
		}
		s.stop(t)
	}
}

// TestTheBannerOfADemoHasItsKeyAndLink reads what a demo prints when its log is JSON: the key and the link for signing
// in are nowhere else.
func TestTheBannerOfADemoHasItsKeyAndLink(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite)
	d.flags = []string{"--demo"}
	s := d.start(t)
	var line struct {
		URL    string
		Key    string    `json:"api_key"`
		Ends   time.Time `json:"api_key_expires_at"`
		SignIn string    `json:"sign_in_url"`
	}
	text := s.stdout.await(t, s, regexp.MustCompile(`(?m)^(\{.*"first_start":true.*\})$`))[1]
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	(&client{server: s, token: line.Key}).get(t, "/api/me").has(t, map[string]string{"user.email": "owner@localhost"})
	token, ok := strings.CutPrefix(line.SignIn, line.URL+"/console/sign-in#token=")
	if !ok || !line.Ends.IsZero() {
		t.Fatalf("it says %s", text)
	}
	s.anonymous().do(t, "POST", openSessions, object{"token": token}).is(t, 201)
}
