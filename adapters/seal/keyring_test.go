package seal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestContract(t *testing.T) {
	contract.Sealer(t, func(t *testing.T) ports.Sealer { return open(t, newKeyFile(t)).Sealer(seal.Cursors) })
}

// newKeyFile returns the path of a fresh key file.
func newKeyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, seal.Create(path))
	return path
}

func open(t *testing.T, path string) *seal.Keyring {
	t.Helper()
	k, err := seal.Open(seal.Config{KeyFile: path})
	require.NoError(t, err)
	return k
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestInlineKeyset(t *testing.T) {
	path := newKeyFile(t)
	inline := secret.New(readFile(t, path))

	t.Run("it opens what the file's keyring sealed", func(t *testing.T) {
		k, err := seal.Open(seal.Config{Keyset: inline})
		require.NoError(t, err)
		ciphertext, err := open(t, path).Sealer(seal.Cursors).Seal([]byte("content"), nil)
		require.NoError(t, err)
		if got, err := k.Sealer(seal.Cursors).Open(ciphertext, nil); err != nil || string(got) != "content" {
			t.Fatalf("Open = %q, %v", got, err)
		}
	})

	t.Run("it wins over the file", func(t *testing.T) {
		k, err := seal.Open(seal.Config{KeyFile: newKeyFile(t), Keyset: inline})
		require.NoError(t, err)
		if got, want := k.Keys()[0].ID, open(t, path).Keys()[0].ID; got != want {
			t.Fatalf("key = %d, want the inline one, %d", got, want)
		}
	})

	t.Run("it cannot be rotated", func(t *testing.T) {
		k, err := seal.Open(seal.Config{Keyset: inline})
		require.NoError(t, err)
		if _, err := k.Rotate(); !errors.Is(err, seal.ErrInline) {
			t.Fatalf("error = %v, want ErrInline", err)
		}
	})

	t.Run("a broken one is refused without being quoted", func(t *testing.T) {
		for _, broken := range []string{"hunter2", `{"hunter2":1}`,
			strings.Replace(inline.Reveal(), "AesGcmKey", "hunter2", 1), `{"key":[]}`} {
			_, err := seal.Open(seal.Config{Keyset: secret.New(broken)})
			if err == nil || !strings.Contains(err.Error(), "the inline keyset") {
				t.Fatalf("error = %v; want one that names the inline keyset", err)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
				t.Errorf("the error quotes the keyset: %v", err)
			}
		}
	})

	t.Run("a key that does not authenticate is refused", func(t *testing.T) {
		signing := `{"primaryKeyId":7,"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.HmacKey",` +
			`"value":"EgQIAxAgGiAAAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw==","keyMaterialType":"SYMMETRIC"},` +
			`"status":"ENABLED","keyId":7,"outputPrefixType":"TINK"}]}`
		if _, err := seal.Open(seal.Config{Keyset: secret.New(signing)}); err == nil {
			t.Fatal("a keyset of another kind was taken")
		}
	})
}

func TestCheck(t *testing.T) {
	path := newKeyFile(t)
	k := open(t, path)
	check, err := k.Check()
	require.NoError(t, err)

	t.Run("the keyring that made it is the right one", func(t *testing.T) {
		require.NoError(t, k.Verify(check))
	})

	t.Run("it stays the right one when it is rotated", func(t *testing.T) {
		k := open(t, path)
		if _, err := k.Rotate(); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, k.Verify(check))
	})

	t.Run("another keyring is told which key is missing", func(t *testing.T) {
		other := newKeyFile(t)
		stranger := open(t, other)
		err := stranger.Verify(check)
		require.ErrorIs(t, err, seal.ErrWrongKeyring)
		for _, want := range []string{other, fmt.Sprint(k.Keys()[0].ID), fmt.Sprint(stranger.Keys()[0].ID)} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %s", err, want)
			}
		}
	})

	t.Run("neither nothing nor other sealed bytes pass for a check value", func(t *testing.T) {
		ciphertext, err := k.Sealer(seal.Cursors).Seal([]byte("atrium"), nil)
		require.NoError(t, err)
		for _, value := range [][]byte{nil, {1}, ciphertext} {
			if err := k.Verify(value); !errors.Is(err, seal.ErrWrongKeyring) {
				t.Errorf("Verify(%x) = %v, want ErrWrongKeyring", value, err)
			}
		}
	})
}

func TestKeyMaterialIsNotShown(t *testing.T) {
	path := newKeyFile(t)
	k := open(t, path)
	var file struct {
		Key []struct{ KeyData struct{ Value string } }
	}
	if err := json.Unmarshal([]byte(readFile(t, path)), &file); err != nil || len(file.Key) != 1 ||
		len(file.Key[0].KeyData.Value) < 40 {
		t.Fatalf("key file = %+v, %v", file, err)
	}
	material := file.Key[0].KeyData.Value

	var log bytes.Buffer
	config := seal.Config{KeyFile: path, Keyset: secret.New(readFile(t, path))}
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(handler).Info("opened", "keyring", k, "keys", k.Keys(), "config", config)
	}
	page := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		page += fmt.Sprintf(verb, k) + fmt.Sprintf(verb, struct{ K *seal.Keyring }{k}) + fmt.Sprintf(verb, k.Keys()) +
			fmt.Sprintf(verb, config)
	}
	if asJSON, err := json.Marshal([]any{k, k.Keys(), config}); err != nil {
		t.Error(err)
	} else {
		page += string(asJSON)
	}
	for _, form := range []string{material, material[8:32], fmt.Sprintf("%x", material)} {
		if strings.Contains(page, form) {
			t.Fatalf("key material is shown: %s", page)
		}
	}
}
