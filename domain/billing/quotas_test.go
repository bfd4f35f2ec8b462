package billing_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/quota"
)

func TestLimits(t *testing.T) {
	at := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	plans := billing.Plans{{ID: "basic"}, {ID: "team", Limits: map[string]int64{"members": 3, "storage_bytes": 7}}}
	if !plans.Limiting(quota.Kinds()) || plans[:1].Limiting(quota.Kinds()) ||
		plans.Limiting([]quota.Kind{quota.ChatTemplates}) {
		t.Error("Limiting does not find the plan with a quota")
	}
	for name, tt := range map[string]struct {
		s    *billing.Subscription
		want int64
	}{
		"no subscription":                {nil, 0},
		"an active one":                  {&billing.Subscription{Plan: "team", Status: billing.Active}, 7},
		"one on trial":                   {&billing.Subscription{Plan: "team", Status: billing.Trialing}, 7},
		"one past due, within its grace": {&billing.Subscription{Plan: "team", Status: billing.PastDue, PeriodStart: at.Add(-time.Hour)}, 7},
		"one past due for longer": {&billing.Subscription{Plan: "team", Status: billing.PastDue,
			PeriodStart: at.Add(-48 * time.Hour)}, 0},
		"one that waits for its first money":   {&billing.Subscription{Plan: "team", Status: billing.Incomplete}, 0},
		"one of a plan that is no longer sold": {&billing.Subscription{Plan: "gone", Status: billing.Active}, 0},
		"one of a plan without limits":         {&billing.Subscription{Plan: "basic", Status: billing.Active}, 0},
	} {
		limits := plans.Limits(quota.Amounts{}, plans.Entitling(tt.s, at, 24*time.Hour))
		if got := limits.StorageBytes; got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
