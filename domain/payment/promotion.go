package payment

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Errors about promotion codes. Code that handles them must not distinguish why a code is invalid: the response would
// reveal that the code exists.
var (
	ErrPromotionInvalid = &fault.Error{
		Kind: fault.Invalid, Code: "promotion_code_invalid", Detail: "The promotion code cannot be used.",
	}
	ErrPromotionLimit = &fault.Error{
		Kind: fault.RateLimited, Code: "promotion_code_rate_limited",
		Detail: "The workspace has sent too many invalid promotion codes. Wait as long as Retry-After says.",
	}
)

// PromotionID identifies a promotion code at the gateway.
type PromotionID string

// Promotion is a promotion code that a customer can use.
type Promotion struct {
	ID       PromotionID `json:"id"`
	Code     string      `json:"code"`
	Coupon   string      `json:"coupon,omitempty"` // instead of ID and Code: the gateway's coupon itself
	Discount Discount    `json:"discount"`
}

// DiscountDuration determines which invoices a discount reduces.
type DiscountDuration string

// The durations.
const (
	DiscountOnce      DiscountDuration = "once"      // the next invoice
	DiscountRepeating DiscountDuration = "repeating" // those until its end
	DiscountForever   DiscountDuration = "forever"
)

// Discount reduces a subscription's invoices, either by a percentage or by an amount.
type Discount struct {
	ID       string           `json:"id,omitempty"` // at the gateway; empty before it is used
	Name     string           `json:"name,omitempty"`
	Percent  int64            `json:"percent,omitempty"` // hundredths of a percent; 0 if Amount counts
	Amount   Money            `json:"amount,omitzero"`
	Duration DiscountDuration `json:"duration,omitempty"`
	Months   int              `json:"months,omitempty"` // of a repeating discount
	Start    time.Time        `json:"start,omitzero"`
	End      time.Time        `json:"end,omitzero"` // zero if it has none
}

// wholePercent is 100 % hundredths of a percent.
const wholePercent = 100 * 100

// Deduction returns what d deducts from an amount, which is never more than the amount. A percentage is
// rounded half up. It is 0 if d is nil.
func (d *Discount) Deduction(amount int64) int64 {
	switch {
	case d == nil || amount <= 0:
		return 0
	case d.Percent > 0:
		return min((amount*d.Percent+wholePercent/2)/wholePercent, amount)
	}
	return min(d.Amount.Amount, amount)
}

// id returns the ID of d; "" if d is nil.
func (d *Discount) id() string {
	if d == nil {
		return ""
	}
	return d.ID
}

// Ended reports whether d no longer reduces invoices at a time.
func (d *Discount) Ended(now time.Time) bool { return !d.End.IsZero() && !now.Before(d.End) }

// Begin returns d as a discount that begins at a time.
func (d Discount) Begin(id string, now time.Time) *Discount {
	d.ID, d.Start = id, now
	if d.Duration == DiscountRepeating {
		d.End = Month.Advance(now, d.Months, now.Day())
	}
	return &d
}

// deduction returns what p deducts from the first invoice.
func (p *Promotion) deduction(amount int64) int64 {
	if p == nil {
		return 0
	}
	return p.Discount.Deduction(amount)
}

// sameCode reports whether two promotion codes are the same. Case does not count.
func sameCode(a, b string) bool { return strings.EqualFold(a, b) }

// sameDiscount compares two discounts, either of which may be nil.
func sameDiscount(a, b *Discount) bool { return a == b || (a != nil && b != nil && *a == *b) }

// promotionsWithin is the time for which an invalid promotion code counts.
const promotionsWithin = time.Hour

// BeginPromotion counts a promotion code that is looked up. It counts before the look-up, so that
// concurrent requests cannot try more codes than the limit. It returns ErrPromotionLimit with the time
// to wait.
func (c *Customer) BeginPromotion(by identity.Actor, l CardLimits) error {
	if err := c.allow(by); err != nil {
		return err
	}
	n := l.InvalidCodesPerHour
	if n == 0 {
		return nil
	}
	var recent []time.Time
	for _, now := range c.Attempts.Promotions {
		if now.Add(promotionsWithin).After(by.At) {
			recent = append(recent, now)
		}
	}
	if len(recent) >= n {
		return ErrPromotionLimit.WithRetryAfter(recent[len(recent)-n].Add(promotionsWithin).Sub(by.At))
	}
	recent = append(recent, by.At)
	c.Attempts.Promotions = recent
	return nil
}

// EndPromotion removes the attempt that BeginPromotion has counted for by, because the code was valid
// or could not be looked up.
func (c *Customer) EndPromotion(by identity.Actor) {
	for n, now := range c.Attempts.Promotions {
		if now.Equal(by.At) {
			c.Attempts.Promotions = append(append([]time.Time(nil), c.Attempts.Promotions[:n]...),
				c.Attempts.Promotions[n+1:]...)
			return
		}
	}
}

// UsesCode reports whether Subscribe with these arguments needs the promotion of the request's code. It
// does not if it will return the current subscription, or refuse to create another one.
func (c *Customer) UsesCode(key string, w SubscribeRequest) bool {
	if w.Code == "" || c.Pending != nil {
		return false
	}
	s := c.Subscription
	return s == nil || (s.Status == Incomplete && s.Key != key && !c.waitsFor(w))
}

// waitsFor reports whether the subscription is an incomplete one that a request asks for.
func (c *Customer) waitsFor(w SubscribeRequest) bool {
	s := c.Subscription
	return s.Status == Incomplete && s.Plan == w.Plan && s.Quantity == w.Quantity &&
		(w.Method == "" || w.Method == c.DefaultID()) && sameCode(s.Code, w.Code) &&
		(w.Currency == "" || w.Currency == s.Item.Rate.Price.Currency) && s.hasAddOns(w.AddOns)
}

// ChangeUsesCode reports whether ChangeSubscription with these arguments needs the promotion of the
// change's code, and for what. It does not if the subscription has the code and nothing else changes.
func (c *Customer) ChangeUsesCode(ch Changes) (plan PlanID, quantity int, uses bool) {
	s := c.Subscription
	if ch.Code == "" || c.Pending != nil || s == nil {
		return "", 0, false
	}
	plan, quantity = s.Plan, s.Quantity
	if ch.Plan != nil {
		plan = *ch.Plan
	}
	if ch.Quantity != nil {
		quantity = *ch.Quantity
	}
	same := plan == s.Plan && quantity == s.Quantity && s.Pending == nil && !s.Confirming && sameCode(s.Code, ch.Code)
	return plan, quantity, !same
}

// promote sets a change's promotion to s. It returns ErrPending if the code was not looked up, because another
// operation was in progress then.
func (o *Operation) promote(s *Subscription, ch Changes) error {
	if ch.Code != "" && ch.Promotion == nil && (o.Resell || !sameCode(s.Code, ch.Code)) {
		return ErrPending.WithRetryAfter(settling)
	}
	o.Promotion = ch.Promotion
	return nil
}

// note adds p to an event's data.
func (p *Promotion) note(data map[string]any) map[string]any {
	if p != nil && p.ID != "" {
		data["promotion_id"] = p.ID
	}
	return data
}
