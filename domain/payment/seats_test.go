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
			g := seated.Entitling(s, nil, now, time.Hour)
			limits := seated.Limits(base, g)
			e := seated.Entitlements(&payment.Customer{Subscription: s}, g, now, time.Hour, limits,
				quota.Amounts{}, nil)
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
	g := seated.Entitling(s, nil, now, time.Hour)
	limits := seated.Limits(quota.Amounts{}, g)
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
	reports := seated.Entitlements(&payment.Customer{Subscription: s}, g, now, time.Hour, limits, quota.Amounts{},
		map[string]payment.Tally{"messages": {Used: 200}})
	e, _ := errors.AsType[*quota.LimitError](reports.Exhausted(seated,
		&payment.UsageReport{Feature: "messages", Quantity: 101}))
	assert.That(t, e.Quantity == 4 && e.Limit == 200, "%+v", e)
}

// crew has a seat for each member.
var crew = payment.Plans{{ID: "crew", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month,
	IntervalCount: 1, Seats: quota.Members, SeatLimits: map[string]int64{"members": 1}}, basic}

func TestAPlanWithASeatForEachMemberIsBoughtForAll(t *testing.T) {
	for name, tt := range map[string]struct {
		plan     *payment.Plan
		members  int64
		quantity int
		want     int
		err      error
	}{
		"what they need":           {&crew[0], 3, 0, 3, nil},
		"at least one":             {&crew[0], 0, 0, 1, nil},
		"as many as they are":      {&crew[0], 3, 3, 3, nil},
		"more":                     {&crew[0], 3, 5, 5, nil},
		"fewer":                    {&crew[0], 3, 2, 2, payment.ErrSeatsInUse},
		"a plan without seats":     {&basic, 3, 1, 1, nil},
		"one of such a plan":       {&basic, 3, 0, 1, nil},
		"a quantity of such plans": {&basic, 3, 4, 4, nil},
	} {
		got, err := tt.plan.SeatsFor(tt.members, tt.quantity)
		assert.That(t, got == tt.want && errors.Is(err, tt.err), "%s: %d, %v", name, got, err)
	}
	assert.That(t, crew.Seats() && !plans.Seats(), "Seats does not find the plan")
}

func TestNoSubscriptionBeginsWithFewerSeatsThanMembers(t *testing.T) {
	buy := func(key string, quantity int) (*payment.Customer, bool, error) {
		c := customer(card("pm_1", 1))
		isRepetition, err := c.Subscribe(owner, now, key,
			payment.SubscribeRequest{Plan: "crew", Quantity: quantity, Members: 3}, crew)
		return c, isRepetition, err
	}
	_, _, err := buy("k", 2)
	assert.ErrorIs(t, err, payment.ErrSeatsInUse)
	c, _, err := buy("k", 0)
	assert.That(t, err == nil && c.Pending.Quantity == 3, "%+v, %v", c.Pending, err)
	c = subscribed("crew", payment.Active, card("pm_1", 1))
	isRepetition, err := c.Subscribe(owner, now, "made",
		payment.SubscribeRequest{Plan: "crew", Quantity: 1, Members: 3}, crew)
	assert.That(t, isRepetition && err == nil, "the call that bought it is refused: %v", err)
}

func TestNoChangeLeavesFewerSeatsThanMembers(t *testing.T) {
	id, other, two, three, ends := payment.PlanID("crew"), payment.PlanID("basic"), 2, 3, true
	for name, tt := range map[string]struct {
		plan   payment.PlanID
		change payment.Changes
		want   error
	}{
		"fewer seats":                     {"crew", payment.Changes{Quantity: &two}, payment.ErrSeatsInUse},
		"as many seats":                   {"crew", payment.Changes{Quantity: &three}, nil},
		"to such a plan with one seat":    {"basic", payment.Changes{Plan: &id}, payment.ErrSeatsInUse},
		"to such a plan with enough":      {"basic", payment.Changes{Plan: &id, Quantity: &three}, nil},
		"to another plan":                 {"crew", payment.Changes{Plan: &other}, nil},
		"nothing of the plan":             {"crew", payment.Changes{CancelAtPeriodEnd: &ends}, nil},
		"to a plan that does not exist":   {"crew", payment.Changes{Plan: new(payment.PlanID("none"))}, nil},
		"of a plan that is not known now": {"gone", payment.Changes{Quantity: &two}, nil},
	} {
		c := active(tt.plan)
		assert.That(t, errors.Is(c.CheckSeats(tt.change, crew, 3), tt.want), "%s", name)
	}
	assert.That(t, customer().CheckSeats(payment.Changes{Quantity: &two}, crew, 3) == nil, "without a subscription")
}

func TestASubscriptionRenewsWithASeatForEachMember(t *testing.T) {
	pending := func(quantity int, plan payment.PlanID, isElsewhere bool) func(*payment.Subscription) {
		return func(s *payment.Subscription) {
			s.Pending = &payment.PendingChange{Plan: plan, Quantity: quantity, At: s.PeriodEnd, Elsewhere: isElsewhere}
		}
	}
	for name, tt := range map[string]struct {
		members int64
		change  func(*payment.Subscription)
		want    int
	}{
		"a member less":                 {3, nil, 3},
		"as many":                       {5, nil, 0},
		"more than seats":               {9, nil, 0},
		"no one is left":                {0, nil, 1},
		"fewer still than it is set to": {2, pending(3, "crew", false), 2},
		"as it is set to":               {3, pending(3, "crew", false), 0},
		"one came back":                 {4, pending(3, "crew", false), 4},
		"all came back":                 {5, pending(3, "crew", false), 5},
		"more than ever came":           {8, pending(3, "crew", false), 5},
		"it changes to another plan":    {2, pending(5, "basic", false), 0},
		"someone else has scheduled it": {2, pending(4, "crew", true), 0},
		"of a plan without seats":       {2, func(s *payment.Subscription) { s.Plan = "basic" }, 0},
		"of an unknown plan":            {2, func(s *payment.Subscription) { s.Plan = "" }, 0},
		"in a trial":                    {2, func(s *payment.Subscription) { s.Status = payment.Trialing }, 0},
		"it is past due":                {2, func(s *payment.Subscription) { s.Status = payment.PastDue }, 0},
		"it is paused":                  {2, func(s *payment.Subscription) { s.Paused = true }, 0},
		"it ends":                       {2, func(s *payment.Subscription) { s.EndsAt = s.PeriodEnd }, 0},
		"a change waits for the payer":  {2, func(s *payment.Subscription) { s.Confirming = true }, 0},
	} {
		c := active("crew")
		c.Subscription.Quantity = 5
		if tt.change != nil {
			tt.change(c.Subscription)
		}
		got := c.SeatsToRenew(crew, tt.members)
		assert.That(t, got == tt.want, "%s: %d, want %d", name, got, tt.want)
	}
	assert.That(t, customer().SeatsToRenew(crew, 1) == 0, "without a subscription")
}
