package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func sourceChanges(t *testing.T, a Adapter) {
	ctx := t.Context()
	by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
	made := fixture.Source(t, a.Stores, by, fixture.SheetReading())
	system := identity.System(by.Org, by.Workspace, "test", fixture.At.Add(time.Hour))
	compare := func(t *testing.T, rows source.RowHashes) (kept source.Tracked) {
		t.Helper()
		must(t, a.SourceChanges.SaveChanges(ctx, by.Workspace, made.ID,
			func(s *source.Source, tracked *source.Tracked) (*source.Changes, error) {
				c := tracked.Compare(system.At, "mapping", rows)
				s.Compared(system, c)
				kept = *tracked
				return c, nil
			}))
		return kept
	}
	t.Run("a source has none at first", func(t *testing.T) {
		tracked, err := a.SourceChanges.Tracked(ctx, by.Workspace, made.ID)
		must(t, err)
		same(t, "tracked", tracked, &source.Tracked{})
		listed, err := a.SourceChanges.Changes(ctx, by.Workspace, made.ID, page.Query{Limit: 10})
		must(t, err)
		same(t, "changes", len(listed.Items), 0)
	})
	t.Run("SaveChanges stores hashes, changes and events", func(t *testing.T) {
		rows := source.RowHashes{{1}: {255}, {0, 2}: {}, {255, 254, 11: 1}: {7: 9}}
		compare(t, rows)
		rows[source.KeyHash{1}] = source.RowHash{1}
		want := compare(t, rows)
		got, err := a.SourceChanges.Tracked(ctx, by.Workspace, made.ID)
		must(t, err)
		same(t, "tracked", *got, want)
		compare(t, rows) // nothing has changed
		listed, err := a.SourceChanges.Changes(ctx, by.Workspace, made.ID, page.Query{Limit: 10})
		must(t, err)
		same(t, "changes", listed.Items, []source.Changes{{Number: 2, At: system.At, Rows: 3, Changed: 1},
			{Number: 1, At: system.At, First: true, Rows: 3}})
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(made.ID))),
			[]string{"source.rows_changed", "source.attached"})
	})
	t.Run("SaveChanges stores which rows were removed, and forgets those that are back", func(t *testing.T) {
		one, two := source.KeyHash{1}, source.KeyHash{255, 254, 11: 1}
		compare(t, source.RowHashes{{0, 2}: {}})
		got, err := a.SourceChanges.Tracked(ctx, by.Workspace, made.ID)
		must(t, err)
		same(t, "removed", got.Removed, map[source.KeyHash]uint32{one: 3, two: 3})
		want := compare(t, source.RowHashes{one: {1}})
		got, err = a.SourceChanges.Tracked(ctx, by.Workspace, made.ID)
		must(t, err)
		same(t, "tracked", *got, want)
		same(t, "removed", got.Removed, map[source.KeyHash]uint32{two: 3, {0, 2}: 4})
		same(t, "known after", got.RemovedAfter, uint32(1))
	})
	t.Run("SaveChanges stores nothing of a comparison that fails", func(t *testing.T) {
		wantErr(t, a.SourceChanges.SaveChanges(ctx, by.Workspace, made.ID,
			func(_ *source.Source, tracked *source.Tracked) (*source.Changes, error) {
				return tracked.Compare(system.At, "other", nil), errBoom
			}), errBoom)
		got, err := a.SourceChanges.Tracked(ctx, by.Workspace, made.ID)
		must(t, err)
		same(t, "mapping", got.Of, "mapping")
	})
	t.Run("the latest 100 changes are kept, and listed page by page", func(t *testing.T) {
		for i := range 101 {
			compare(t, source.RowHashes{{1}: {byte(i), 1}})
		}
		var got []uint32
		for _, c := range fixture.Pages(t, 40, func(q page.Query) (page.Of[source.Changes], error) {
			return a.SourceChanges.Changes(ctx, by.Workspace, made.ID, q)
		}) {
			got = append(got, c.Number)
		}
		if len(got) != 100 || got[0] != 105 || got[99] != 6 {
			t.Error(fmt.Sprint(got))
		}
	})
	t.Run("other workspaces have no such source, and a detached one has no hashes", func(t *testing.T) {
		other := fixture.NewTeam(t, a.Stores, a.Orgs[1]).Member.Workspace
		_, err := a.SourceChanges.Tracked(ctx, other, made.ID)
		wantErr(t, err, source.ErrNotFound)
		_, err = a.SourceChanges.Changes(ctx, other, made.ID, page.Query{Limit: 1})
		wantErr(t, err, source.ErrNotFound)
		_, err = a.Sources.Update(ctx, by.Workspace, made.ID,
			func(s *source.Source) error { return s.Detach(by, nil) })
		must(t, err)
		wantErr(t, a.SourceChanges.SaveChanges(ctx, by.Workspace, made.ID, nil), source.ErrNotFound)
	})
}
