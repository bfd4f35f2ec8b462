package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// time returns the time at a path.
func (a *answer) time(t *testing.T, path string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, a.at(path))
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return moment
}

const clock = payments + "/sandbox/clock"

// TestEachWorkspaceHasItsOwnClockInTheSandbox renews the subscriptions of two workspaces at the same time, one by one
// month and one by three.
func TestEachWorkspaceHasItsOwnClockInTheSandbox(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		payers := []*client{s.user(t, "owner"), s.user(t, "owner", "--workspace", "second")}
		var all sync.WaitGroup
		for n, months := range []int{1, 3} {
			payer := payers[n]
			payer.card(t, cardNumber)
			payer.subscribe(t, "basic")
			start := payer.get(t, clock).time(t, "now")
			all.Go(func() {
				target := start.AddDate(0, months, 1)
				payer.do(t, "POST", clock, object{"to": target}).is(t, 200).has(t, map[string]string{
					"now": target.Format("2006-01-02T15:04:05.000Z")})
				renewals := payer.get(t, "/api/events?type=subscription.changed")
				renewals.has(t, map[string]string{fmt.Sprintf("data.%d", months): ""})
				if renewals.at(fmt.Sprintf("data.%d.type", months-1)) == "" {
					t.Errorf("%d renewals, the events are %s", months, renewals)
				}
				// A month can be up to three days shorter than the one in which the subscription began.
				if renewal := payer.get(t, mine).time(t, "current_period_start"); renewal.Before(
					start.AddDate(0, months, -4)) {
					t.Errorf("after %d months the period begins at %s", months, renewal)
				}
			})
		}
		all.Wait()
		payer := payers[0]
		before := payer.get(t, clock).time(t, "now")
		s.must(t, "payments", "sandbox", "advance", "1d")
		s.await(t, func() bool { return !payer.get(t, clock).time(t, "now").Before(before.AddDate(0, 0, 1)) })
		after := payer.do(t, "POST", clock, object{"advance_seconds": 3600}).is(t, 200).time(t, "now")
		if hours := after.Sub(before); hours < 25*time.Hour || hours > 26*time.Hour {
			t.Errorf("a day and an hour are %s", hours)
		}
		for _, body := range []object{{}, {"advance_seconds": 1, "to": after.AddDate(0, 1, 0)}, {"to": before},
			{"to": after.AddDate(2, 0, 0)}, {"advance_seconds": 0}, {"advance_seconds": -1}} {
			payer.do(t, "POST", clock, body).problem(t, 422, "invalid_fields")
		}
		newcomer := s.user(t, "owner", "--workspace", "third") // whose customer is created first
		s.must(t, "payments", "sandbox", "provoke", "error_kept", "error_kept", "error_kept")
		newcomer.do(t, "POST", clock, object{"advance_seconds": 1}).problem(t, 503, "gateway_unavailable")
	})
}
