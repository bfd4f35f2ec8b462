package payment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var afterAYear = ends.AddDate(0, 11, 0)

// ramp returns a schedule of someone else: another price after half a year, then the end.
func ramp() *payment.Schedule {
	upper := item("price_later", 3900, 1)
	upper.ID = ""
	middle := ends.AddDate(0, 5, 0)
	return &payment.Schedule{Ends: true, Phases: []payment.Phase{
		{Start: begins, End: middle, Items: []payment.Item{addOn, item("price_pro", 2900, 1)}},
		{Start: middle, End: afterAYear, Items: []payment.Item{upper, addOn}},
	}}
}

// own returns Atrium's schedule for a change at the end of the period.
func own() *payment.Schedule {
	next := item("price_basic", 900, 1)
	next.ID = ""
	return &payment.Schedule{Own: true, Phases: []payment.Phase{
		{Start: begins, End: ends, Items: []payment.Item{addOn, item("price_pro", 2900, 1)}},
		{Start: ends, End: ends.AddDate(0, 1, 0), Items: []payment.Item{addOn, next}, Plan: "basic"},
	}}
}

// terms are the prices and quantities of phases, with their ends.
func terms(phases []payment.Phase) (all []map[string]int) {
	for _, p := range phases {
		one := map[string]int{"of": p.Of}
		if !p.End.IsZero() {
			one["days"] = int(p.End.Sub(begins).Hours() / 24)
		}
		for _, i := range p.Items {
			one[i.Rate.Ref] = i.Quantity
		}
		all = append(all, one)
	}
	return all
}

func days(now time.Time) int { return int(now.Sub(begins).Hours() / 24) }

func TestOnlyTheDifferenceIsSent(t *testing.T) {
	yes, negative := true, false
	toPro := payment.Amendment{Resell: true, Plan: pro}
	toBasic := payment.Amendment{Resell: true, Plan: basic, AtRenewal: true}
	seats := payment.Amendment{Resell: true, Quantity: 2}
	meteredPlan := pro
	meteredPlan.ID, meteredPlan.PriceRef = "metered", "price_metered"
	meteredPlan.Metered = &payment.MeteredPrice{Feature: "messages", PriceRef: "price_messages"}
	withItem := func(a payment.Amendment) payment.Amendment { a.Item = "si_plan"; return a }
	half := days(ends.AddDate(0, 5, 0))
	for name, tt := range map[string]struct {
		held   []payment.Item
		change func(*payment.GatewaySubscription)
		ask    payment.Amendment
		want   payment.Difference // without phases
		phases []map[string]int
		err    error
	}{
		"another plan keeps the quantity, and names other items as they are": {
			held: []payment.Item{addOn, item("price_basic", 900, 1), meter}, ask: withItem(toPro),
			want: payment.Difference{Items: []payment.ItemChange{{ID: "si_plan", Ref: "price_pro"}, {ID: "si_addon"},
				{ID: "si_meter"}}},
		},
		"more seats keep the price": {
			held: []payment.Item{addOn, item("price_old", 500, 1)}, ask: withItem(seats),
			want: payment.Difference{Items: []payment.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
		},
		"what it has already is not sent": {
			held: []payment.Item{item("price_pro", 2900, 2)},
			ask:  payment.Amendment{Resell: true, Plan: pro, Quantity: 2},
		},
		"a metered price comes with its plan": {
			held: []payment.Item{item("price_basic", 900, 1)}, ask: payment.Amendment{Resell: true, Plan: meteredPlan},
			want: payment.Difference{Items: []payment.ItemChange{{ID: "si_plan", Ref: "price_metered"},
				{Ref: "price_messages"}}},
		},
		"and goes with it, but not that of someone else": {
			held: []payment.Item{item("price_metered", 1900, 1), meter, {ID: "si_more", Rate: monthly("price_more", 1),
				Metered: true}},
			ask: payment.Amendment{Resell: true, Plan: pro, Meter: "price_messages"},
			want: payment.Difference{Items: []payment.ItemChange{{ID: "si_plan", Ref: "price_pro"},
				{ID: "si_meter", Deleted: true}, {ID: "si_more"}}},
		},
		"another metered price takes the place of the old one": {
			held: []payment.Item{item("price_old", 1900, 1), {ID: "si_old", Rate: monthly("price_used", 1),
				Metered: true}},
			ask: payment.Amendment{Resell: true, Plan: meteredPlan, Meter: "price_used"},
			want: payment.Difference{Items: []payment.ItemChange{{ID: "si_plan", Ref: "price_metered"},
				{ID: "si_old", Ref: "price_messages"}}},
		},
		"an item that is gone is not guessed": {
			held: []payment.Item{addOn}, ask: withItem(seats), err: payment.ErrSubscriptionUnrecognized,
		},
		"two items never get one price": {
			held: []payment.Item{item("price_basic", 900, 1),
				{ID: "si_2", Rate: monthly("price_pro", 2900), Quantity: 1}},
			ask: withItem(toPro), err: payment.ErrSubscriptionUnrecognized,
		},
		"an unpaid renewal is not deducted": {
			held:   []payment.Item{item("price_basic", 900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Status = payment.PastDue },
			ask:    toPro, err: payment.ErrRenewalUnpaid,
		},
		"less at renewal keeps the other items in both phases": {
			held: []payment.Item{addOn, item("price_pro", 2900, 1)}, ask: withItem(toBasic),
			want: payment.Difference{AtRenewal: true,
				Items: []payment.ItemChange{{ID: "si_plan", Ref: "price_basic"}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1},
				{"of": 0, "price_addon": 5, "price_basic": 1}},
		},
		"a later change takes the place of Atrium's own": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 3)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(payment.Amendment{Resell: true, Quantity: 2, AtRenewal: true}),
			want: payment.Difference{AtRenewal: true,
				Items: []payment.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 3},
				{"of": 0, "price_addon": 5, "price_pro": 2}},
		},
		"what is bought now takes its place, too": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = own() }, ask: withItem(seats),
			want: payment.Difference{Release: true,
				Items: []payment.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
		},
		"a code alone stays with it": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(payment.Amendment{AtRenewal: true, Promotion: &payment.Promotion{ID: "promo"}}),
			want:   payment.Difference{AtRenewal: true, Discount: true},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1},
				{"of": 1, "days": days(ends.AddDate(0, 1, 0)), "price_addon": 5, "price_basic": 1}},
		},
		"a pause ends it": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(payment.Amendment{Pause: &yes}),
			want:   payment.Difference{Release: true},
		},
		"more seats are more in each phase of someone else's schedule, which keeps prices and end": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = ramp() }, ask: withItem(seats),
			want: payment.Difference{Ends: true,
				Items: []payment.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": half, "price_addon": 5, "price_pro": 2},
				{"of": 1, "days": days(afterAYear), "price_addon": 5, "price_later": 2}},
		},
		"less at renewal divides its phase": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 3)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(payment.Amendment{Resell: true, Quantity: 2, AtRenewal: true}),
			want: payment.Difference{AtRenewal: true, Ends: true,
				Items: []payment.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 3},
				{"of": 0, "days": half, "price_addon": 5, "price_pro": 2},
				{"of": 1, "days": days(afterAYear), "price_addon": 5, "price_later": 2}},
		},
		"a pause leaves someone else's schedule": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(payment.Amendment{Pause: &yes}),
		},
		"a code is of each of its phases": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(payment.Amendment{Promotion: &payment.Promotion{ID: "promo"}}),
			want:   payment.Difference{Ends: true, Discount: true},
			phases: []map[string]int{{"of": 0, "days": half, "price_addon": 5, "price_pro": 1},
				{"of": 1, "days": days(afterAYear), "price_addon": 5, "price_later": 1}},
		},
		"an end with the period cuts it": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(payment.Amendment{CancelAtPeriodEnd: &yes}),
			want:   payment.Difference{Ends: true},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1}},
		},
		"which can be undone": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = term(ends, h.Items...) },
			ask:    withItem(payment.Amendment{CancelAtPeriodEnd: &negative}),
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1}},
		},
		"an end at a later time is not undone with that of the period": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(payment.Amendment{CancelAtPeriodEnd: &negative}),
		},
		"an end ends Atrium's own schedule": {
			held:   []payment.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(payment.Amendment{CancelAtPeriodEnd: &yes}),
			want:   payment.Difference{End: &yes, Release: true},
		},
		"an end by the portal is an end": {
			held:   []payment.Item{item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.CancelAt = ends },
			ask:    payment.Amendment{CancelAtPeriodEnd: &yes},
		},
		"and is undone": {
			held:   []payment.Item{item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.CancelAt = ends },
			ask:    payment.Amendment{CancelAtPeriodEnd: &negative},
			want:   payment.Difference{End: &negative},
		},
		"no renewal, no change at renewal": {
			held:   []payment.Item{item("price_pro", 2900, 1)},
			change: func(h *payment.GatewaySubscription) { h.CancelAt = ends },
			ask:    toBasic, err: payment.ErrSubscriptionEnds,
		},
		"more is bought until the end, which stays": {
			held:   []payment.Item{item("price_basic", 900, 1)},
			change: func(h *payment.GatewaySubscription) { h.CancelAt = ends }, ask: toPro,
			want: payment.Difference{Items: []payment.ItemChange{{ID: "si_plan", Ref: "price_pro"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := holding("", tt.held...)
			if tt.change != nil {
				tt.change(&h)
			}
			previous := cmp.Diff(payment.GatewaySubscription{}, h)
			got, err := h.Difference(tt.ask)
			require.ErrorIs(t, err, tt.err)
			next := cmp.Diff(payment.GatewaySubscription{}, h)
			assert.That(t, next == previous, "it changed what it compares")
			if err != nil {
				return
			}
			assert.NoDiff(t, "phases", cmp.Diff(tt.phases, terms(got.Phases)))
			got.Phases = nil
			assert.NoDiff(t, "difference", cmp.Diff(tt.want, got))
		})
	}
}
