package billing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/billing"
)

var afterAYear = ends.AddDate(0, 11, 0)

// ramp returns a schedule of someone else: another price after half a year, then the end.
func ramp() *billing.Schedule {
	up := item("price_later", 3900, 1)
	up.ID = ""
	middle := ends.AddDate(0, 5, 0)
	return &billing.Schedule{Ends: true, Phases: []billing.Phase{
		{Start: begins, End: middle, Items: []billing.Item{addOn, item("price_pro", 2900, 1)}},
		{Start: middle, End: afterAYear, Items: []billing.Item{up, addOn}},
	}}
}

// own returns Atrium's schedule for a change at the end of the period.
func own() *billing.Schedule {
	next := item("price_basic", 900, 1)
	next.ID = ""
	return &billing.Schedule{Own: true, Phases: []billing.Phase{
		{Start: begins, End: ends, Items: []billing.Item{addOn, item("price_pro", 2900, 1)}},
		{Start: ends, End: ends.AddDate(0, 1, 0), Items: []billing.Item{addOn, next}, Plan: "basic"},
	}}
}

// terms are the prices and quantities of phases, with their ends.
func terms(phases []billing.Phase) (all []map[string]int) {
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

func days(at time.Time) int { return int(at.Sub(begins).Hours() / 24) }

func TestOnlyTheDifferenceIsSent(t *testing.T) {
	yes, no := true, false
	toPro := billing.Amendment{Resell: true, Plan: pro}
	toBasic := billing.Amendment{Resell: true, Plan: basic, AtRenewal: true}
	seats := billing.Amendment{Resell: true, Quantity: 2}
	metered := pro
	metered.ID, metered.PriceRef = "metered", "price_metered"
	metered.Metered = &billing.MeteredPrice{Feature: "messages", PriceRef: "price_messages"}
	withItem := func(a billing.Amendment) billing.Amendment { a.Item = "si_plan"; return a }
	half := days(ends.AddDate(0, 5, 0))
	for name, tt := range map[string]struct {
		held   []billing.Item
		change func(*billing.GatewaySubscription)
		ask    billing.Amendment
		want   billing.Difference // without phases
		phases []map[string]int
		err    error
	}{
		"another plan keeps the quantity, and names other items as they are": {
			held: []billing.Item{addOn, item("price_basic", 900, 1), meter}, ask: withItem(toPro),
			want: billing.Difference{Items: []billing.ItemChange{{ID: "si_plan", Ref: "price_pro"}, {ID: "si_addon"},
				{ID: "si_meter"}}},
		},
		"more seats keep the price": {
			held: []billing.Item{addOn, item("price_old", 500, 1)}, ask: withItem(seats),
			want: billing.Difference{Items: []billing.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
		},
		"what it has already is not sent": {
			held: []billing.Item{item("price_pro", 2900, 2)},
			ask:  billing.Amendment{Resell: true, Plan: pro, Quantity: 2},
		},
		"a metered price comes with its plan": {
			held: []billing.Item{item("price_basic", 900, 1)}, ask: billing.Amendment{Resell: true, Plan: metered},
			want: billing.Difference{Items: []billing.ItemChange{{ID: "si_plan", Ref: "price_metered"},
				{Ref: "price_messages"}}},
		},
		"and goes with it, but not that of someone else": {
			held: []billing.Item{item("price_metered", 1900, 1), meter, {ID: "si_more", Rate: monthly("price_more", 1),
				Metered: true}},
			ask: billing.Amendment{Resell: true, Plan: pro, Meter: "price_messages"},
			want: billing.Difference{Items: []billing.ItemChange{{ID: "si_plan", Ref: "price_pro"},
				{ID: "si_meter", Deleted: true}, {ID: "si_more"}}},
		},
		"another metered price takes the place of the old one": {
			held: []billing.Item{item("price_old", 1900, 1), {ID: "si_old", Rate: monthly("price_used", 1),
				Metered: true}},
			ask: billing.Amendment{Resell: true, Plan: metered, Meter: "price_used"},
			want: billing.Difference{Items: []billing.ItemChange{{ID: "si_plan", Ref: "price_metered"},
				{ID: "si_old", Ref: "price_messages"}}},
		},
		"an item that is gone is not guessed": {
			held: []billing.Item{addOn}, ask: withItem(seats), err: billing.ErrSubscriptionUnrecognized,
		},
		"two items never get one price": {
			held: []billing.Item{item("price_basic", 900, 1),
				{ID: "si_2", Rate: monthly("price_pro", 2900), Quantity: 1}},
			ask: withItem(toPro), err: billing.ErrSubscriptionUnrecognized,
		},
		"an unpaid renewal is not deducted": {
			held:   []billing.Item{item("price_basic", 900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Status = billing.PastDue },
			ask:    toPro, err: billing.ErrRenewalUnpaid,
		},
		"less at renewal keeps the other items in both phases": {
			held: []billing.Item{addOn, item("price_pro", 2900, 1)}, ask: withItem(toBasic),
			want: billing.Difference{AtRenewal: true,
				Items: []billing.ItemChange{{ID: "si_plan", Ref: "price_basic"}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1},
				{"of": 0, "price_addon": 5, "price_basic": 1}},
		},
		"a later change takes the place of Atrium's own": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 3)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(billing.Amendment{Resell: true, Quantity: 2, AtRenewal: true}),
			want: billing.Difference{AtRenewal: true,
				Items: []billing.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 3},
				{"of": 0, "price_addon": 5, "price_pro": 2}},
		},
		"what is bought now takes its place, too": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = own() }, ask: withItem(seats),
			want: billing.Difference{Release: true,
				Items: []billing.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
		},
		"a code alone stays with it": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(billing.Amendment{AtRenewal: true, Promotion: &billing.Promotion{ID: "promo"}}),
			want:   billing.Difference{AtRenewal: true, Discount: true},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1},
				{"of": 1, "days": days(ends.AddDate(0, 1, 0)), "price_addon": 5, "price_basic": 1}},
		},
		"a pause ends it": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(billing.Amendment{Pause: &yes}),
			want:   billing.Difference{Release: true},
		},
		"more seats are more in each phase of someone else's schedule, which keeps prices and end": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = ramp() }, ask: withItem(seats),
			want: billing.Difference{Ends: true,
				Items: []billing.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": half, "price_addon": 5, "price_pro": 2},
				{"of": 1, "days": days(afterAYear), "price_addon": 5, "price_later": 2}},
		},
		"less at renewal divides its phase": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 3)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(billing.Amendment{Resell: true, Quantity: 2, AtRenewal: true}),
			want: billing.Difference{AtRenewal: true, Ends: true,
				Items: []billing.ItemChange{{ID: "si_plan", Quantity: 2}, {ID: "si_addon"}}},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 3},
				{"of": 0, "days": half, "price_addon": 5, "price_pro": 2},
				{"of": 1, "days": days(afterAYear), "price_addon": 5, "price_later": 2}},
		},
		"a pause leaves someone else's schedule": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(billing.Amendment{Pause: &yes}),
		},
		"a code is of each of its phases": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(billing.Amendment{Promotion: &billing.Promotion{ID: "promo"}}),
			want:   billing.Difference{Ends: true, Discount: true},
			phases: []map[string]int{{"of": 0, "days": half, "price_addon": 5, "price_pro": 1},
				{"of": 1, "days": days(afterAYear), "price_addon": 5, "price_later": 1}},
		},
		"an end with the period cuts it": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(billing.Amendment{CancelAtPeriodEnd: &yes}),
			want:   billing.Difference{Ends: true},
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1}},
		},
		"which can be undone": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = term(ends, h.Items...) },
			ask:    withItem(billing.Amendment{CancelAtPeriodEnd: &no}),
			phases: []map[string]int{{"of": 0, "days": 30, "price_addon": 5, "price_pro": 1}},
		},
		"an end at a later time is not undone with that of the period": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = ramp() },
			ask:    withItem(billing.Amendment{CancelAtPeriodEnd: &no}),
		},
		"an end ends Atrium's own schedule": {
			held:   []billing.Item{addOn, item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.Schedule = own() },
			ask:    withItem(billing.Amendment{CancelAtPeriodEnd: &yes}),
			want:   billing.Difference{End: &yes, Release: true},
		},
		"an end by the portal is an end": {
			held:   []billing.Item{item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.CancelAt = ends },
			ask:    billing.Amendment{CancelAtPeriodEnd: &yes},
		},
		"and is undone": {
			held:   []billing.Item{item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.CancelAt = ends },
			ask:    billing.Amendment{CancelAtPeriodEnd: &no},
			want:   billing.Difference{End: &no},
		},
		"no renewal, no change at renewal": {
			held:   []billing.Item{item("price_pro", 2900, 1)},
			change: func(h *billing.GatewaySubscription) { h.CancelAt = ends },
			ask:    toBasic, err: billing.ErrSubscriptionEnds,
		},
		"more is bought until the end, which stays": {
			held:   []billing.Item{item("price_basic", 900, 1)},
			change: func(h *billing.GatewaySubscription) { h.CancelAt = ends }, ask: toPro,
			want: billing.Difference{Items: []billing.ItemChange{{ID: "si_plan", Ref: "price_pro"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := holding("", tt.held...)
			if tt.change != nil {
				tt.change(&h)
			}
			before := cmp.Diff(billing.GatewaySubscription{}, h)
			got, err := h.Difference(tt.ask)
			wantErr(t, err, tt.err)
			if after := cmp.Diff(billing.GatewaySubscription{}, h); after != before {
				t.Error("it changed what it compares")
			}
			if err != nil {
				return
			}
			if d := cmp.Diff(tt.phases, terms(got.Phases)); d != "" {
				t.Errorf("phases (-want +got):\n%s", d)
			}
			got.Phases = nil
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
