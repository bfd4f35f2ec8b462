package payment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestLimits(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	plans := payment.Plans{{ID: "basic"}, {ID: "team", Limits: map[string]int64{"members": 3, "storage_bytes": 7}}}
	assert.That(t, plans.Limiting(quota.Kinds()) && !plans[:1].Limiting(quota.Kinds()) &&
		!plans.Limiting([]quota.Kind{quota.ChatTemplates}), "Limiting does not find the plan with a quota")
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
		limits := plans.Limits(quota.Amounts{}, plans.Entitling(tt.s, nil, now, 24*time.Hour))
		got := limits.StorageBytes
		assert.That(t, got == tt.want, "%s: %d, want %d", name, got, tt.want)
	}
}

func TestAPlanIsBelowAQuotaThatItLowers(t *testing.T) {
	base := quota.Amounts{Members: quota.Unlimited, ChatTemplates: 5, Sources: 3}
	for name, tt := range map[string]struct {
		limits map[string]int64
		want   []quota.Kind
	}{
		"a plan without limits":             {nil, nil},
		"a limit of the application":        {map[string]int64{"messages": 1}, nil},
		"the same limits and higher ones":   {map[string]int64{"chat_templates": 5, "sources": 4}, nil},
		"a limit where there was none":      {map[string]int64{"members": 1000}, []quota.Kind{quota.Members}},
		"a lower limit beside a higher one": {map[string]int64{"chat_templates": 4, "sources": 9}, []quota.Kind{quota.ChatTemplates}},
	} {
		got := (&payment.Plan{Limits: tt.limits}).Below(base)
		assert.That(t, slices.Equal(got, tt.want), "%s is below %v, want %v", name, got, tt.want)
	}
}
