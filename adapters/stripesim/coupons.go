package stripesim

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/payment"
)

// freeCoupon is the prefix of the coupons that can be created: no others are.
const freeCoupon = "atrium_free_"

// couponOf returns what a coupon with an identifier deducts, or nil. All customers share the coupons, and the objects
// of each are apart, so that the identifier says everything.
func couponOf(id string) *payment.Discount {
	text, isFree := strings.CutPrefix(id, freeCoupon)
	d := &payment.Discount{Name: "Free of charge", Percent: 10000, Duration: payment.DiscountForever}
	switch {
	case !isFree:
		return nil
	case text == "forever":
		return d
	}
	months, err := strconv.Atoi(strings.TrimSuffix(text, "_months"))
	if err != nil {
		return nil
	}
	d.Duration, d.Months = payment.DiscountRepeating, months
	return d
}

// readCoupon finds none: a coupon can always be created.
func (s *account) readCoupon(form, *http.Request) any { return missing(404, "coupon") }

// createCoupon is POST /v1/coupons (https://docs.stripe.com/api/coupons/create).
func (s *account) createCoupon(f form, _ *http.Request) any {
	d := couponOf(f.Get("id"))
	switch {
	case d == nil:
		return invalid("id")
	case f.Get("percent_off") != "100" && f.Get("percent_off") != "100.0000":
		return invalid("percent_off")
	case f.Get("duration") != string(d.Duration):
		return invalid("duration")
	case int(f.number("duration_in_months")) != d.Months:
		return invalid("duration_in_months")
	}
	out := showCoupon(d)
	out["id"] = f.Get("id")
	return out
}

// discounted returns the promotion code or the coupon in a list of discounts, and the parameter that has it. Stripe
// takes one of them (https://docs.stripe.com/api/subscriptions/create#create_subscription-discounts).
func (f form) discounted(prefix string) (id, param string) {
	if param = prefix + "[0][coupon]"; f.Get(param) == "" {
		param = prefix + "[0][promotion_code]"
	}
	return f.Get(param), param
}

// grant is POST /v1/customers/{id}/balance_transactions, for credits, which have a negative amount
// (https://docs.stripe.com/billing/customer/balance). A customer without a currency gets the currency of the credit.
func (s *account) grant(f form, r *http.Request) any {
	c, amount, currency := s.customer(r.PathValue("id")), f.number("amount"), f.Get("currency")
	switch {
	case c == nil:
		return missing(404, "customer")
	case amount >= 0:
		return invalid("amount")
	case c.Currency != "" && c.Currency != currency:
		return otherCurrency
	}
	c.Credit, c.Currency = c.Credit-amount, currency
	return map[string]any{
		"id": s.id("cbtxn"), "object": "customer_balance_transaction", "amount": amount, "currency": currency,
		"customer": c.ID, "ending_balance": -c.Credit, "type": "adjustment", "created": s.now().Unix(),
		"description": orNull(f.Get("description")), "metadata": map[string]string{}, "invoice": nil,
		"credit_note": nil, "livemode": false,
	}
}
