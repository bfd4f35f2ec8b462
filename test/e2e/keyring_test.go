package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestKeyring(t *testing.T) {
	t.Parallel()

	t.Run("old cursors work after a key rotation, and key material is not shown", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		s := d.start(t)
		admin := s.user(t, "admin")
		cursor := admin.get(t, "/api/events?limit=1").at("next_cursor")
		var previous, current []struct {
			ID      uint32
			Primary bool
		}
		list := func(value any) string {
			out := d.must(t, "keys", "list", "--json")
			require.NoError(t, json.Unmarshal([]byte(out), value))
			return out
		}
		list(&previous)
		d.must(t, "keys", "rotate")
		text := list(&current) + d.must(t, "keys", "list")
		if len(previous) != 1 || len(current) != 2 || current[0].ID != previous[0].ID ||
			current[0].Primary || !current[1].Primary {
			t.Errorf("before %+v, after %+v", previous, current)
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
	t.Run("a key file that others can read is refused", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "migrate")
		require.NoError(t, os.Chmod(d.keyFile(), 0o640))
		if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, "chmod 600") {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
	})
	t.Run("keys create creates no key file if the data needs another one", func(t *testing.T) {
		onEach(t, func(t *testing.T, engine string) {
			d := deploy(t, engine)
			d.must(t, "migrate")
			require.NoError(t, os.Remove(d.keyFile()))
			if r := d.run(t, "keys", "create"); r.code != 1 ||
				!strings.Contains(r.stderr, "is missing, and the database holds secrets") {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
			if _, err := os.Stat(d.keyFile()); !os.IsNotExist(err) {
				t.Errorf("there is a key file: %v", err)
			}
		})
	})
	t.Run("keys create never overwrites a file", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "migrate")
		previous, _ := os.ReadFile(d.keyFile())
		if r := d.run(t, "keys", "create"); r.code != 1 {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
		if current, _ := os.ReadFile(d.keyFile()); string(current) != string(previous) {
			t.Error("the file is another one")
		}
	})
	t.Run("data without its key file is an error, and no new file is created", func(t *testing.T) {
		t.Parallel()
		d := deploy(t, sqlite)
		d.must(t, "migrate")
		require.NoError(t, os.Remove(d.keyFile()))
		for range 2 {
			if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, "is missing") ||
				!strings.Contains(r.stderr, d.keyFile()) || !strings.Contains(r.stderr, "backup") {
				t.Errorf("ended with %d: %s", r.code, r.stderr)
			}
			if _, err := os.Stat(d.keyFile()); !os.IsNotExist(err) {
				t.Fatalf("a key file was left: %v", err)
			}
		}
	})
	t.Run("another deployment's key file is an error, and is not changed", func(t *testing.T) {
		t.Parallel()
		d, other := deploy(t, sqlite), deploy(t, sqlite)
		d.must(t, "migrate")
		other.must(t, "migrate")
		require.NoError(t, os.Rename(other.keyFile(), d.keyFile()))
		if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, "keyring") {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
		if _, err := os.Stat(d.keyFile()); err != nil {
			t.Error(err)
		}
	})
}

func (d *deployment) keyFile() string { return filepath.Join(d.data, "keyring.json") }

// keyMaterial returns the parts of the key file that may appear nowhere.
func keyMaterial(t *testing.T, d *deployment) []string {
	t.Helper()
	text, err := os.ReadFile(d.keyFile())
	require.NoError(t, err)
	var out []string
	for _, m := range regexp.MustCompile(`"value"\s*:\s*"([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatal("the key file holds no key")
	}
	return out
}
