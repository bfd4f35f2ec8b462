package contract

import (
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func promptReadCounts(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, ws := team.Member, team.Workspace.ID
	newItem := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "read"})
	one, two := fixture.Version(t, a.Stores, by, newItem.ID, "one"), fixture.Version(t, a.Stores, by, newItem.ID, "two")
	today := prompt.DayOf(by.At)
	add := func(v prompt.VersionID, day prompt.Day, n int64) error {
		return a.PromptReads.AddReads(ctx, ws, map[prompt.Read]int64{{Version: v, Day: day}: n})
	}
	t.Run("counts of many nodes are added, by version and day", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				reads := map[prompt.Read]int64{{Version: one.ID, Day: today}: 2, {Version: two.ID, Day: today}: 1}
				if err := a.PromptReads.AddReads(ctx, ws, reads); err != nil || len(reads) != 0 {
					t.Errorf("%d are left, %v", len(reads), err)
				}
			})
		}
		wg.Wait()
		must(t, add(one.ID, today-1, 5))
		must(t, add(one.ID, today-40, 7))
		must(t, add("pver_gone", today, 1))
		other := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		must(t, a.PromptReads.AddReads(ctx, other.Workspace.ID,
			map[prompt.Read]int64{{Version: one.ID, Day: today}: 100}))
		got, err := a.PromptLists.Reads(ctx, ws, newItem.ID, today-30, 10)
		must(t, err)
		same(t, "reads", got, []prompt.Reads{
			{Read: prompt.Read{Version: two.ID, Day: today}, Number: 2, Count: 8},
			{Read: prompt.Read{Version: one.ID, Day: today}, Number: 1, Count: 16},
			{Read: prompt.Read{Version: one.ID, Day: today - 1}, Number: 1, Count: 5},
		})
		got, err = a.PromptLists.Reads(ctx, "wsp_other", newItem.ID, 0, 10)
		must(t, err)
		same(t, "reads elsewhere", len(got), 0)
	})
	t.Run("a template tells its last day, and is found by it", func(t *testing.T) {
		absent := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "never read"})
		young := fixture.Template(t, a.Stores, fixture.Later(by, 48*time.Hour), prompt.Draft{Name: "young"})
		got, err := a.Prompts.Get(ctx, by, newItem.ID)
		must(t, err)
		same(t, "last read", got.LastRead, today)
		for start, want := range map[prompt.Day][]prompt.ID{today + 1: {absent.ID, newItem.ID}, today - 1: nil} {
			found, err := a.PromptLists.Visible(ctx, by, prompt.Filter{UnusedSince: start}, page.Query{Limit: 10})
			must(t, err)
			var ids []prompt.ID
			for _, p := range found.Items {
				if p.ID == young.ID {
					t.Error("a template counts as unused since a day before it was created")
				}
				ids = append(ids, p.ID)
			}
			same(t, "unused", ids, want)
		}
	})
}
