package stripeapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// meterEvent is reported usage (https://docs.stripe.com/api/billing/meter-event/create).
type meterEvent struct {
	identifier, customer, feature string
	value                         int64
	at, received                  time.Time
}

// meterOf is the id of the meter of a feature, and eventOf the name of its events.
func meterOf(feature string) string { return "mtr_" + feature }
func eventOf(feature string) string { return feature + "_used" }

// meteredPrice returns the plan whose metered price has an id.
func (s *Server) meteredPrice(ref string) *payment.Plan {
	for i := range s.plans {
		if m := s.plans[i].Metered; m != nil && m.PriceRef == ref {
			return &s.plans[i]
		}
	}
	return nil
}

func showMeteredPrice(p *payment.Plan) map[string]any {
	out := showPrice(*p)
	out["id"], out["unit_amount"] = p.Metered.PriceRef, p.Metered.Amount
	out["recurring"] = map[string]any{
		"interval": string(p.Interval), "interval_count": p.IntervalCount, "usage_type": "metered",
		"meter": meterOf(p.Metered.Feature),
	}
	return out
}

// measure bills the usage of u by another metered price from now on. What was used before is not billed
// (https://docs.stripe.com/billing/subscriptions/usage-based/manage-billing-setup).
func (s *Server) measure(u *subscription, by *payment.Plan, now time.Time) {
	if by == nil {
		u.meter, u.meterItem = nil, ""
		return
	}
	if u.meter == nil || u.meter.Metered.PriceRef != by.Metered.PriceRef {
		u.meterSince = now
	}
	if u.meter = by; u.meterItem == "" {
		u.meterItem = s.id("si")
	}
}

func (s *Server) readMeter(_ form, r *http.Request) any {
	for _, p := range s.plans {
		if p.Metered != nil && meterOf(p.Metered.Feature) == r.PathValue("id") {
			return map[string]any{
				"id": meterOf(p.Metered.Feature), "object": "billing.meter", "status": "active", "livemode": false,
				"event_name": eventOf(p.Metered.Feature), "display_name": p.Metered.Feature,
			}
		}
	}
	return missing(404, "id")
}

// reportUsage refuses an identifier that it has had within a day.
func (s *Server) reportUsage(f form, _ *http.Request) any {
	e := meterEvent{
		identifier: f.Get("identifier"), customer: f.Get("payload[stripe_customer_id]"), received: s.now(),
		at: time.Unix(f.number("timestamp"), 0).UTC(),
	}
	value, err := strconv.ParseInt(f.Get("payload[value]"), 10, 64)
	n := slices.IndexFunc(s.plans, func(p payment.Plan) bool {
		return p.Metered != nil && eventOf(p.Metered.Feature) == f.Get("event_name")
	})
	known := func(o meterEvent) bool {
		return o.identifier == e.identifier && e.received.Sub(o.received) < keptFor
	}
	switch {
	case n < 0:
		return invalid("event_name")
	case err != nil || value < 0:
		return invalid("payload")
	case s.customer(e.customer) == nil:
		return invalid("payload")
	case e.at.Before(e.received.AddDate(0, 0, -35)) || e.at.After(e.received.Add(5*time.Minute)):
		return invalid("timestamp")
	case slices.ContainsFunc(s.usage, known):
		return said{invalid(""), "An event already exists with identifier " + e.identifier + "."}
	}
	e.value, e.feature = value, s.plans[n].Metered.Feature
	s.usage = append(s.usage, e)
	return map[string]any{
		"object": "billing.meter_event", "created": e.received.Unix(), "event_name": f.Get("event_name"),
		"identifier": e.identifier, "timestamp": e.at.Unix(), "livemode": false, "payload": f.under("payload"),
	}
}

// Usage returns the sum of a customer's meter events, and their number.
func (s *Server) Usage(customer string) (sum int64, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.usage {
		if e.customer == customer {
			sum, events = sum+e.value, events+1
		}
	}
	return sum, events
}

// used returns the line for what u has used from start to end; nil if it has no metered item or used nothing.
func (s *Server) used(u *subscription, start, end time.Time) *line {
	if u.meter == nil || u.status == "trialing" {
		return nil
	}
	m, sum := u.meter.Metered, int64(0)
	if u.meterSince.After(start) {
		start = u.meterSince
	}
	for _, e := range s.usage {
		if e.customer == u.customer && e.feature == m.Feature && !e.at.Before(start) && e.at.Before(end) {
			sum += e.value
		}
	}
	if sum == 0 {
		return nil
	}
	return &line{fmt.Sprintf("%d × %s", sum, m.Feature), sum, sum * m.Amount, start, end}
}

// usageCost returns the price of the usage that is billed with a period that begins at a time, less the discount, and
// what the discount deducts from it.
func (u *subscription) usageCost(at time.Time) (cost, off int64) {
	if u.unbilled == nil {
		return 0, 0
	}
	if cost = u.unbilled.amount; u.discount != nil && !u.discount.Ended(at) {
		off = u.discount.Deduction(u.amount()+cost) - u.discount.Deduction(u.amount())
	}
	return cost - off, off
}

// billUsage creates the invoice for what u has used, and charges it.
func (s *Server) billUsage(u *subscription, now time.Time) {
	if l := s.used(u, u.start, now); l != nil && (u.status == "active" || u.status == "past_due") {
		s.bill(u, l.amount, false).lines = []line{*l}
	}
}

// line is a line of an invoice.
type line struct {
	description      string
	quantity, amount int64
	start, end       time.Time
}

// line returns the line for the own price of u.
func (u *subscription) line(amount int64) line {
	return line{fmt.Sprintf("%d × %s", u.quantity, u.plan.ID), u.quantity, amount, u.start, u.end}
}

func (i *invoice) showLines() map[string]any {
	data := []any{}
	for n, l := range i.lines {
		data = append(data, map[string]any{
			"id": fmt.Sprintf("il_%s_%d", i.id, n), "object": "line_item", "description": l.description,
			"quantity": l.quantity, "amount": l.amount, "livemode": false,
			"period": map[string]any{"start": l.start.Unix(), "end": l.end.Unix()},
		})
	}
	return map[string]any{"object": "list", "has_more": false, "url": "/v1/invoices/" + i.id + "/lines", "data": data}
}
