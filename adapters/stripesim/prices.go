package stripesim

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/payment"
)

func showPrice(p payment.Plan) map[string]any {
	base := cmp.Or(p.Base, p.Price)
	out := map[string]any{
		"id": p.PriceRef, "object": "price", "active": !p.Unavailable, "currency": base.Currency,
		"unit_amount": base.Amount, "type": "recurring",
		"billing_scheme": "per_unit", "transform_quantity": nil,
		"recurring": map[string]any{"interval": string(p.Interval), "interval_count": p.IntervalCount,
			"usage_type": "licensed"}, "livemode": false, "metadata": map[string]string{},
	}
	if isOnce(&p) {
		out["type"], out["recurring"] = "one_time", nil
	}
	return out
}

func (s *account) price(ref string) *payment.Plan {
	return priceOf(s.plans, ref)
}

func priceOf(plans payment.Plans, ref string) *payment.Plan {
	for i := range plans {
		if plans[i].PriceRef == ref {
			return &plans[i]
		}
	}
	return nil
}

func (s *account) readPrice(f form, r *http.Request) any {
	p := s.price(r.PathValue("id"))
	if metered := s.meteredPrice(r.PathValue("id")); metered != nil {
		return showMeteredPrice(metered)
	}
	if p == nil {
		return missing(404, "price")
	}
	out := showPrice(*p)
	if slices.Contains(f.expanded(), "currency_options") {
		showOptions(out, p)
	}
	return out
}

// setCurrency prices what is sold in a currency; "" keeps the currency of the price
// (https://docs.stripe.com/payments/currencies/localize-prices/manual-currency-prices).
func (t *terms) setCurrency(currency string) error {
	p, err := t.Plan.PricedIn(currency)
	if err != nil {
		return invalid("currency")
	}
	if t.Plan = *p; t.sum() > maxAmount {
		return tooLarge
	}
	return nil
}

// maxAmount is the greatest amount of a charge (https://docs.stripe.com/api/payment_intents/create, amount).
const maxAmount = 99_999_999

// tooLarge refuses a greater amount (https://docs.stripe.com/error-codes#amount-too-large).
var tooLarge = refusal{400, "invalid_request_error", "amount_too_large", "", ""}

// showOptions adds a price's currency options, which are there only if they are expanded.
func showOptions(out map[string]any, p *payment.Plan) {
	base := cmp.Or(p.Base, p.Price)
	options := map[string]any{base.Currency: showOption(base)}
	for _, m := range p.CurrencyOptions {
		options[m.Currency] = showOption(m)
	}
	out["currency_options"] = options
}

func showOption(m payment.Money) map[string]any {
	return map[string]any{"unit_amount": m.Amount, "unit_amount_decimal": nil, "custom_unit_amount": nil,
		"tax_behavior": "unspecified"}
}

// tooDeep reports whether a call expands more than four levels (https://docs.stripe.com/expand#how-it-works).
func tooDeep(r *http.Request) bool {
	for name, values := range r.Form {
		if strings.HasPrefix(name, "expand") &&
			slices.ContainsFunc(values, func(v string) bool { return strings.Count(v, ".") > 3 }) {
			return true
		}
	}
	return false
}
