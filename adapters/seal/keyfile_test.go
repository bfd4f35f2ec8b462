package seal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCreate(t *testing.T) {
	t.Run("only its owner can read the file", func(t *testing.T) {
		info, err := os.Stat(newKeyFile(t))
		if err != nil || info.Mode() != 0o600 {
			t.Fatalf("mode = %v, %v; want 0600", info.Mode(), err)
		}
	})

	t.Run("it holds one key, the primary", func(t *testing.T) {
		keys := open(t, newKeyFile(t)).Keys()
		if len(keys) != 1 || !keys[0].Primary || keys[0].Status != "enabled" || keys[0].ID == 0 {
			t.Fatalf("keys = %+v", keys)
		}
	})

	t.Run("no two files hold the same key", func(t *testing.T) {
		if readFile(t, newKeyFile(t)) == readFile(t, newKeyFile(t)) {
			t.Fatal("they do")
		}
	})

	t.Run("a file that is there is left as it is", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
		if err := seal.Create(path); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
			t.Fatalf("error = %v, want fs.ErrExist with the path", err)
		}
		require.Equal(t, "content", readFile(t, path), "precious")
	})

	t.Run("of many at once, one succeeds", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		errs := make([]error, 16)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = seal.Create(path) })
		}
		wg.Wait()
		count := 0
		for _, err := range errs {
			if err == nil {
				count++
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		}
		require.Equal(t, "succeeded", count, 1)
		open(t, path)
	})

	t.Run("a missing folder is named", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "missing", "keys.json")
		if err := seal.Create(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Fatalf("error = %v, want fs.ErrNotExist with the path", err)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Run("a missing file is ErrNoKeyFile, and named", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		if _, err := seal.Open(seal.Config{KeyFile: path}); !errors.Is(err, seal.ErrNoKeyFile) ||
			!strings.Contains(err.Error(), path) {
			t.Fatalf("error = %v, want ErrNoKeyFile with the path", err)
		}
	})

	t.Run("no configuration at all is ErrNoKeyFile", func(t *testing.T) {
		if _, err := seal.Open(seal.Config{}); !errors.Is(err, seal.ErrNoKeyFile) {
			t.Fatalf("error = %v, want ErrNoKeyFile", err)
		}
	})

	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610, 0o601} {
		t.Run(fmt.Sprintf("a file of mode %#o is refused with the remedy", mode), func(t *testing.T) {
			path := newKeyFile(t)
			require.NoError(t, os.Chmod(path, mode))
			_, err := seal.Open(seal.Config{KeyFile: path})
			if err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) ||
				!strings.Contains(err.Error(), fmt.Sprintf("%#o", mode)) {
				t.Fatalf("error = %v; want one with the mode and the chmod to run", err)
			}
		})
	}

	t.Run("a read-only file is enough", func(t *testing.T) {
		path := newKeyFile(t)
		require.NoError(t, os.Chmod(path, 0o400))
		open(t, path)
	})

	t.Run("a folder is refused", func(t *testing.T) {
		if _, err := seal.Open(seal.Config{KeyFile: t.TempDir()}); err == nil ||
			!strings.Contains(err.Error(), "is not a file") {
			t.Fatalf("error = %v", err)
		}
	})

	for name, broken := range map[string]string{"an empty file": "", "a cut file": "CUT", "another file": "hunter2"} {
		t.Run(name+" is refused by its path, unquoted", func(t *testing.T) {
			path := newKeyFile(t)
			if broken == "CUT" {
				full := readFile(t, path)
				broken = full[:len(full)/2]
			}
			require.NoError(t, os.WriteFile(path, []byte(broken), 0o600))
			_, err := seal.Open(seal.Config{KeyFile: path})
			if err == nil || !strings.Contains(err.Error(), path) || (broken != "" &&
				strings.Contains(err.Error(), broken)) {
				t.Fatalf("error = %v; want one with the path and without the content", err)
			}
		})
	}
}

func TestRotate(t *testing.T) {
	rotate := func(t *testing.T, k *seal.Keyring) seal.KeyInfo {
		t.Helper()
		key, err := k.Rotate()
		require.NoError(t, err)
		return key
	}

	t.Run("the fresh key is the primary, in memory and on disk", func(t *testing.T) {
		path := newKeyFile(t)
		k := open(t, path)
		old := k.Keys()[0].ID
		fresh := rotate(t, k)
		want := []seal.KeyInfo{{ID: old, Status: "enabled"}, {ID: fresh.ID, Primary: true, Status: "enabled"}}
		for place, k := range map[string]*seal.Keyring{"memory": k, "disk": open(t, path)} {
			if got := k.Keys(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
				t.Errorf("keys in %s = %+v, want %+v", place, got, want)
			}
		}
	})

	t.Run("data sealed before and after the rotation opens", func(t *testing.T) {
		path := newKeyFile(t)
		k := open(t, path)
		var ciphertexts [][]byte
		for i := range 5 {
			b, err := k.Sealer(seal.Cursors).Seal(fmt.Appendf(nil, "content %d", i), nil)
			require.NoError(t, err)
			ciphertexts = append(ciphertexts, b)
			rotate(t, k)
		}
		for _, k := range []*seal.Keyring{k, open(t, path)} {
			for i, b := range ciphertexts {
				if got, err := k.Sealer(seal.Cursors).Open(b, nil); err != nil ||
					string(got) != fmt.Sprintf("content %d", i) {
					t.Errorf("Open = %q, %v", got, err)
				}
			}
		}
	})

	t.Run("new data is sealed under the fresh key", func(t *testing.T) {
		path := newKeyFile(t)
		previous, err := seal.Open(seal.Config{Keyset: secret.New(readFile(t, path))})
		require.NoError(t, err)
		k := open(t, path)
		rotate(t, k)
		b, err := k.Sealer(seal.Cursors).Seal([]byte("content"), nil)
		require.NoError(t, err)
		if _, err := previous.Sealer(seal.Cursors).Open(b, nil); err == nil {
			t.Fatal("the keyring from before opens it")
		}
	})

	t.Run("only its owner can still read the file, and nothing is left beside it", func(t *testing.T) {
		path := newKeyFile(t)
		rotate(t, open(t, path))
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Fatalf("mode = %v, %v; want 0600", info.Mode(), err)
		}
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(files) != 1 {
			t.Fatalf("files = %v, %v", files, err)
		}
	})

	t.Run("a key that another process added is kept", func(t *testing.T) {
		path := newKeyFile(t)
		one, other := open(t, path), open(t, path)
		theirs := rotate(t, other)
		rotate(t, one)
		if keys := one.Keys(); len(keys) != 3 || keys[1].ID != theirs.ID {
			t.Fatalf("keys = %+v, want %d among them", keys, theirs.ID)
		}
	})

	t.Run("an unfinished rotation is named, and nothing changes", func(t *testing.T) {
		path := newKeyFile(t)
		k, previous := open(t, path), readFile(t, path)
		require.NoError(t, os.WriteFile(path+".next", nil, 0o600))
		if _, err := k.Rotate(); err == nil || !strings.Contains(err.Error(), path+".next") {
			t.Fatalf("error = %v; want one that names the file to remove", err)
		}
		if readFile(t, path) != previous || len(k.Keys()) != 1 {
			t.Fatal("the keyring changed")
		}
	})

	t.Run("a foreign file in its place is refused and kept", func(t *testing.T) {
		path, other := newKeyFile(t), newKeyFile(t)
		k := open(t, path)
		require.NoError(t, os.Rename(other, path))
		previous := readFile(t, path)
		if _, err := k.Rotate(); !errors.Is(err, seal.ErrWrongKeyring) {
			t.Fatalf("error = %v, want ErrWrongKeyring", err)
		}
		if readFile(t, path) != previous {
			t.Fatal("the file changed")
		}
		if _, err := os.Stat(path + ".next"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the unfinished file is left behind: %v", err)
		}
	})

	t.Run("a file that was taken away is ErrNoKeyFile", func(t *testing.T) {
		path := newKeyFile(t)
		k := open(t, path)
		require.NoError(t, os.Remove(path))
		if _, err := k.Rotate(); !errors.Is(err, seal.ErrNoKeyFile) {
			t.Fatalf("error = %v, want ErrNoKeyFile", err)
		}
	})

	t.Run("sealing and opening work during rotations", func(t *testing.T) {
		k := open(t, newKeyFile(t))
		done := make(chan struct{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					content, err := k.Sealer(seal.Cursors).Seal([]byte("content"), nil)
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := k.Sealer(seal.Cursors).Open(content, nil); err != nil || string(got) != "content" {
						t.Errorf("Open = %q, %v", got, err)
						return
					}
					k.Keys()
				}
			})
		}
		for range 10 {
			rotate(t, k)
		}
		close(done)
		wg.Wait()
	})
}

func TestReload(t *testing.T) {
	t.Run("what another process sealed after its rotation opens", func(t *testing.T) {
		path := newKeyFile(t)
		one, other := open(t, path), open(t, path)
		rotate := func() (ciphertext []byte) {
			if _, err := other.Rotate(); err != nil {
				t.Fatal(err)
			}
			ciphertext, err := other.Sealer(seal.Cursors).Seal([]byte("text"), nil)
			require.NoError(t, err)
			return ciphertext
		}
		opens := func(ciphertext []byte) {
			t.Helper()
			if text, err := one.Sealer(seal.Cursors).Open(ciphertext, nil); err != nil || string(text) != "text" {
				t.Fatalf("opened %q, %v", text, err)
			}
		}
		opens(rotate()) // the file is read again by itself
		second := rotate()
		if _, err := one.Sealer(seal.Cursors).Open(second, nil); err == nil {
			t.Fatal("strangers can have the file read as often as they like")
		}
		require.NoError(t, one.Reload())
		opens(second)
	})

	t.Run("a foreign file in its place is refused, and the keys stay", func(t *testing.T) {
		path, other := newKeyFile(t), newKeyFile(t)
		k := open(t, path)
		previous := k.Keys()[0].ID
		require.NoError(t, os.Rename(other, path))
		require.ErrorIs(t, k.Reload(), seal.ErrWrongKeyring)
		if k.Keys()[0].ID != previous {
			t.Fatal("the keys changed")
		}
	})
}
