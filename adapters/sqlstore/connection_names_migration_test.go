package sqlstore_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheMigrationTakesTheNamesOfErasedConnections runs the update of the migration 0168 on connections as earlier
// versions left them.
func TestTheMigrationTakesTheNamesOfErasedConnections(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, rows := adapter(t, url), databases.Raw(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		want := map[string]string{}
		for name, rest := range map[string]string{
			"active": `name = 'active'`, "revoked": `name = 'revoked', status = 'revoked'`,
			"Erased": `name = 'a person''s', status = 'revoked', config = '{}'`,
		} {
			c := fixture.Connection(t, a.Stores, team.Member)
			want[string(c.ID)] = name
			if _, err := rows.ExecContext(ctx, `UPDATE connections SET `+rest+` WHERE id = '`+string(c.ID)+`'`); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile("migrations/both/0168_names_of_erased_connections.sql")
		require.NoError(t, err)
		_, update, _ := strings.Cut(string(text), "-- +goose Up")
		if _, err := rows.ExecContext(ctx, update); err != nil {
			t.Fatal(err)
		}
		all, _, err := a.Connections.List(ctx, team.Workspace.ID)
		require.NoError(t, err)
		got := map[string]string{}
		for i := range all {
			got[string(all[i].ID)] = all[i].Name
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}
