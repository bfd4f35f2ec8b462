package stripesim

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// promotion is a promotion code, with its coupon (https://docs.stripe.com/billing/subscriptions/coupons).
type promotion struct {
	payment.Discount
	code           string
	customer       string    // who can use it; empty: everyone
	expires        time.Time // zero: never
	maxRedemptions int       // 0: no limit
	redeemed       int       // before
	firstTime      bool      // only for customers who have not paid an invoice
}

func (p *promotion) id() string { return "promo_sandbox_" + p.code }

// discount is a redeemed promotion code or coupon.
type discount struct {
	payment.Discount
	Promotion string // its identifier
}

// promotions are the promotion codes of each account.
var promotions = []*promotion{
	{code: "TENOFF", Discount: tenOff},
	{code: "HALF3", Discount: payment.Discount{Name: "Half price for 3 months", Percent: 5000,
		Duration: payment.DiscountRepeating, Months: 3}},
	{code: "FREE1", Discount: payment.Discount{Name: "First invoice free", Percent: 10000,
		Duration: payment.DiscountOnce}},
	{code: "FIVEOFF", Discount: payment.Discount{Name: "5 USD off",
		Amount: payment.Money{Amount: 500, Currency: "usd"}, Duration: payment.DiscountOnce}},
	{code: "WELCOME", Discount: payment.Discount{Name: "Welcome", Percent: 2000, Duration: payment.DiscountForever},
		firstTime: true},
	{code: "EXPIRED", Discount: tenOff, expires: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
	{code: "USEDUP", Discount: tenOff, maxRedemptions: 1, redeemed: 1},
	{code: "FOREIGN", Discount: tenOff, customer: "cus_another"},
}

var tenOff = payment.Discount{Name: "10 % off", Percent: 1000, Duration: payment.DiscountForever}

// promotionOf returns the promotion code, or the coupon, with an identifier, or nil.
func promotionOf(id string) *promotion {
	if d := couponOf(id); d != nil {
		return &promotion{Discount: *d}
	}
	return find(promotions, func(p *promotion) bool { return p.id() == id })
}

// begin returns a promotion code's discount when it is redeemed at a time.
func begin(promotion, id string, moment time.Time) *discount {
	return &discount{*promotionOf(promotion).Discount.Begin(id, moment), promotion}
}

func (p *promotion) active(now time.Time) bool {
	return (p.expires.IsZero() || now.Before(p.expires)) && (p.maxRedemptions == 0 || p.redeemed < p.maxRedemptions)
}

// showCoupon is a discount as Stripe's coupon object: either a percentage or an amount.
func showCoupon(d *payment.Discount) map[string]any {
	out := map[string]any{
		"id": "co_" + string(d.Duration), "object": "coupon", "name": d.Name, "duration": string(d.Duration),
		"valid":              true,
		"duration_in_months": nil, "percent_off": nil, "amount_off": nil, "currency": nil, "livemode": false,
		"applies_to": map[string]any{"products": []string{}},
	}
	if d.Months > 0 {
		out["duration_in_months"] = d.Months
	}
	if d.Percent > 0 {
		out["percent_off"] = float64(d.Percent) / 100
	} else {
		out["amount_off"], out["currency"] = d.Amount.Amount, d.Amount.Currency
	}
	return out
}

func (s *account) showPromotion(p *promotion) map[string]any {
	out := map[string]any{
		"id": p.id(), "object": "promotion_code", "code": p.code, "active": p.active(s.now()),
		"customer":   orNull(p.customer),
		"expires_at": unix(p.expires), "max_redemptions": nil, "times_redeemed": p.redeemed, "livemode": false,
		"promotion": map[string]any{"type": "coupon", "coupon": showCoupon(&p.Discount)},
		"restrictions": map[string]any{
			"first_time_transaction": p.firstTime, "minimum_amount": nil, "minimum_amount_currency": nil,
		},
	}
	if p.maxRedemptions > 0 {
		out["max_redemptions"] = p.maxRedemptions
	}
	return out
}

// listPromotions shows the promotion codes with a code, whose case does not count.
func (s *account) listPromotions(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(promotions, func(p *promotion) bool {
		return strings.EqualFold(p.code, f.Get("code")) && (f.Get("active") != "true" || p.active(s.now()))
	}), s.showPromotion)
}

// redeem returns the discount of a promotion code for a customer, or a refusal.
func (s *account) redeem(c *customer, id, param string) (*discount, error) {
	p, now := promotionOf(id), s.now()
	if p == nil {
		return nil, missing(400, param)
	}
	paid := len(s.charges) > 0
	if !p.active(now) || (p.customer != "" && p.customer != c.ID) || (p.firstTime && paid) {
		return nil, invalid("") // "This promotion code cannot be redeemed because …"
	}
	return begin(id, s.id("di"), now), nil
}

func (d *discount) show(u *subscription) map[string]any {
	out := map[string]any{
		"id": d.ID, "object": "discount", "start": d.Start.Unix(), "end": unix(d.End),
		"customer": u.Customer, "subscription": u.ID, "source": map[string]any{"type": "coupon",
			"coupon": showCoupon(&d.Discount)},
		"promotion_code": d.Promotion,
	}
	if couponOf(d.Promotion) != nil {
		out["promotion_code"] = nil
	}
	return out
}

// showDiscounts shows discounts, which are ids unless they are expanded.
func showDiscounts(all []*discount, u *subscription, expanded []string) []any {
	out := []any{}
	for _, d := range all {
		if slices.Contains(expanded, "discounts.source.coupon") {
			out = append(out, d.show(u))
		} else {
			out = append(out, d.ID)
		}
	}
	return out
}

// discounts returns the discount of u, if it has one.
func (u *subscription) discounts() []*discount {
	if u.Discount == nil {
		return nil
	}
	return []*discount{u.Discount}
}

// deduction returns what the discount of u deducts from the price of a period that begins at a time.
func (u *subscription) deduction(moment time.Time) int64 {
	if u.Discount == nil || u.Discount.Ended(moment) {
		return 0
	}
	return u.rounded(u.Discount.Deduction(u.amount()))
}

// cost returns a period's price, less the discount; the period begins at a time.
func (u *subscription) cost(moment time.Time) int64 { return u.amount() - u.deduction(moment) }

// bought returns what the current period cost. Credits are based on it
// (https://docs.stripe.com/billing/subscriptions/billing-mode).
func (u *subscription) bought() int64 { return u.amount() - u.Deducted }

// spend notes what the discount of u deducts from the current period, and ends a discount for one invoice.
func (u *subscription) spend(moment time.Time) {
	if u.Discount != nil && u.Discount.Ended(moment) {
		u.Discount = nil
	}
	if u.Deducted = u.deduction(moment); u.Deducted > 0 && u.Discount.Duration == payment.DiscountOnce {
		u.Discount = nil
	}
}

// billPeriod creates an invoice for the period of u that begins at a time, and charges it.
func (s *account) billPeriod(u *subscription, a attempt, moment time.Time) *invoice {
	deduction, discounts := u.deduction(moment), u.discounts()
	usage, usageOff := u.usageCost(moment)
	i := s.bill(u, u.amount()-deduction+usage, a)
	i.discounted(deduction+usageOff, discounts)
	i.Lines = u.periodLines()
	u.spend(moment)
	return i
}

func (i *invoice) discounted(deduction int64, discounts []*discount) {
	if deduction > 0 {
		i.Off, i.Discounts = deduction, discounts
	}
}

// showDiscounted adds to an invoice what was deducted.
func (i *invoice) showDiscounted(out map[string]any, expanded []string) {
	u := &subscription{ID: i.Subscription, Customer: i.Customer}
	out["subtotal"], out["discounts"], out["total_discount_amounts"] = i.Total-i.Tax+i.Off, showDiscounts(i.Discounts,
		u, expanded), []any{}
	if i.Off > 0 {
		out["total_discount_amounts"] = []any{map[string]any{"amount": i.Off, "discount": i.Discounts[0].ID}}
	}
}

// phaseDiscount reads the discount of a phase of u's schedule: a promotion code, or the discount that u has.
func (s *account) phaseDiscount(p *phase, u *subscription, f form, moment string) error {
	if id, param := f.discounted(moment + "[discounts]"); id != "" {
		choice, refused := s.redeem(s.customer(u.Customer), id, param)
		if refused == nil {
			p.Promotion = choice.Promotion
		}
		return refused
	}
	id := f.Get(moment + "[discounts][0][discount]")
	if id == "" {
		return nil
	}
	if u.Discount == nil || u.Discount.ID != id {
		return missing(400, moment+"[discounts][0][discount]")
	}
	p.Discount = u.Discount
	return nil
}

func (p *phase) showDiscounts() []any {
	one := map[string]any{"coupon": nil, "discount": nil, "promotion_code": nil}
	switch {
	case couponOf(p.Promotion) != nil:
		one["coupon"] = p.Promotion
	case p.Promotion != "":
		one["promotion_code"] = p.Promotion
	case p.Discount != nil:
		one["discount"] = p.Discount.ID
	default:
		return []any{}
	}
	return []any{one}
}
