package e2e

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // for the test's own statements

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheProgramIsItsOwnChild runs the confined child as the server does: the same program with its hidden command.
func TestTheProgramIsItsOwnChild(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "sample.db"))
	require.NoError(t, err)
	if _, err := db.Exec(`CREATE TABLE people (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, db.Close())
	runner, err := confine.New(confine.DefaultLimits(), 2, binary, "probe-worker", folder, folder, folder)
	require.NoError(t, err)
	defer runner.Close()
	w := warehouse.NewConfined(runner.Run, runner.Stream)
	call := func(kind connection.Kind, credential string) ports.Target {
		t.Helper()
		c, err := connection.ParseCredential(kind, []byte(credential))
		require.NoError(t, err)
		return ports.Target{Credential: c, Limits: ports.DefaultLimits()}
	}

	t.Run("the child reads a file", func(t *testing.T) {
		tables, err := w.Tables(t.Context(), call(connection.SQLite, `{"file":"sample.db"}`),
			connection.TableQuery{Limit: 10})
		if err != nil || len(tables) != 1 || tables[0].Name != "people" {
			t.Errorf("tables = %+v, %v", tables, err)
		}
	})

	t.Run("the child reaches only allowed networks", func(t *testing.T) {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			r := w.Probe(t.Context(), call(connection.Postgres, `{"host":"`+host+`","database":"d","username":"u"}`))
			assert.Equal(t, host+": failure", r.Failure(), connection.NetworkNotAllowed)
		}
	})

	sheets := sheet.NewConfined(runner.Run, runner.Stream, sheet.DefaultLimits().Total)
	t.Run("the child reads a sheet", func(t *testing.T) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "people.csv"), []byte("Name;Age\nAnn;7\n"), 0o600))
		s, err := sheets.Preview(t.Context(), "",
			ports.SheetTarget{Location: source.SheetLocation{URL: "file:people.csv"},
				Offer: ports.SheetOffer{Files: true}})
		if err != nil || len(s.Preview.Headers) != 2 {
			t.Errorf("%+v, %v", s, err)
		}
	})

	t.Run("the child fetches sheets only from allowed networks", func(t *testing.T) {
		for _, url := range []string{"https://127.0.0.1:8443/a.csv", "https://localhost/a.csv",
			"https://169.254.169.254/a.csv"} {
			if _, err := sheets.Preview(t.Context(), "",
				ports.SheetTarget{Location: source.SheetLocation{URL: url}}); !errors.Is(err, source.ErrURLNotAllowed) {
				t.Errorf("%s: %v", url, err)
			}
		}
	})
}
