package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// another returns a deployment whose data directory has only the key file of d.
func (d *deployment) another(t *testing.T) *deployment {
	t.Helper()
	other := deploy(t, sqlite)
	key, err := os.ReadFile(d.keyFile())
	if err == nil {
		err = os.MkdirAll(other.data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(other.keyFile(), key, 0o600)
	}
	require.NoError(t, err)
	return other
}

func TestBackup(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite)
	d.flags = append(d.flags, "--demo")
	s := d.start(t)
	ann := s.user(t, "member")
	template := ann.template(t, "kept")
	file := ann.create(t, uploads+"?name=kept.csv", contacts(0, "ada@example.com"), asBytes).at("url")
	archive := filepath.Join(t.TempDir(), "backup.tar.gz")

	t.Run("a restored backup has every row", func(t *testing.T) {
		s.stop(t)
		s.must(t, "backup", archive)
		other := d.another(t)
		assert.Contains(t, "it wrote", other.must(t, "restore", archive), "opens what it holds")
		copiedServer := &server{deployment: other}
		if previous, next := s.dump(t), copiedServer.dump(t); previous != next {
			t.Errorf("the database differs: %d and %d bytes", len(previous), len(next))
		}
		for _, file := range []string{"warehouses/demo.db"} {
			want, err := os.ReadFile(filepath.Join(d.data, file))
			require.NoError(t, err)
			if got, err := os.ReadFile(filepath.Join(other.data, file)); err != nil || string(got) != string(want) {
				t.Errorf("%s: %d bytes, want %d, %v", file, len(got), len(want), err)
			}
		}
		second := ann.at(other.start(t))
		second.get(t, template).has(t, map[string]string{"name": "kept"})
		second.get(t, sources+"/sheet-preview?url="+file).has(t, map[string]string{"title": "kept"})
		if leaks(t, archive, keyMaterial(t, d)) {
			t.Error("the backup holds key material")
		}
		if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
	t.Run("a backup of a busy server holds everything acknowledged before it", func(t *testing.T) {
		s := d.start(t)
		ann := ann.at(s)
		stop, busy := make(chan struct{}), sync.WaitGroup{}
		for i := range 4 {
			busy.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						ann.create(t, templates, object{"name": fmt.Sprintf("busy %d %d", i, n)})
					}
				}
			})
		}
		last := ann.create(t, templates, object{"name": "the last before"}).at("id")
		path := filepath.Join(t.TempDir(), "busy.tar.gz")
		s.must(t, "backup", path)
		close(stop)
		busy.Wait()
		other := d.another(t)
		other.must(t, "restore", path)
		ann.at(other.start(t)).get(t, templates+"/"+last)
	})
	t.Run("a restore does not overwrite an existing deployment", func(t *testing.T) {
		if r := d.run(t, "backup", archive); r.code != 1 || !strings.Contains(r.stderr, "exists") {
			t.Errorf("it ended with %d: %s", r.code, r.stderr)
		}
		if r := d.run(t, "restore", archive); r.code != 1 || !strings.Contains(r.stderr, "already exists") {
			t.Errorf("it ended with %d: %s", r.code, r.stderr)
		}
	})
	t.Run("a restore without the key file says what to do next, and one with a wrong key file is refused",
		func(t *testing.T) {
			other := deploy(t, sqlite)
			assert.Contains(t, "it wrote", other.must(t, "restore", archive), "keyring.json")
			if r := other.run(t, "serve"); r.code != 1 ||
				!strings.Contains(r.stderr, "is missing, and the database holds secrets") {
				t.Errorf("serve ended with %d: %s", r.code, r.stderr)
			}
			foreign := deploy(t, sqlite)
			foreign.must(t, "keys", "create")
			if r := foreign.run(t, "restore", archive); r.code != 1 || !strings.Contains(r.stderr, "not the keyring") {
				t.Errorf("it ended with %d: %s", r.code, r.stderr)
			}
		})
	t.Run("a restore of an invalid or truncated archive leaves nothing behind", func(t *testing.T) {
		full, err := os.ReadFile(archive)
		require.NoError(t, err)
		// One bit would not be enough: a repetition can be copied from another place with the same content.
		broken := append([]byte{}, full...)
		for i := range 32 {
			broken[len(broken)/2+i] ^= 0xff
		}
		checksum := append([]byte{}, full...)
		checksum[len(checksum)-8] ^= 1 // RFC 1952, section 2.3: the CRC-32 and the size end the file
		for name, content := range map[string][]byte{"cut": full[:len(full)/2], "broken": broken,
			"of another checksum": checksum, "empty": nil, "text": []byte("hello")} {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, content, 0o600))
			other := deploy(t, sqlite)
			if r := other.run(t, "restore", path); r.code != 1 ||
				!regexp.MustCompile(`^atrium: `).MatchString(r.stderr) {
				t.Errorf("%s: it ended with %d: %s", name, r.code, r.stderr)
			}
			if rest, err := os.ReadDir(other.data); err == nil && len(rest) > 0 {
				t.Errorf("%s: it left %v", name, rest)
			}
		}
	})
	t.Run("a backup of PostgreSQL names the tool to use", func(t *testing.T) {
		p := start(t, postgres)
		if r := p.run(t, "backup", filepath.Join(t.TempDir(), "x")); r.code != 1 ||
			!strings.Contains(r.stderr, "pg_dump") {
			t.Errorf("it ended with %d: %s", r.code, r.stderr)
		}
	})
}

// leaks reports whether an archive holds one of texts.
func leaks(t *testing.T, archive string, texts []string) bool {
	t.Helper()
	file, err := os.Open(archive)
	require.NoError(t, err)
	defer file.Close()
	zippedReader, err := gzip.NewReader(file)
	require.NoError(t, err)
	content, err := io.ReadAll(zippedReader)
	require.NoError(t, err)
	return containsAny(string(content), texts...)
}
