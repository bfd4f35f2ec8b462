package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSQLiteGivesSpaceBack(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "atrium.db")
	db, rows := open(t, url, databases.Keyring(t)), databases.Raw(t, url)
	size := func() int64 {
		t.Helper()
		n, err := db.Size(t.Context())
		require.NoError(t, err)
		return n
	}
	for _, statement := range []string{
		`CREATE TABLE filler (x TEXT)`, `INSERT INTO filler VALUES ('` + strings.Repeat("x", 20<<20) + `')`,
	} {
		if _, err := rows.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	full := size()
	if _, err := rows.ExecContext(t.Context(), `DELETE FROM filler`); err != nil {
		t.Fatal(err)
	}
	if keptCount := size(); keptCount < full {
		t.Fatalf("%d bytes before anything was released, %d full", keptCount, full)
	}
	require.NoError(t, db.ReleaseSpace(t.Context()))
	if remainder := size(); remainder > full-(18<<20) {
		t.Errorf("%d bytes are left of %d", remainder, full)
	}
}

func TestADiskThatTakesNoData(t *testing.T) {
	folder := t.TempDir()
	c := sqlstore.Config{URL: secret.New("sqlite:" + filepath.Join(folder, "atrium.db"))}
	assert.NoError(t, c.CheckDisk())
	if rest, err := os.ReadDir(folder); err != nil || len(rest) > 0 {
		t.Errorf("the check leaves %v, %v", rest, err)
	}
	c.URL = secret.New("sqlite:/proc/atrium.db") // where no one can create a file
	if err := c.CheckDisk(); err != nil && !errors.Is(err, ports.ErrUnavailable) {
		t.Error(err)
	}
	c.URL = secret.New("postgres://db/atrium")
	assert.NoError(t, c.CheckDisk())
}
