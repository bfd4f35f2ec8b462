package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
)

func TestLimits(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	plans := payment.Plans{{ID: "basic"}, {ID: "team", Limits: map[string]int64{"members": 3, "storage_bytes": 7}}}
	if !plans.Limiting(quota.Kinds()) || plans[:1].Limiting(quota.Kinds()) ||
		plans.Limiting([]quota.Kind{quota.ChatTemplates}) {
		t.Error("Limiting does not find the plan with a quota")
	}
	for name, tt := range map[string]struct {
		s    *payment.Subscription
		want int64
	}{
		"no subscription":                {nil, 0},
		"an active one":                  {&payment.Subscription{Plan: "team", Status: payment.Active}, 7},
		"one on trial":                   {&payment.Subscription{Plan: "team", Status: payment.Trialing}, 7},
		"one past due, within its grace": {&payment.Subscription{Plan: "team", Status: payment.PastDue, PeriodStart: now.Add(-time.Hour)}, 7},
		"one past due for longer": {&payment.Subscription{Plan: "team", Status: payment.PastDue,
			PeriodStart: now.Add(-48 * time.Hour)}, 0},
		"one that waits for its first money":   {&payment.Subscription{Plan: "team", Status: payment.Incomplete}, 0},
		"one of a plan that is no longer sold": {&payment.Subscription{Plan: "gone", Status: payment.Active}, 0},
		"one of a plan without limits":         {&payment.Subscription{Plan: "basic", Status: payment.Active}, 0},
	} {
		limits := plans.Limits(quota.Amounts{}, plans.Entitling(tt.s, now, 24*time.Hour))
		if got := limits.StorageBytes; got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
