package stripeapi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// terms are what a subscription sells, or a phase of its schedule.
type terms struct {
	plan     payment.Plan
	quantity int64
	taxed    []string      // tax rates of the plan's item
	meter    *payment.Plan // whose metered price it has, too; nil if it has none
	extras   []extra       // the items that Atrium did not make
	rates    []string      // default_tax_rates
}

// extra is an item that someone else has added.
type extra struct {
	id       string
	price    payment.Plan // whose price it has, or whose metered price
	metered  bool
	quantity int64
	taxed    []string
}

func (e *extra) ref() string {
	if e.metered {
		return e.price.Metered.PriceRef
	}
	return e.price.PriceRef
}

// clone returns t with slices of its own.
func (t terms) clone() terms {
	t.extras, t.taxed, t.rates = slices.Clone(t.extras), slices.Clone(t.taxed), slices.Clone(t.rates)
	return t
}

// sum returns what a period costs without usage.
func (t *terms) sum() int64 {
	sum := t.plan.Price.Amount * t.quantity
	for _, e := range t.extras {
		if !e.metered {
			sum += e.price.Price.Amount * e.quantity
		}
	}
	return sum
}

// refs returns the prices of all items. One price cannot be twice in a subscription
// (https://docs.stripe.com/api/subscription_items/create, "a subscription can have up to 20 items", each of another
// price: https://docs.stripe.com/billing/subscriptions/multiple-products).
func (t *terms) refs() (refs []string) {
	if refs = append(refs, t.plan.PriceRef); t.meter != nil {
		refs = append(refs, t.meter.Metered.PriceRef)
	}
	for n := range t.extras {
		refs = append(refs, t.extras[n].ref())
	}
	return refs
}

func (t *terms) twice() bool {
	refs := t.refs()
	slices.Sort(refs)
	return len(slices.Compact(refs)) < len(t.refs())
}

// itemForm are the parameters of an item.
type itemForm struct {
	at, id, price string
	quantity      *int64
	deleted       bool
	taxed         []string
}

// items reads the parameters of items, at prefix[0] and so on.
func (f form) items(prefix string) (items []itemForm, refused *refusal) {
	for n := 0; ; n++ {
		i := itemForm{at: prefix + "[" + strconv.Itoa(n) + "]"}
		named := f.under(i.at)
		if len(named) == 0 {
			return items, nil
		}
		for name, value := range named {
			root, _, _ := strings.Cut(name, "]")
			switch root {
			case "id":
				i.id = value
			case "price":
				i.price = value
			case "quantity":
				n, err := strconv.ParseInt(value, 10, 64)
				if i.quantity = &n; err != nil || n < 0 {
					r := invalid(i.at + "[quantity]")
					return nil, &r
				}
			case "deleted":
				i.deleted = value == "true"
			case "tax_rates":
				i.taxed = append(i.taxed, value)
			case "metadata":
			default:
				r := refusal{400, "invalid_request_error", "parameter_unknown", "", i.at + "[" + root + "]"}
				return nil, &r
			}
		}
		items = append(items, i)
	}
}

// sold reads the items of a new subscription, of a checkout page or of a phase. What of is, in a phase, tells the items
// of others from that of the plan; an item that is not named is not among them
// (https://docs.stripe.com/api/subscription_schedules/update#update_subscription_schedule-phases-items).
func (s *Server) sold(f form, prefix string, of *terms) (t terms, refused *refusal) {
	items, refused := f.items(prefix)
	fail := func(r refusal) (terms, *refusal) { return terms{}, &r }
	if refused != nil {
		return t, refused
	}
	planned := false
	for _, i := range items {
		licensed, metered := s.price(i.price), s.meteredPrice(i.price)
		other := slices.IndexFunc(of.extras, func(e extra) bool { return e.ref() == i.price })
		switch {
		case licensed == nil && metered == nil:
			return fail(missing(400, i.at+"[price]"))
		case i.id != "" || i.deleted, metered != nil && i.quantity != nil: // metered items take no quantity
			return fail(invalid(i.at))
		case other >= 0:
			e := of.extras[other]
			if e.taxed, e.quantity = i.taxed, 0; i.quantity != nil {
				e.quantity = *i.quantity
			}
			t.extras = append(t.extras, e)
		case metered != nil && t.meter == nil:
			t.meter = metered
		case licensed != nil && !planned:
			t.plan, t.quantity, t.taxed, planned = *licensed, 1, i.taxed, true
			if i.quantity != nil {
				t.quantity = *i.quantity
			}
		default:
			return fail(invalid(i.at))
		}
	}
	if !planned || t.twice() {
		return fail(invalid(prefix))
	}
	return t, nil
}

// changed reads the items of an update of u. Items that it does not name, and parameters that it does not name of an
// item, stay (https://docs.stripe.com/api/subscriptions/update#update_subscription-items).
func (s *Server) changed(u *subscription, f form, prefix string) (t terms, refused *refusal) {
	items, refused := f.items(prefix)
	fail := func(r refusal) (terms, *refusal) { return terms{}, &r }
	if refused != nil {
		return t, refused
	}
	t = u.terms.clone()
	for _, i := range items {
		licensed, metered := s.price(i.price), s.meteredPrice(i.price)
		other := slices.IndexFunc(t.extras, func(e extra) bool { return e.id == i.id })
		switch {
		case i.price != "" && licensed == nil && metered == nil:
			return fail(missing(400, i.at+"[price]"))
		case metered != nil && i.quantity != nil:
			return fail(invalid(i.at + "[quantity]"))
		case i.id == u.item && !i.deleted && metered == nil:
			if licensed != nil {
				t.plan = *licensed
			}
			if i.quantity != nil {
				t.quantity = *i.quantity
			}
		case i.id == u.meterItem && i.id != "" && i.deleted:
			t.meter = nil
		case i.id == u.meterItem && i.id != "" && licensed == nil:
			if metered != nil {
				t.meter = metered
			}
		case i.id == "" && metered != nil && t.meter == nil: // a second licensed one is never wanted
			t.meter = metered
		case i.id != "" && other >= 0 && i.deleted:
			t.extras = slices.Delete(t.extras, other, other+1)
		case i.id != "" && other >= 0 && i.price == "":
			if i.quantity != nil {
				t.extras[other].quantity = *i.quantity
			}
		default:
			return fail(invalid(i.at))
		}
	}
	if t.twice() {
		return fail(invalid(prefix))
	}
	return t, nil
}

// sell gives u other terms.
func (s *Server) sell(u *subscription, t terms, at time.Time) {
	meter := t.meter
	t.meter = u.meter
	u.terms = t.clone()
	s.measure(u, meter, at)
}

// showItems shows the items of u, in another order each time: Stripe promises none.
func (u *subscription) showItems() []any {
	item := func(id string, price map[string]any, quantity *int64, taxed []string) map[string]any {
		out := map[string]any{
			"id": id, "object": "subscription_item", "price": price, "subscription": u.id, "tax_rates": showRates(taxed),
			"current_period_start": u.start.Unix(), "current_period_end": u.end.Unix(), "metadata": map[string]string{},
		}
		if quantity != nil {
			out["quantity"] = *quantity
		}
		return out
	}
	quantity := u.quantity
	items := []any{item(u.item, showPrice(u.plan), &quantity, u.taxed)}
	if u.meter != nil {
		items = append(items, item(u.meterItem, showMeteredPrice(u.meter), nil, nil))
	}
	for _, e := range u.extras {
		if e.metered {
			items = append(items, item(e.id, showMeteredPrice(&e.price), nil, e.taxed))
		} else {
			items = append(items, item(e.id, showPrice(e.price), &e.quantity, e.taxed))
		}
	}
	if u.turned = !u.turned; u.turned {
		slices.Reverse(items)
	}
	return items
}

func showRates(ids []string) []any {
	out := []any{}
	for _, id := range ids {
		out = append(out, map[string]any{"id": id, "object": "tax_rate"})
	}
	return out
}

// showPhaseItems shows the items of a phase.
func (t *terms) showPhaseItems() []any {
	item := func(ref string, quantity int64, taxed []string) map[string]any {
		out := map[string]any{"price": ref, "metadata": map[string]string{}, "tax_rates": showRates(taxed)}
		if quantity > 0 {
			out["quantity"] = quantity
		}
		return out
	}
	var items []any
	for n := range t.extras {
		e := &t.extras[n]
		items = append(items, item(e.ref(), e.quantity, e.taxed))
	}
	items = append(items, item(t.plan.PriceRef, t.quantity, t.taxed))
	if t.meter != nil {
		items = append(items, item(t.meter.Metered.PriceRef, 0, nil))
	}
	return items
}
