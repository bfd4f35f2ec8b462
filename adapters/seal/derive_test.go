package seal_test

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/require"
)

var purposes = []seal.Purpose{seal.Cursors, seal.EmbedSessions, seal.EmbedTickets, seal.SignIns,
	seal.Answers, seal.DataKeys}

// sealerOfV010 is how v0.1.0 sealed with a key file: directly under its keys.
func sealerOfV010(t *testing.T, path string) tink.AEAD {
	t.Helper()
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(strings.NewReader(readFile(t, path))))
	require.NoError(t, err)
	primitive, err := aead.New(handle)
	require.NoError(t, err)
	return primitive
}

func mustSeal(t *testing.T, s ports.Sealer, plain string, associatedContent []byte) []byte {
	t.Helper()
	b, err := s.Seal([]byte(plain), associatedContent)
	require.NoError(t, err)
	return b
}

func TestContractBesideTheReleasedVersion(t *testing.T) {
	contract.Sealer(t, func(t *testing.T) ports.Sealer {
		k := open(t, newKeyFile(t))
		k.DeriveSince(time.Now().Add(time.Hour))
		return k.Sealer(seal.Cursors)
	})
}

func TestEachPurposeHasAKeyOfItsOwn(t *testing.T) {
	k := open(t, newKeyFile(t))
	for _, one := range purposes {
		b := mustSeal(t, k.Sealer(one), "content", []byte("for"))
		for _, other := range purposes {
			got, err := k.Sealer(other).Open(b, []byte("for"))
			if (err == nil) != (one == other) {
				t.Errorf("sealed as %q, opened as %q: %q, %v", one, other, got, err)
			}
		}
	}
}

func TestTheReleasedVersion(t *testing.T) {
	path := newKeyFile(t)
	old, k := sealerOfV010(t, path), open(t, path)

	t.Run("what it sealed opens for each purpose", func(t *testing.T) {
		b, err := old.Encrypt([]byte("content"), []byte("for"))
		require.NoError(t, err)
		for _, p := range purposes {
			if got, err := k.Sealer(p).Open(b, []byte("for")); err != nil || string(got) != "content" {
				t.Errorf("%s: %q, %v", p, got, err)
			}
		}
	})
	t.Run("it opens what is sealed before keys are derived", func(t *testing.T) {
		k := open(t, path)
		k.DeriveSince(time.Now().Add(time.Hour))
		for _, p := range purposes {
			if got, err := old.Decrypt(mustSeal(t, k.Sealer(p), "content", []byte("for")), []byte("for")); err != nil ||
				string(got) != "content" {
				t.Errorf("%s: %q, %v", p, got, err)
			}
		}
	})
	t.Run("it does not open what is sealed under a derived key", func(t *testing.T) {
		k := open(t, path)
		k.DeriveSince(time.Now().Add(-time.Second))
		b := mustSeal(t, k.Sealer(seal.Cursors), "content", nil)
		if got, err := old.Decrypt(b, nil); err == nil {
			t.Errorf("it opens as %q", got)
		}
		b[0] = 1
		if got, err := k.Sealer(seal.Cursors).Open(b, nil); err == nil {
			t.Errorf("it opens as of the old version: %q", got)
		}
	})
	t.Run("its check value is as before", func(t *testing.T) {
		check, err := k.Check()
		require.NoError(t, err)
		if _, err := old.Decrypt(check, []byte("atrium keyring check")); err != nil {
			t.Error(err)
		}
	})
	t.Run("its data keys are wrapped under a derived key once keys are derived", func(t *testing.T) {
		k := open(t, path)
		k.DeriveSince(time.Now().Add(time.Hour))
		keptShelf := &shelf{}
		e := newEnvelope(t, k, keptShelf)
		b := mustSeal(t, e, "secret", []byte("place"))
		fingerprint := e.Fingerprint([]byte("secret"), nil)
		if same, err := e.Rewrap(b); err != nil || !bytes.Equal(same, b) {
			t.Errorf("before: changed, %v", err)
		}
		k.DeriveSince(time.Now())
		fresh, err := e.Rewrap(b)
		if err != nil || bytes.Equal(fresh, b) || fresh[4] != 2 {
			t.Fatalf("after: %x, %v", fresh, err)
		}
		if second, err := e.Rewrap(fresh); err != nil || !bytes.Equal(second, fresh) {
			t.Errorf("twice: changed, %v", err)
		}
		if keptShelf.kept, err = e.Rewrap(keptShelf.kept); err != nil {
			t.Fatal(err)
		}
		next := newEnvelope(t, open(t, path), keptShelf)
		if got, err := next.Open(fresh, []byte("place")); err != nil || string(got) != "secret" ||
			next.Fingerprint([]byte("secret"), nil) != fingerprint {
			t.Errorf("after a start: %q, %v", got, err)
		}
	})
}

// What one version derives, every later one has to derive: these bytes were sealed when keys were derived for
// the first time.
func TestDerivationNeverChanges(t *testing.T) {
	const keyset = `{"primaryKeyId":7,"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey",` +
		`"value":"GiAAAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw==","keyMaterialType":"SYMMETRIC"},` +
		`"status":"ENABLED","keyId":7,"outputPrefixType":"TINK"}]}`
	k, err := seal.Open(seal.Config{Keyset: secret.New(keyset)})
	require.NoError(t, err)
	for p, want := range map[seal.Purpose]string{} {
		b, err := hex.DecodeString(want)
		require.NoError(t, err)
		if got, err := k.Sealer(p).Open(b, []byte("for")); err != nil || string(got) != "content" {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
	item, err := hex.DecodeString(
		"000000430200000007f0474d655b805fa62924ee2a863ca5579e8306d69b705b080e591df953300b946354d85d8ac64643e8b029f9432e1cfce6" +
			"473f4b7fdc16928031a7dfeb675595b82ee6c0a6df347a04047a84491fbf4bebd0480a20bec48d983692ed67617451b09f4c07668d6aeff47899afe4422fe0b7e6f025151c895ab873")
	require.NoError(t, err)
	const want = "7964d77e515d08b5e61913ed9bbcc8aa49cea1ce3a6f300edcbb88053b82393f"
	if got := newEnvelope(t, k, &shelf{item}).Digest("purpose", []byte("content")); hex.EncodeToString(got[:]) != want {
		t.Errorf("digest %x", got)
	}
}

func TestDigests(t *testing.T) {
	contract.Digester(t, func(t *testing.T) ports.Digester { return newEnvelope(t, newRing(t), &shelf{}) })

	t.Run("they outlive rotations and starts", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		require.NoError(t, seal.Create(path))
		ring, keptShelf := open(t, path), &shelf{}
		e := newEnvelope(t, ring, keptShelf)
		previous := e.Digest("purpose", []byte("content"))
		if _, err := ring.Rotate(); err != nil {
			t.Fatal(err)
		}
		var err error
		if keptShelf.kept, err = e.Rewrap(keptShelf.kept); err != nil {
			t.Fatal(err)
		}
		if newEnvelope(t, open(t, path), keptShelf).Digest("purpose", []byte("content")) != previous {
			t.Error("another digest")
		}
	})
}
