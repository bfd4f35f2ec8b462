package seal_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/test/support/require"
)

// FuzzOpen looks for bytes that open although they were never sealed, or that crash the keyring.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "keys.json")
	require.NoError(f, seal.Create(path))
	k, err := seal.Open(seal.Config{KeyFile: path})
	require.NoError(f, err)
	content, err := k.Sealer(seal.Cursors).Seal([]byte("plain"), []byte("for"))
	require.NoError(f, err)
	for _, b := range [][]byte{content, nil, content[:1], content[:len(content)-1], append(bytes.Clone(content), 0),
		bytes.Repeat([]byte{1}, 40), make([]byte, 64)} {
		f.Add(b, []byte("for"))
		f.Add(b, []byte("else"))
	}
	f.Fuzz(func(t *testing.T, b, associatedContent []byte) {
		if plain, err := k.Sealer(seal.Cursors).Open(b, associatedContent); err == nil &&
			(!bytes.Equal(b, content) || string(associatedContent) != "for" || string(plain) != "plain") {
			t.Errorf("%x opens for %q", b, associatedContent)
		}
	})
}
