package stripeapi

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// PromotionCode is a promotion code of an account, with its coupon
// (https://docs.stripe.com/billing/subscriptions/coupons).
type PromotionCode struct {
	Code           string
	Discount       payment.Discount
	Customer       string    // who can use it; empty: everyone
	Expires        time.Time // zero: never
	MaxRedemptions int       // 0: no limit
	FirstTime      bool      // only for customers who have not paid an invoice
	Minimum        int64     // the smallest amount of a sale, in usd; 0: none

	id       string
	redeemed int
}

// discount is a redeemed promotion code.
type discount struct {
	payment.Discount
	promotion *PromotionCode
}

// Promote adds a promotion code.
func (s *Server) Promote(p PromotionCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.id = s.id("promo")
	s.promotions = append(s.promotions, &p)
}

// PromoteAll adds the promotion codes that the sandbox gateway has, too.
func (s *Server) PromoteAll() {
	percent := func(n int64, d payment.DiscountDuration) payment.Discount {
		return payment.Discount{Name: "A discount", Percent: n, Duration: d}
	}
	repeating := percent(5000, payment.DiscountRepeating)
	repeating.Months = 3
	fiveOff := payment.Discount{
		Name: "5 USD off", Amount: payment.Money{Amount: 500, Currency: "usd"}, Duration: payment.DiscountOnce,
	}
	forever := percent(1000, payment.DiscountForever)
	for _, p := range []PromotionCode{
		{Code: "TENOFF", Discount: forever},
		{Code: "HALF3", Discount: repeating},
		{Code: "FREE1", Discount: percent(10000, payment.DiscountOnce)},
		{Code: "FIVEOFF", Discount: fiveOff},
		{Code: "WELCOME", Discount: percent(2000, payment.DiscountForever), FirstTime: true},
		{Code: "EXPIRED", Discount: forever, Expires: time.Now().Add(-time.Hour)},
		{Code: "USEDUP", Discount: forever, MaxRedemptions: 1, redeemed: 1},
		{Code: "FOREIGN", Discount: forever, Customer: "cus_another"},
	} {
		s.Promote(p)
	}
}

func (p *PromotionCode) active(now time.Time) bool {
	return (p.Expires.IsZero() || now.Before(p.Expires)) && (p.MaxRedemptions == 0 || p.redeemed < p.MaxRedemptions)
}

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

func (s *Server) showPromotion(p *PromotionCode) map[string]any {
	out := map[string]any{
		"id": p.id, "object": "promotion_code", "code": p.Code, "active": p.active(s.now()),
		"customer":   orNull(p.Customer),
		"expires_at": unix(p.Expires), "max_redemptions": nil, "times_redeemed": p.redeemed, "livemode": false,
		"promotion": map[string]any{"type": "coupon", "coupon": showCoupon(&p.Discount)},
		"restrictions": map[string]any{
			"first_time_transaction": p.FirstTime, "minimum_amount": nil, "minimum_amount_currency": nil,
		},
	}
	if p.MaxRedemptions > 0 {
		out["max_redemptions"] = p.MaxRedemptions
	}
	if p.Minimum > 0 {
		out["restrictions"] = map[string]any{
			"first_time_transaction": p.FirstTime, "minimum_amount": p.Minimum, "minimum_amount_currency": "usd",
		}
	}
	return out
}

// listPromotions shows the promotion codes with a code, whose case does not count.
func (s *Server) listPromotions(f form, r *http.Request) any {
	return list(f, r.URL.Path, newest(s.promotions, func(p *PromotionCode) bool {
		return strings.EqualFold(p.Code, f.Get("code")) && (f.Get("active") != "true" || p.active(s.now()))
	}), s.showPromotion)
}

// redeem returns the discount of a promotion code for a customer, or a refusal. It does not count yet.
func (s *Server) redeem(c *customer, id, param string) (*discount, *refusal) {
	n := slices.IndexFunc(s.promotions, func(p *PromotionCode) bool { return p.id == id })
	if n < 0 {
		r := missing(400, param)
		return nil, &r
	}
	p, now := s.promotions[n], s.now()
	paid := slices.ContainsFunc(s.charges, func(paid Charge) bool { return paid.Customer == c.id })
	if !p.active(now) || (p.Customer != "" && p.Customer != c.id) || (p.FirstTime && paid) {
		return nil, &refusal{400, "invalid_request_error", "", "",
			""} // "This promotion code cannot be redeemed because …"
	}
	return &discount{*p.Discount.Begin(s.id("di"), now), p}, nil
}

func (d *discount) show(u *subscription) map[string]any {
	return map[string]any{
		"id": d.ID, "object": "discount", "start": d.Start.Unix(), "end": unix(d.End), "promotion_code": d.promotion.id,
		"customer": u.customer, "subscription": u.id, "source": map[string]any{"type": "coupon",
			"coupon": showCoupon(&d.Discount)},
	}
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
	if u.discount == nil {
		return nil
	}
	return []*discount{u.discount}
}

// give gives u a redeemed discount.
func (u *subscription) give(d *discount) {
	if d != nil {
		d.promotion.redeemed++
		u.discount = d
	}
}

// off returns what the discount of u deducts from the price of a period that begins at a time.
func (u *subscription) off(at time.Time) int64 {
	if u.discount == nil || u.discount.Ended(at) {
		return 0
	}
	return u.discount.Deduction(u.amount())
}

// cost returns the price of a period that begins at a time, less the discount.
func (u *subscription) cost(at time.Time) int64 { return u.amount() - u.off(at) }

// bought returns what the current period cost. Credits are based on it
// (https://docs.stripe.com/billing/subscriptions/billing-mode).
func (u *subscription) bought() int64 { return u.amount() - u.deducted }

// spend notes what the discount of u deducts from the current period, and ends a discount for one invoice.
func (u *subscription) spend(at time.Time) {
	if u.discount != nil && u.discount.Ended(at) {
		u.discount = nil
	}
	if u.deducted = u.off(at); u.deducted > 0 && u.discount.Duration == payment.DiscountOnce {
		u.discount = nil
	}
}

// billPeriod creates an invoice for the period of u that begins at a time, and charges it.
func (s *Server) billPeriod(u *subscription, present bool, at time.Time) *invoice {
	off, discounts := u.off(at), u.discounts()
	used, usageOff := u.usageCost(at)
	i := s.bill(u, u.amount()-off+used, present)
	i.discounted(off+usageOff, discounts)
	if i.lines = []line{u.line(u.amount())}; u.unbilled != nil {
		i.lines, u.unbilled = append(i.lines, *u.unbilled), nil
	}
	u.spend(at)
	return i
}

func (i *invoice) discounted(off int64, discounts []*discount) {
	if off > 0 {
		i.off, i.discounts = off, discounts
	}
}

// showDiscounted adds to an invoice what was deducted.
func (i *invoice) showDiscounted(out map[string]any, expanded []string) {
	u := &subscription{id: i.subscription, customer: i.customer}
	out["subtotal"], out["discounts"], out["total_discount_amounts"] = i.total-i.tax+i.off, showDiscounts(i.discounts,
		u, expanded), []any{}
	if i.off > 0 {
		out["total_discount_amounts"] = []any{map[string]any{"amount": i.off, "discount": i.discounts[0].ID}}
	}
}

// phaseDiscount reads the discount of a phase of u's schedule: a promotion code, or the discount that u has.
func (s *Server) phaseDiscount(p *phase, u *subscription, f form, at string) *refusal {
	if id := f.Get(at + "[discounts][0][promotion_code]"); id != "" {
		given, refused := s.redeem(s.customer(u.customer), id, at+"[discounts][0][promotion_code]")
		if refused == nil {
			p.promotion = given.promotion
		}
		return refused
	}
	id := f.Get(at + "[discounts][0][discount]")
	if id == "" {
		return nil
	}
	if u.discount == nil || u.discount.ID != id {
		r := missing(400, at+"[discounts][0][discount]")
		return &r
	}
	p.discount = u.discount
	return nil
}

func (p *phase) showDiscounts() []any {
	one := map[string]any{"coupon": nil, "discount": nil, "promotion_code": nil}
	switch {
	case p.promotion != nil:
		one["promotion_code"] = p.promotion.id
	case p.discount != nil:
		one["discount"] = p.discount.ID
	default:
		return []any{}
	}
	return []any{one}
}
