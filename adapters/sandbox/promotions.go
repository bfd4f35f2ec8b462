package sandbox

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// promotion is a promotion code of the sandbox.
type promotion struct {
	payment.Discount
	unusable  bool // expired, used up, or another customer's
	firstTime bool // only for customers who have not paid an invoice
}

// promotions are the promotion codes of each org's sandbox, in upper case.
var promotions = map[string]promotion{
	"TENOFF": {Discount: payment.Discount{Name: "10 % off", Percent: 1000, Duration: payment.DiscountForever}},
	"HALF3": {Discount: payment.Discount{Name: "Half price for 3 months", Percent: 5000,
		Duration: payment.DiscountRepeating, Months: 3}},
	"FREE1": {Discount: payment.Discount{Name: "First invoice free", Percent: 10000, Duration: payment.DiscountOnce}},
	"FIVEOFF": {Discount: payment.Discount{Name: "5 USD off", Amount: payment.Money{Amount: 500, Currency: "usd"},
		Duration: payment.DiscountOnce}},
	"WELCOME": {Discount: payment.Discount{Name: "Welcome", Percent: 2000, Duration: payment.DiscountForever},
		firstTime: true},
	"EXPIRED": {unusable: true}, "USEDUP": {unusable: true}, "FOREIGN": {unusable: true},
}

// Promotion implements ports.GatewayPromotions.
func (g *Gateway) Promotion(
	ctx context.Context, c payment.CustomerID, code string, sale payment.Sale,
) (payment.Promotion, error) {
	b, err := g.read(ctx, c, "promotion")
	if err != nil {
		return payment.Promotion{}, err
	}
	return b.promotion(code, sale)
}

// promotion returns a code's promotion that the customer can use for a sale.
func (b *account) promotion(code string, sale payment.Sale) (payment.Promotion, error) {
	code = strings.ToUpper(code)
	p, isKnown := promotions[code]
	foreign := p.Amount.Amount > 0 && p.Amount.Currency != sale.Plan.Price.Currency
	if !isKnown || p.unusable || foreign || (p.firstTime && b.hasPaid()) {
		return payment.Promotion{}, payment.ErrPromotionInvalid
	}
	return payment.Promotion{ID: payment.PromotionID("promo_sandbox_" + code), Code: code, Discount: p.Discount}, nil
}

func (b *account) hasPaid() bool {
	return b.HasPaid || slices.ContainsFunc(b.Invoices, func(i *invoice) bool { return i.AmountPaid > 0 })
}

// redeem gives s a promotion's discount, from now on. It keeps its discount if p is nil.
func (s *subscription) redeem(p *payment.Promotion, now time.Time) {
	if p != nil {
		s.Discount, s.Code = p.Discount.Begin("di_"+name(string(s.ID), p.Code, now.String()), now), p.Code
	}
}

// cost returns the price for a period that begins at a time, less the discount.
func (s *subscription) cost(now time.Time) int64 { return s.price() - s.deduction(now) }

// deduction returns what the discount deducts from the price for a period that begins at a time.
func (s *subscription) deduction(now time.Time) int64 {
	if s.Discount == nil || s.Discount.Ended(now) {
		return 0
	}
	return s.Discount.Deduction(s.price())
}

// bought returns the price of the current period: the base of the credit when the plan is changed.
func (s *subscription) bought() int64 { return s.price() - s.Off }

// spend notes what the discount deducts from the current period, and ends a discount for one invoice.
func (s *subscription) spend(now time.Time) {
	if s.Discount != nil && s.Discount.Ended(now) {
		s.Discount = nil
	}
	if s.Off = s.deduction(now); s.Off > 0 {
		s.endOnce()
	}
}

// endOnce ends a discount for one invoice.
func (s *subscription) endOnce() {
	if s.Discount != nil && s.Discount.Duration == payment.DiscountOnce {
		s.Discount = nil
	}
}

// discounted shows on a period's invoice what the discount deducts.
func (b *account) discounted(s *subscription, i *invoice, now time.Time) {
	i.Lines = []payment.InvoiceLine{s.line(s.price())}
	if s.unbilled != nil {
		i.Lines = append(i.Lines, *s.unbilled)
	}
	if reduction := s.deduction(now) + s.usageOff(now); reduction > 0 {
		i.Subtotal, i.Discount, i.Discounts = i.Subtotal+reduction, reduction, []payment.Discount{*s.Discount}
	}
	s.spend(now)
	s.unbilled = nil
}

// billPeriod writes the invoice for a period that begins at a time.
func (b *account) billPeriod(s *subscription, isPaid bool, now time.Time) {
	b.discounted(s, b.bill(s, s.cost(now)+s.usageCost(now), isPaid, now), now)
}

// promote gives s a promotion's discount, nil for none, that can still be used.
func (b *account) promote(s *subscription, p *payment.Promotion, now time.Time) error {
	if p == nil {
		return nil
	}
	if _, err := b.promotion(p.Code, payment.Sale{Plan: s.Plan, Quantity: s.Quantity}); err != nil {
		return err
	}
	s.redeem(p, now)
	return nil
}

// subscribing identifies an order, so that a key cannot be used for another one.
func subscribing(o payment.Order) string {
	name := "subscribe " + string(o.Plan.ID) + " " + itoa(o.Quantity)
	if o.Promotion != nil {
		name += " " + string(o.Promotion.ID)
	}
	return name
}
