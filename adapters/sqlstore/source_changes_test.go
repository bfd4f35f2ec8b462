package sqlstore_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestRemovedRowsAreUnknownAfterAComparisonByAnOlderVersion fails if rows count as never removed that a version without
// the column no longer found: during an upgrade, both versions run.
func TestRemovedRowsAreUnknownAfterAComparisonByAnOlderVersion(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := open(t, url(t), databases.Keyring(t))
			orgs, err := db.EnsureOrgs(ctx, []string{"one"})
			require.NoError(t, err)
			stores := db.Stores()
			by := fixture.NewTeam(t, stores, orgs["one"]).Member
			newSource := fixture.Source(t, stores, by, fixture.SheetReading())
			compare := func(keys ...byte) {
				t.Helper()
				rows := source.RowHashes{}
				for _, key := range keys {
					rows[source.KeyHash{key}] = source.RowHash{}
				}
				require.NoError(t, stores.SourceChanges.SaveChanges(ctx, by.Workspace, newSource.ID,
					func(_ *source.Source, t *source.Tracked) (*source.Changes, error) {
						return t.Compare(fixture.At, "mapping", rows), nil
					}))
			}
			know := func(removals int, current uint32) {
				t.Helper()
				got, err := stores.SourceChanges.Tracked(ctx, by.Workspace, newSource.ID)
				if err != nil || len(got.Removed) != removals || got.RemovedAfter != current {
					t.Errorf("%d removed rows after %d, %v", len(got.Removed), got.RemovedAfter, err)
				}
			}
			exec := func(query string) {
				t.Helper()
				require.NoError(t, sqlstore.Exec(ctx, db, query))
			}
			compare(1, 2, 3)
			compare(1, 2)
			know(1, 1)
			exec(`UPDATE source_tracked SET number = 3`) // as the older version does, which leaves the column as it is
			know(0, 3)
			compare(1)
			know(1, 3)
			exec(`UPDATE source_tracked SET removed = ''`) // as the migration does
			know(0, 4)
		})
	}
}
