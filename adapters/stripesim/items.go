package stripesim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// terms are what a subscription sells, or a phase of its schedule.
type terms struct {
	Plan     payment.Plan
	Quantity int64
	Taxed    []string      // tax rates of the plan's item
	Meter    *payment.Plan // whose metered price it has, too; nil if it has none
	Extras   []extra       // the items that Atrium did not make
	Rates    []string      // default_tax_rates
}

// extra is an item that someone else has added.
type extra struct {
	ID       string
	Price    payment.Plan // whose price it has, or whose metered price
	Metered  bool
	Quantity int64
	Taxed    []string
}

func (e *extra) ref() string {
	if e.Metered {
		return e.Price.Metered.PriceRef
	}
	return e.Price.PriceRef
}

// clone returns t with slices of its own.
func (t terms) clone() terms {
	t.Extras, t.Taxed, t.Rates = slices.Clone(t.Extras), slices.Clone(t.Taxed), slices.Clone(t.Rates)
	return t
}

// sum returns what a period costs without usage.
func (t *terms) sum() int64 {
	sum := t.Plan.Price.Amount * t.Quantity
	for _, e := range t.Extras {
		if !e.Metered {
			sum += e.Price.Price.Amount * e.Quantity
		}
	}
	return sum
}

// refs returns the prices of all items. One price cannot be twice in a subscription
// (https://docs.stripe.com/api/subscription_items/create, "a subscription can have up to 20 items", each of another
// price: https://docs.stripe.com/billing/subscriptions/multiple-products).
func (t *terms) refs() (refs []string) {
	if refs = append(refs, t.Plan.PriceRef); t.Meter != nil {
		refs = append(refs, t.Meter.Metered.PriceRef)
	}
	for n := range t.Extras {
		refs = append(refs, t.Extras[n].ref())
	}
	return refs
}

func (t *terms) twice() bool {
	refs := t.refs()
	slices.Sort(refs)
	return len(slices.Compact(refs)) < len(t.refs())
}

// itemForm are an item's parameters.
type itemForm struct {
	at, id, price string
	quantity      *int64
	deleted       bool
	taxed         []string
}

// count returns the quantity of i, or another one if none was sent.
func (i *itemForm) count(other int64) int64 {
	if i.quantity == nil {
		return other
	}
	return *i.quantity
}

// items reads the parameters of items, at prefix[0] and so on.
func (f form) items(prefix string) (items []itemForm, refused error) {
	for n := 0; ; n++ {
		i := itemForm{at: prefix + "[" + strconv.Itoa(n) + "]"}
		named := f.members(i.at)
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
					return nil, invalid(i.at + "[quantity]")
				}
			case "deleted":
				i.deleted = value == "true"
			case "tax_rates":
				if value != "" { // which removes them
					i.taxed = append(i.taxed, value)
				}
			case "metadata":
			default:
				return nil, refusal{400, "invalid_request_error", "parameter_unknown", "", i.at + "[" + root + "]"}
			}
		}
		items = append(items, i)
	}
}

// sold reads the items of a new subscription, of a checkout page or of a phase. In a phase, base tells the items of
// others from the plan's; an item that is not named is not among them
// (https://docs.stripe.com/api/subscription_schedules/update#update_subscription_schedule-phases-items).
func (s *account) sold(f form, prefix string, base *terms) (t terms, refused error) {
	items, refused := f.items(prefix)
	if refused == nil && s.onceIn(items) {
		refused = invalid(prefix)
	}
	if refused != nil {
		return t, refused
	}
	planned := false
	for _, i := range items {
		licensed, metered := s.price(i.price), s.meteredPrice(i.price)
		other := slices.IndexFunc(base.Extras, func(e extra) bool { return e.ref() == i.price })
		switch {
		case licensed == nil && metered == nil:
			return t, missing(400, i.at+"[price]")
		case i.id != "" || i.deleted, metered != nil && i.quantity != nil: // metered items take no quantity
			return t, invalid(i.at)
		case other >= 0:
			e := base.Extras[other]
			e.Taxed, e.Quantity = i.taxed, i.count(0)
			t.Extras = append(t.Extras, e)
		case metered != nil && t.Meter == nil:
			t.Meter = metered
		case licensed != nil && !planned:
			t.Plan, t.Quantity, t.Taxed, planned = *licensed, i.count(1), i.taxed, true
		case licensed != nil && base.Plan.PriceRef == "": // the first item of something new is the plan's
			t.Extras = append(t.Extras, extra{s.id("si"), *licensed, false, i.count(1), i.taxed})
		default:
			return t, invalid(i.at)
		}
	}
	if !planned || t.twice() {
		return t, invalid(prefix)
	}
	return t, t.setCurrency(base.Plan.Price.Currency)
}

// changed reads the items of an update of u. Items that it does not name, and parameters that it does not name of an
// item, stay (https://docs.stripe.com/api/subscriptions/update#update_subscription-items).
func (s *account) changed(u *subscription, f form, prefix string) (t terms, refused error) {
	items, refused := f.items(prefix)
	if refused == nil && s.onceIn(items) {
		refused = invalid(prefix)
	}
	if refused != nil {
		return t, refused
	}
	t = u.terms.clone()
	for _, i := range items {
		licensed, metered := s.price(i.price), s.meteredPrice(i.price)
		other := slices.IndexFunc(t.Extras, func(e extra) bool { return e.ID == i.id })
		switch {
		case i.price != "" && licensed == nil && metered == nil:
			return t, missing(400, i.at+"[price]")
		case metered != nil && i.quantity != nil:
			return t, invalid(i.at + "[quantity]")
		case i.id == u.Item && !i.deleted && metered == nil:
			if licensed != nil {
				t.Plan = *licensed
			}
			t.Quantity = i.count(t.Quantity)
		case i.id == u.MeterItem && i.id != "" && i.deleted:
			t.Meter = nil
		case i.id == u.MeterItem && i.id != "" && licensed == nil:
			if metered != nil {
				t.Meter = metered
			}
		case i.id == "" && metered != nil && t.Meter == nil:
			t.Meter = metered
		case i.id == "" && licensed != nil && !i.deleted: // of another price than all others, or it is refused below
			t.Extras = append(t.Extras, extra{s.id("si"), *licensed, false, i.count(1), i.taxed})
		case i.id != "" && other >= 0 && i.deleted:
			t.Extras = slices.Delete(t.Extras, other, other+1)
		case i.id != "" && other >= 0 && i.price == "":
			t.Extras[other].Quantity = i.count(t.Extras[other].Quantity)
		default:
			return t, invalid(i.at)
		}
	}
	if t.twice() {
		return t, invalid(prefix)
	}
	return t, t.setCurrency(u.Plan.Price.Currency)
}

// sell gives u other terms.
func (s *account) sell(u *subscription, t terms, moment time.Time) {
	meter := t.Meter
	t.Meter = u.Meter
	u.terms = t.clone()
	s.measure(u, meter, moment)
}

// showItems shows the items of u, in another order each time: Stripe promises none.
func (u *subscription) showItems(expanded []string) []any {
	item := func(id string, price map[string]any, quantity *int64, taxed []string) map[string]any {
		out := map[string]any{
			"id": id, "object": "subscription_item", "price": price, "subscription": u.ID,
			"tax_rates":            showRates(taxed),
			"current_period_start": u.Start.Unix(), "current_period_end": u.End.Unix(), "metadata": map[string]string{},
		}
		if quantity != nil {
			out["quantity"] = *quantity
		}
		return out
	}
	quantity := u.Quantity
	price := showPrice(u.Plan)
	if slices.Contains(expanded, "items.data.price.currency_options") {
		showOptions(price, &u.Plan)
	}
	items := []any{item(u.Item, price, &quantity, u.Taxed)}
	if u.Meter != nil {
		items = append(items, item(u.MeterItem, showMeteredPrice(u.Meter), nil, nil))
	}
	for _, e := range u.Extras {
		if e.Metered {
			items = append(items, item(e.ID, showMeteredPrice(&e.Price), nil, e.Taxed))
		} else {
			items = append(items, item(e.ID, showPrice(e.Price), &e.Quantity, e.Taxed))
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

// showPhaseItems shows a phase's items.
func (t *terms) showPhaseItems() []any {
	item := func(ref string, quantity int64, taxed []string) map[string]any {
		out := map[string]any{"price": ref, "metadata": map[string]string{}, "tax_rates": showRates(taxed)}
		if quantity > 0 {
			out["quantity"] = quantity
		}
		return out
	}
	var items []any
	for n := range t.Extras {
		e := &t.Extras[n]
		items = append(items, item(e.ref(), e.Quantity, e.Taxed))
	}
	items = append(items, item(t.Plan.PriceRef, t.Quantity, t.Taxed))
	if t.Meter != nil {
		items = append(items, item(t.Meter.Metered.PriceRef, 0, nil))
	}
	return items
}
