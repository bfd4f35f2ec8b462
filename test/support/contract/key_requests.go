package contract

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func keyRequests(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	one := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "one"}).ID
	two := addKey(t, a.Stores, team.Member, account.KeyDraft{Name: "two"}).ID
	today := account.DayOf(fixture.At)
	add := func(org identity.OrgID, r account.KeyRequests) {
		t.Helper()
		must(t, a.KeyRequests.AddRequests(ctx, org, r))
		same(t, "left to store", len(r), 0)
	}
	t.Run("counts of many nodes are added, by key and day", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r := account.KeyRequests{{Key: one, Day: today}: 2, {Key: two, Day: today}: 1}
				if err := a.KeyRequests.AddRequests(ctx, team.Org, r); err != nil || len(r) != 0 {
					t.Errorf("%d are left, %v", len(r), err)
				}
			})
		}
		wg.Wait()
		first := today - account.RequestDays + 1
		add(team.Org, account.KeyRequests{{Key: one, Day: first}: 5, {Key: one, Day: first - 1}: 9,
			{Key: one, Day: today + 1}: 9, {Key: "key_gone", Day: today}: 1})
		add(a.Orgs[1], account.KeyRequests{{Key: one, Day: today}: 100})
		got, err := a.KeyRequests.Requests(ctx, team.Workspace.ID, []identity.KeyID{one, two, "key_gone"}, fixture.At)
		must(t, err)
		same(t, "requests", got, account.KeyRequests{{Key: one, Day: today}: 16, {Key: one, Day: first}: 5,
			{Key: two, Day: today}: 8})
	})
	t.Run("counts of more keys and days than one statement takes are added", func(t *testing.T) {
		multiple := account.KeyRequests{}
		for i := range 257 { // with those below, as 256, 16 and 15 of 1
			multiple[account.KeyDay{Key: identity.KeyID(fmt.Sprintf("key_gone%d", i)), Day: today}] = 1
		}
		for i := range account.RequestDays {
			multiple[account.KeyDay{Key: one, Day: today - i}] = 1
		}
		add(team.Org, multiple)
		got, err := a.KeyRequests.Requests(ctx, team.Workspace.ID, []identity.KeyID{one}, fixture.At)
		must(t, err)
		var sum int64
		for _, n := range got {
			sum += n
		}
		same(t, "requests", sum, 16+5+int64(account.RequestDays))
	})
	t.Run("only those of the keys asked for, in their workspace, are returned", func(t *testing.T) {
		got, err := a.KeyRequests.Requests(ctx, team.Workspace.ID, []identity.KeyID{two}, fixture.At)
		must(t, err)
		same(t, "requests", got, account.KeyRequests{{Key: two, Day: today}: 8})
		got, err = a.KeyRequests.Requests(ctx, "wsp_other", []identity.KeyID{one, two}, fixture.At)
		must(t, err)
		same(t, "requests elsewhere", len(got), 0)
		got, err = a.KeyRequests.Requests(ctx, team.Workspace.ID, nil, fixture.At)
		must(t, err)
		same(t, "requests of no key", len(got), 0)
	})
	t.Run("a count does not change the key", func(t *testing.T) {
		k, err := a.Keys.Get(ctx, team.Workspace.ID, one)
		must(t, err)
		if k.Revision != 1 || !k.LastUsedAt.IsZero() || k.UpdatedAt != fixture.At.Truncate(time.Microsecond) {
			t.Errorf("key %+v", k)
		}
	})
}
