package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// usageOfThings counts what triggers count besides texts.
func usageOfThings(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	usageOf := func(t *testing.T, delay time.Duration) quota.Amounts {
		t.Helper()
		got, err := a.Usage.Amounts(ctx, ws, fixture.At.Add(delay))
		must(t, err)
		return got
	}
	previous := usageOf(t, 0)
	t.Run("people and open invitations count as members, programs do not", func(t *testing.T) {
		members, err := a.Workspaces.Members(ctx, a.Orgs[0], ws, page.Query{Limit: 100})
		must(t, err)
		people := 0
		for _, m := range members.Items {
			if !m.Service {
				people++
			}
		}
		same(t, "members", previous.Members, int64(people))
		i, _ := invite(t, a.Stores, team.Admin, ws, "counted@example.com", identity.Viewer)
		same(t, "with an invitation", usageOf(t, 0).Members, previous.Members+1)
		same(t, "after it expired", usageOf(t, account.InvitationLasts).Members, previous.Members)
		must(t, withdraw(t, a.Stores, team.Admin, ws, i.ID))
		same(t, "after its end", usageOf(t, 0).Members, previous.Members)
		must(t, changeWorkspace(t, a.Stores, team.Owner, ws, []identity.UserID{team.Member.User},
			func(w *account.Workspace) error {
				return w.Remove(team.Owner, nil, team.Member.User, false)
			}))
		same(t, "after a member left", usageOf(t, 0).Members, previous.Members-1)
	})
	t.Run("live connections count", func(t *testing.T) {
		c := fixture.Connection(t, a.Stores, team.Admin)
		same(t, "connections", usageOf(t, 0).Connections, int64(1))
		_, err := a.Connections.Update(ctx, ws, c.ID,
			func(c *connection.Connection, _ int) error { return c.Revoke(team.Admin, nil) })
		must(t, err)
		same(t, "after revocation", usageOf(t, 0).Connections, int64(0))
	})
	t.Run("sources count", func(t *testing.T) {
		item := fixture.Source(t, a.Stores, team.Admin, fixture.SheetReading())
		same(t, "sources", usageOf(t, 0).Sources, int64(1))
		_, err := a.Sources.Update(ctx, ws, item.ID, func(s *source.Source) error { return s.Detach(team.Admin, nil) })
		must(t, err)
		same(t, "after detaching", usageOf(t, 0).Sources, int64(0))
	})
}

// membersRace has concurrent callers invite people to a workspace that has room for two more.
func membersRace(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	usedAmounts, err := a.Usage.Amounts(ctx, ws, fixture.At)
	must(t, err)
	limits := quota.Limits{Amounts: quota.Default(), Limited: map[quota.Kind]bool{quota.Members: true}}
	limits.Members = usedAmounts.Members + 2
	people := accounts.NewService(a.Atomic, a.AccountStores, accounts.Deps{
		Events: a.Events, Notes: a.Notes(), Mails: &accounts.InvitationMailer{},
		GatewayAccount: func(identity.OrgID) string { return "" },
		Quotas:         func(context.Context, identity.Actor) (quota.Limits, error) { return limits, nil },
	})
	same(t, "invited", got(t, atOnce(16, func(i int) error {
		_, err := people.Invite(ctx, team.Admin, &identity.Org{ID: a.Orgs[0]}, ws,
			fmt.Sprintf("seat-%d@example.com", i), identity.Viewer)
		return err
	}), quota.ErrPlanLimit), 2)
	usedAmounts, err = a.Usage.Amounts(ctx, ws, fixture.At)
	must(t, err)
	same(t, "members", usedAmounts.Members, limits.Members)
}

// Meters is the suite for ports.Meters.
func Meters(t *testing.T, open Opener) {
	a := open(t)
	t.Run("usage events wait in an outbox", func(t *testing.T) { usageOutbox(t, a) })
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	period := payment.Period{Start: fixture.At, End: fixture.At.AddDate(0, 1, 0)}
	report := func(feature string, quantity int64, key string) payment.UsageReport {
		return payment.UsageReport{Feature: feature, Quantity: quantity, Key: key, At: fixture.At, Period: period}
	}
	add := func(t *testing.T, by identity.Actor, r payment.UsageReport, sum int64, isRepeated bool) {
		t.Helper()
		got, err := a.Meters.Add(ctx, by, r)
		must(t, err)
		same(t, "outcomes", got, []payment.UsageOutcome{{Tally: payment.Tally{Used: sum}, IsRepeated: isRepeated}})
	}
	sums := func(t *testing.T, ws identity.WorkspaceID, start time.Time) map[string]int64 {
		t.Helper()
		got, err := a.Meters.Sums(ctx, ws, start)
		must(t, err)
		all := map[string]int64{}
		for feature, tally := range got {
			all[feature] = tally.Used
		}
		return all
	}
	t.Run("reports are summed by feature, workspace and period", func(t *testing.T) {
		add(t, team.Admin, report("messages", 3, ""), 3, false)
		add(t, team.Admin, report("messages", 4, ""), 7, false)
		add(t, team.Admin, report("tokens", 5, ""), 5, false)
		add(t, other.Admin, report("messages", 1, ""), 1, false)
		next := report("messages", 2, "")
		next.Period.Start = period.End
		add(t, team.Admin, next, 2, false)
		same(t, "sums", sums(t, team.Workspace.ID, period.Start), map[string]int64{"messages": 7, "tokens": 5})
		same(t, "sums of the next period", sums(t, team.Workspace.ID, period.End), map[string]int64{"messages": 2})
		same(t, "sums of a period without usage", len(sums(t, team.Workspace.ID, period.End.Add(time.Hour))), 0)
	})
	t.Run("a report with a key counts once", func(t *testing.T) {
		add(t, team.Admin, report("keyed", 3, "one"), 3, false)
		add(t, fixture.Later(team.Owner, time.Hour), report("keyed", 3, "one"), 3, true)
		add(t, other.Admin, report("keyed", 3, "one"), 3, false)
		for _, changedReport := range []payment.UsageReport{report("keyed", 4, "one"), report("messages", 3, "one")} {
			got, err := a.Meters.Add(ctx, team.Admin, changedReport)
			must(t, err)
			wantErr(t, got[0].Refusal, payment.ErrUsageKeyReused)
		}
		add(t, fixture.Later(team.Admin, payment.UsageKeyLasts+time.Second), report("keyed", 1, "one"), 4, false)
	})
	t.Run("a sum stays at the largest", func(t *testing.T) {
		for range 3 {
			_, err := a.Meters.Add(ctx, team.Admin, report("huge", payment.MaxUsageSum-1, ""))
			must(t, err)
		}
		add(t, team.Admin, report("huge", payment.MaxUsage, ""), payment.MaxUsageSum, false)
	})
	t.Run("concurrent reports all count, and those with one key once", func(t *testing.T) {
		second := a.Second()
		for _, err := range atOnce(40, func(i int) error {
			store := a.Meters
			if i%2 == 1 {
				store = second.Meters
			}
			key := ""
			if i >= 20 {
				key = "raced"
			}
			_, err := store.Add(ctx, team.Admin, report("raced", 2, key))
			return err
		}) {
			must(t, err)
		}
		same(t, "sum", sums(t, team.Workspace.ID, period.Start)["raced"], int64(42))
	})
	t.Run("reports are counted together, and each has its outcome", func(t *testing.T) {
		usageTogether(t, a, team.Admin, report)
	})
	t.Run("credit packs are spent", func(t *testing.T) { creditPacks(t, a) })
	t.Run("of concurrent reports with a limit, as many count as it suffices for", func(t *testing.T) {
		usageLimits(t, a, team.Admin, report)
	})
}

type reporting = func(feature string, quantity int64, key string) payment.UsageReport

func usageTogether(t *testing.T, a Adapter, by identity.Actor, report reporting) {
	ctx := t.Context()
	limit := int64(6)
	limited := report("batch", 2, "limited")
	limited.Allowance, limited.IsLimited = &limit, true
	got, err := a.Meters.Add(ctx, by, report("batch", 5, "b1"), report("batch", -6, "b2"), report("other", 1, "b1"),
		report("batch", 5, "b1"), limited, report("batch", -2, ""), limited, report("elsewhere", 7, "b3"))
	must(t, err)
	refusals := []error{nil, payment.ErrUsageBelowZero, payment.ErrUsageKeyReused, nil, payment.ErrUsageLimit, nil,
		payment.ErrUsageLimit, nil}
	sums := []int64{5, 5, 0, 5, 5, 3, 3, 7}
	for n, o := range got {
		assert.That(t, o.Used == sums[n] && errors.Is(o.Refusal, refusals[n]) &&
			(o.Refusal != nil) == (refusals[n] != nil) &&
			o.IsRepeated == (n == 3), "the outcome of report %d: %+v", n, o)
	}
	t.Run("what was refused can be sent again with its key", func(t *testing.T) {
		got, err := a.Meters.Add(ctx, by, report("batch", -6, "b2"), limited)
		must(t, err)
		assert.That(t, errors.Is(got[0].Refusal, payment.ErrUsageBelowZero) && got[1].Counts() && got[1].Used == 5,
			"%+v", got)
	})
	t.Run("each day has its sum", func(t *testing.T) {
		late := report("batch", 4, "")
		late.At = fixture.At.AddDate(0, 0, 1)
		correction := report("batch", -1, "")
		correction.At = late.At.AddDate(0, 0, 1)
		_, err := a.Meters.Add(ctx, by, late, correction)
		must(t, err)
		day := payment.DayOfUsage(fixture.At)
		days := func(from, to int) []payment.UsageDay {
			t.Helper()
			all, err := a.Meters.Days(ctx, by.Workspace, "batch", day.AddDate(0, 0, from), day.AddDate(0, 0, to))
			must(t, err)
			return all
		}
		first, second := payment.UsageDay{Day: day, Used: 5}, payment.UsageDay{Day: day.AddDate(0, 0, 1), Used: 4}
		same(t, "all days", days(-5, 5), []payment.UsageDay{{Day: day.AddDate(0, 0, 2), Used: -1}, second, first})
		same(t, "two of them", days(0, 1), []payment.UsageDay{second, first})
		same(t, "days without usage", len(days(3, 9)), 0)
	})
}

// usageLimits has 60 concurrent reports compete for 25 units, and then as many corrections for the same.
func usageLimits(t *testing.T, a Adapter, by identity.Actor, report reporting) {
	const limit, writers = int64(25), 60
	second := a.Second()
	race := func(quantity int64, limit *int64) (n int) {
		t.Helper()
		var mu sync.Mutex
		for _, err := range atOnce(writers, func(i int) error {
			store := a.Meters
			if i%2 == 1 {
				store = second.Meters
			}
			r := report("rare", quantity, "")
			r.Allowance, r.IsLimited = limit, limit != nil
			got, err := store.Add(t.Context(), by, r)
			if err == nil && got[0].Counts() {
				mu.Lock()
				n++
				mu.Unlock()
			}
			return err
		}) {
			must(t, err)
		}
		return n
	}
	sum := func() int64 {
		t.Helper()
		all, err := a.Meters.Sums(t.Context(), by.Workspace, fixture.At)
		must(t, err)
		return all["rare"].Used
	}
	most := limit
	same(t, "counted", race(1, &most), int(limit))
	same(t, "the sum", sum(), limit)
	same(t, "corrected", race(-1, nil), int(limit))
	same(t, "the sum after corrections", sum(), int64(0))
}

// StreamSeats is the suite for ports.StreamSeats.
func StreamSeats(t *testing.T, open Opener) {
	a := open(t)
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws, instant := team.Workspace.ID, fixture.At
	deadline := instant.Add(time.Minute)
	atMost := func(n int64) func(quota.Amounts) error {
		limits := quota.Limits{Amounts: quota.Amounts{Streams: n}, Limited: map[quota.Kind]bool{quota.Streams: true}}
		return func(usedAmounts quota.Amounts) error { return limits.Check(usedAmounts, quota.Streams) }
	}
	open2 := func(moment time.Time) int64 {
		t.Helper()
		usedAmounts, err := a.Usage.Amounts(ctx, ws, moment)
		must(t, err)
		return usedAmounts.Streams
	}
	must(t, a.StreamSeats.Keep(ctx, "one", instant, deadline))
	must(t, a.StreamSeats.Keep(ctx, "two", instant, deadline))
	t.Run("concurrent streams on several nodes cannot exceed the limit", func(t *testing.T) {
		second := a.Second()
		same(t, "opened", got(t, atOnce(24, func(i int) error {
			if i%2 == 0 {
				return a.StreamSeats.Take(ctx, ws, "one", instant, atMost(5))
			}
			return second.StreamSeats.Take(ctx, ws, "two", instant, atMost(5))
		}), quota.ErrPlanLimit), 5)
		same(t, "open", open2(instant), int64(5))
	})
	t.Run("streams of a node that is not alive do not count", func(t *testing.T) {
		same(t, "open later", open2(deadline), int64(0))
		must(t, a.StreamSeats.Keep(ctx, "three", deadline.Add(time.Second), deadline.Add(time.Minute)))
		must(t, a.StreamSeats.Take(ctx, ws, "three", deadline, atMost(1)))
	})
	t.Run("a closed stream does not count, and never counts below zero", func(t *testing.T) {
		for range 8 {
			must(t, a.StreamSeats.Free(ctx, ws, "three"))
		}
		same(t, "open", open2(deadline), int64(0))
	})
	t.Run("a workspace that does not exist has no streams", func(t *testing.T) {
		wantErr(t, a.StreamSeats.Take(ctx, "wsp_none", "one", instant, atMost(5)), identity.ErrWorkspaceNotFound)
	})
}
