package seal_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/require"
)

// shelf is where a key of fingerprints is kept.
type shelf struct{ kept []byte }

func (s *shelf) keepFirst(fresh []byte) ([]byte, error) {
	if s.kept == nil {
		s.kept = fresh
	}
	return s.kept, nil
}

func newRing(t testing.TB) *seal.Keyring {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, seal.Create(file))
	ring, err := seal.Open(seal.Config{KeyFile: file})
	require.NoError(t, err)
	return ring
}

func newEnvelope(t testing.TB, ring *seal.Keyring, s *shelf) *seal.Envelope {
	t.Helper()
	e, err := seal.NewEnvelope(ring, s.keepFirst)
	require.NoError(t, err)
	return e
}

func TestEnvelopeContract(t *testing.T) {
	contract.CredentialSealer(t, func(t *testing.T) ports.CredentialSealer {
		return newEnvelope(t, newRing(t), &shelf{})
	})
}

func TestEachContentHasAKeyOfItsOwn(t *testing.T) {
	e := newEnvelope(t, newRing(t), &shelf{})
	a, err := e.Seal([]byte("one"), nil)
	require.NoError(t, err)
	b, err := e.Seal([]byte("two"), nil)
	require.NoError(t, err)
	const content = 3 + 12 + 16 // with nonce and tag
	mixedContent := append(bytes.Clone(a[:len(a)-content]), b[len(b)-content:]...)
	if got, err := e.Open(mixedContent, nil); err == nil {
		t.Errorf("the key of one opens the other: %q", got)
	}
}

func TestRewrap(t *testing.T) {
	ring, place := newRing(t), []byte("org/wsp/con")
	keptShelf := &shelf{}
	e := newEnvelope(t, ring, keptShelf)
	item, err := e.Seal([]byte("secret"), place)
	require.NoError(t, err)
	fingerprint := e.Fingerprint([]byte("secret"), place)
	rewrap := func(t *testing.T, ciphertext []byte) []byte {
		t.Helper()
		fresh, err := e.Rewrap(ciphertext)
		require.NoError(t, err)
		return fresh
	}
	t.Run("what is under the primary key stays as it is", func(t *testing.T) {
		if !bytes.Equal(rewrap(t, item), item) {
			t.Error("it was changed")
		}
	})
	if _, err := ring.Rotate(); err != nil {
		t.Fatal(err)
	}
	fresh := rewrap(t, item)
	t.Run("after a rotation the data key is wrapped again and the content is unchanged", func(t *testing.T) {
		const content = 6 + 12 + 16
		if bytes.Equal(fresh, item) || !bytes.Equal(fresh[len(fresh)-content:], item[len(item)-content:]) ||
			!bytes.Equal(rewrap(t, fresh), fresh) {
			t.Errorf("sealed %x, then %x", item, fresh)
		}
	})
	t.Run("both open", func(t *testing.T) {
		for _, s := range [][]byte{item, fresh} {
			if got, err := e.Open(s, place); err != nil || string(got) != "secret" {
				t.Errorf("Open = %q, %v", got, err)
			}
		}
	})
	t.Run("fingerprints outlive rotations and starts", func(t *testing.T) {
		keptShelf.kept = rewrap(t, keptShelf.kept)
		if second := newEnvelope(t, ring, keptShelf); second.Fingerprint([]byte("secret"), place) != fingerprint {
			t.Error("another fingerprint")
		}
	})
	t.Run("what does not open is an error", func(t *testing.T) {
		foreign, err := newEnvelope(t, newRing(t), new(shelf)).Seal(nil, nil)
		require.NoError(t, err)
		for name, invalid := range map[string][]byte{
			"nothing": nil, "too little": {0, 0, 0}, "a length beyond the end": {0, 0, 1, 0, 1},
			"the largest length": {255, 255, 255, 255, 1},
			"another keyring's":  foreign,
		} {
			if got, err := e.Rewrap(invalid); err == nil {
				t.Errorf("%s: %x", name, got)
			}
		}
	})
	t.Run("a key of fingerprints of another keyring is refused at the start", func(t *testing.T) {
		if _, err := seal.NewEnvelope(newRing(t), keptShelf.keepFirst); err == nil {
			t.Error("it was taken")
		}
	})
}
