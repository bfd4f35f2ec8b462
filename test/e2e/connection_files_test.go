package e2e

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestARevokedCredentialLeavesTheDatabasesFiles looks for a sealed credential in the files of a running server on
// SQLite: those who copy the files have nothing to unseal with the keyring of another day.
func TestARevokedCredentialLeavesTheDatabasesFiles(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, toShops)
	ann := s.user(t, "member")
	id := ann.create(t, connections, newShop(t).connection(fixture.Canary)).at("id")
	sealed, err := hex.DecodeString(s.column(t, `SELECT hex(sealed) FROM connection_credentials`)[0])
	require.NoError(t, err)
	isIn := func(name string) bool {
		content, err := os.ReadFile(filepath.Join(s.data, name))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		return bytes.Contains(content, sealed)
	}
	if !isIn("atrium.db-wal") && !isIn("atrium.db") {
		t.Fatal("the sealed credential is in no file before it is revoked")
	}
	ann.do(t, "DELETE", connections+"/"+id, nil).is(t, 200)
	for _, name := range []string{"atrium.db", "atrium.db-wal"} {
		if isIn(name) {
			t.Errorf("%s has the sealed credential after it was revoked", name)
		}
	}
}
