package payments

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// modelGrace is how long an unpaid subscription of the model entitles.
const modelGrace = 24 * time.Hour

// modelPlans are what the model's shop sells: one of them bills usage, too. None allows messages.
var modelPlans = func() payment.Plans {
	all := append(slices.Clone(plans), payment.Plan{
		ID: "metered", PriceRef: "price_metered", Price: payment.Money{Amount: 700, Currency: "usd"},
		Interval: payment.Month, IntervalCount: 1,
		Metered: &payment.MeteredPrice{Feature: "emails", Amount: 3, PriceRef: "price_emails"},
	})
	for n := range all {
		all[n].Limits = map[string]int64{"messages": 0}
	}
	return all
}()

// period identifies what one payment is for.
type period struct {
	subscription string
	start        time.Time
}

// money is a small model of what may be paid and used. It knows nothing of how Atrium works: it sees the gateway's
// charges and subscriptions, and what Atrium tells its callers.
type money struct {
	worth  map[period]int64                     // the highest price that the subscription had in the period
	spared map[period]int64                     // what was paid for it, and not credited when someone set a lower price
	since  map[payment.SubscriptionID]time.Time // when a subscription became unpaid
	trials map[payment.SubscriptionID]time.Time // when the trial of a subscription ends
	rests  map[payment.SubscriptionID]time.Time // the start of the period in which a subscription was paused
	free   map[period]bool                      // periods that began while it was paused
	before map[period]period                    // the period before a period
	latest map[string]period                    // the newest period of a subscription
	used   map[period]int64                     // units that were reported in a period and are billed
	billed map[string]metered                   // by customer
}

// metered is how many units the gateway must have got for a customer, and how many more it may have got: those of
// reports while the outcome of a change was unknown.
type metered struct{ must, may int64 }

func newMoney() money {
	return money{
		worth: map[period]int64{}, spared: map[period]int64{}, since: map[payment.SubscriptionID]time.Time{},
		trials: map[payment.SubscriptionID]time.Time{}, rests: map[payment.SubscriptionID]time.Time{},
		free: map[period]bool{}, before: map[period]period{}, latest: map[string]period{}, used: map[period]int64{},
		billed: map[string]metered{},
	}
}

// use takes in a report of usage for a customer that has these subscriptions. certain is false while the outcome of a
// change is unknown, so that Atrium may not know that usage is billed. It may also send usage for a subscription that
// someone has made at the price of a metered plan without the metered item: nothing of that is billed.
func (m *money) use(customer string, subscriptions []payment.GatewaySubscription, units int64, certain bool) {
	current := m.billed[customer]
	for _, h := range subscriptions {
		p := modelPlans.ByPrice(h.Rate.Ref)
		isPaying := h.Status.Live() && h.Status != payment.Trialing && h.Status != payment.Incomplete
		isBilled := isPaying && slices.ContainsFunc(h.Items, func(i payment.Item) bool { return i.Metered })
		switch {
		case isBilled && certain:
			current.must += units
		case isBilled, !certain, isPaying && p != nil && p.Metered != nil:
			current.may += units
		}
		if isBilled || !certain {
			m.used[period{string(h.ID), h.PeriodStart}] += units
		}
	}
	m.billed[customer] = current
}

// rest takes in whether a subscription is paused.
func (m *money) rest(h payment.GatewaySubscription) {
	switch start := m.rests[h.ID]; {
	case !h.Paused:
		delete(m.rests, h.ID)
	case start.IsZero():
		m.rests[h.ID] = h.PeriodStart
	case !start.Equal(h.PeriodStart):
		m.free[period{string(h.ID), h.PeriodStart}] = true
	}
}

// see takes in the live subscriptions of the gateway. Grace counts from when a failure can be seen, which is now.
func (m *money) see(subscriptions []payment.GatewaySubscription, now time.Time) {
	for _, h := range subscriptions {
		if !h.TrialEnd.IsZero() {
			m.trials[h.ID] = h.TrialEnd
		}
		if !h.Status.Live() || h.Status == payment.Trialing {
			continue
		}
		m.rest(h)
		position := period{string(h.ID), h.PeriodStart}
		if previous := m.latest[position.subscription]; previous != position {
			m.before[position], m.latest[position.subscription] = previous, position
		}
		if !m.free[position] {
			m.worth[position] = max(m.worth[position], worthOf(h))
		}
		switch isOwed := h.Status == payment.PastDue || h.Status == payment.Unpaid; {
		case !isOwed:
			delete(m.since, h.ID)
		case m.since[h.ID].IsZero():
			m.since[h.ID] = now
		}
	}
}

// worthOf returns what a period of a subscription costs without usage.
func worthOf(h payment.GatewaySubscription) int64 {
	sum := priceOf(h.Rate.Ref) * int64(h.Quantity)
	for _, i := range h.Items {
		sum += priceOf(i.Rate.Ref) * int64(i.Quantity)
	}
	return sum
}

// pricesElsewhere are prices at the gateway that no plan has.
var pricesElsewhere = map[string]int64{"price_extra": 300, "price_unsold": 1300}

func priceOf(ref string) int64 {
	if p := modelPlans.ByPrice(ref); p != nil {
		return p.Price.Amount
	}
	return pricesElsewhere[ref]
}

// move takes in that someone sets another price of a subscription, which bills and credits nothing.
func (m *money) move(h payment.GatewaySubscription, price string) {
	if drop := (priceOf(h.Rate.Ref) - priceOf(price)) * int64(h.Quantity); drop > 0 {
		m.spared[period{string(h.ID), h.PeriodStart}] += drop
	}
}

// mayCost returns the most that may be paid for a period: its price, and what was used in it and in the one before it.
// Nothing may be paid for the time before a trial ends. known is false for a period in which the subscription was not
// seen. One that began while it was paused costs nothing.
func (m *money) mayCost(position period) (amount int64, exists bool) {
	if m.free[position] {
		return 0, true
	}
	if end := m.trials[payment.SubscriptionID(position.subscription)]; position.start.Before(end) {
		return 0, true
	}
	units := m.used[position] + m.used[m.before[position]]
	return m.worth[position] + m.spared[position] + 3*units, m.worth[position] > 0
}

// entitled reports whether a subscription may entitle at a time.
func (m *money) entitled(h payment.GatewaySubscription, now time.Time) bool {
	if m.free[period{string(h.ID), h.PeriodStart}] {
		return false
	}
	switch h.Status {
	case payment.Active, payment.Trialing:
		return true
	case payment.PastDue:
		return now.Before(m.since[h.ID].Add(modelGrace))
	}
	return false
}
