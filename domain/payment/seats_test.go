package payment_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// seated are plans of which two have limits for each seat.
var seated = payment.Plans{
	{ID: "solo", Name: "Solo", Limits: map[string]int64{"members": 1, "messages": 50}},
	{ID: "team", Name: "Team", Limits: map[string]int64{"chat_templates": 9},
		SeatLimits: map[string]int64{"members": 2, "messages": 100}},
	{ID: "large", Name: "Large", SeatLimits: map[string]int64{"members": 10}},
}

func TestALimitPerSeatGrowsWithTheQuantity(t *testing.T) {
	base := quota.Amounts{Members: 1, ChatTemplates: 5}
	for name, tt := range map[string]struct {
		plan     payment.PlanID
		quantity int
		want     map[string]int64
	}{
		"one seat":                  {"team", 1, map[string]int64{"members": 2, "chat_templates": 9, "messages": 100}},
		"three seats":               {"team", 3, map[string]int64{"members": 6, "chat_templates": 9, "messages": 300}},
		"a plan without such limit": {"solo", 3, map[string]int64{"members": 1, "chat_templates": 5, "messages": 50}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &payment.Subscription{Plan: tt.plan, Quantity: tt.quantity, Status: payment.Active}
			limits := seated.Limits(base, seated.Entitling(s, now, time.Hour))
			e := seated.Entitlements(&payment.Customer{Subscription: s}, now, time.Hour, limits, quota.Amounts{}, nil)
			for name, want := range tt.want {
				got := e.Allowance(name).Limit
				assert.That(t, got == want, "%s: %d, want %d", name, got, want)
			}
		})
	}
	assert.That(t, seated[2:].Limiting([]quota.Kind{quota.Members}) && seated.Reportable()["messages"] &&
		len(seated[2:].Reportable()) == 0, "a limit per seat is no limit")
}

func TestALimitPerSeatNamesTheQuantityThatAllowsMore(t *testing.T) {
	s := &payment.Subscription{Plan: "team", Quantity: 2, Status: payment.Active}
	limits := seated.Limits(quota.Amounts{}, seated.Entitling(s, now, time.Hour))
	for name, tt := range map[string]struct {
		members  int64
		quantity int
		lifted   string
	}{
		"one more":                  {5, 3, "large"},
		"as many as the next seat":  {6, 3, "large"},
		"more than any quantity":    {20_001, 0, ""},
		"the largest quantity":      {20_000, 10_000, ""},
		"more than two larger ones": {21, 11, ""},
	} {
		e, _ := errors.AsType[*quota.LimitError](limits.Check(quota.Amounts{Members: tt.members}, quota.Members))
		lifted := ""
		if e.Lifted != nil {
			lifted = e.Lifted.ID
		}
		assert.That(t, e.Quantity == tt.quantity && lifted == tt.lifted, "%s: %d, %q", name, e.Quantity, lifted)
	}
	reports := seated.Entitlements(&payment.Customer{Subscription: s}, now, time.Hour, limits, quota.Amounts{},
		map[string]int64{"messages": 200})
	e, _ := errors.AsType[*quota.LimitError](reports.Exhausted(seated,
		&payment.UsageReport{Feature: "messages", Quantity: 101}))
	assert.That(t, e.Quantity == 4 && e.Limit == 200, "%+v", e)
}
