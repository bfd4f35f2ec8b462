package stripe

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.GatewayPromotions = (*Gateway)(nil)

// codeOf is a subscription's metadata key for the promotion code that it was bought with.
const codeOf = "atrium_code"

// couponOf is the expansion of a discount's coupon.
const couponOf = "discounts.source.coupon"

// Promotion implements ports.GatewayPromotions. A code can belong to several promotion codes, each of
// another customer.
func (g *Gateway) Promotion(
	ctx context.Context, c payment.CustomerID, code string, sale payment.Sale,
) (payment.Promotion, error) {
	p := &stripe.PromotionCodeListParams{ListParams: g.listParams(), Code: &code, Active: stripe.Bool(true)}
	p.AddExpand("data.promotion.coupon.applies_to")
	for found, err := range g.api.V1PromotionCodes.List(ctx, p).All(ctx) {
		if err != nil {
			return payment.Promotion{}, translate(err)
		}
		usable, err := g.isUsable(ctx, found, c, sale)
		if err != nil {
			return payment.Promotion{}, err
		}
		if usable {
			discount := couponDiscount(found.Promotion.Coupon)
			return payment.Promotion{ID: payment.PromotionID(found.ID), Code: found.Code, Discount: discount}, nil
		}
	}
	return payment.Promotion{}, payment.ErrPromotionInvalid
}

// isUsable reports whether a customer can use a promotion code for a sale.
func (g *Gateway) isUsable(
	ctx context.Context, p *stripe.PromotionCode, c payment.CustomerID, sale payment.Sale,
) (bool, error) {
	if !p.Active || (p.Customer != nil && p.Customer.ID != string(c)) || p.Promotion == nil ||
		p.Promotion.Coupon == nil {
		return false, nil
	}
	coupon := p.Promotion.Coupon
	if !coupon.Valid || (coupon.AmountOff > 0 && string(coupon.Currency) != sale.Plan.Price.Currency) {
		return false, nil
	}
	if r := p.Restrictions; r != nil {
		if r.MinimumAmount > 0 && (string(r.MinimumAmountCurrency) != sale.Plan.Price.Currency ||
			sale.Plan.Price.Amount*int64(sale.Quantity) < r.MinimumAmount) {
			return false, nil
		}
		if hasPaid, err := g.hasPaid(ctx, c, r.FirstTimeTransaction); hasPaid || err != nil {
			return false, err
		}
	}
	if coupon.AppliesTo == nil || len(coupon.AppliesTo.Products) == 0 {
		return true, nil
	}
	price, err := g.api.V1Prices.Retrieve(ctx, sale.Plan.PriceRef, &stripe.PriceRetrieveParams{Params: g.readParams()})
	if err != nil {
		return false, translate(err)
	}
	return price.Product != nil && slices.Contains(coupon.AppliesTo.Products, price.Product.ID), nil
}

// hasPaid reports whether a customer has paid an invoice. It makes no call if that is not of interest.
func (g *Gateway) hasPaid(ctx context.Context, c payment.CustomerID, interesting bool) (bool, error) {
	if !interesting {
		return false, nil
	}
	p := &stripe.InvoiceListParams{
		ListParams: g.listParams(), Customer: stripe.String(string(c)),
		Status: stripe.String(string(stripe.InvoiceStatusPaid)),
	}
	for i, err := range g.api.V1Invoices.List(ctx, p).All(ctx) {
		if err != nil {
			return false, translate(err)
		}
		if i.AmountPaid > 0 {
			return true, nil
		}
	}
	return false, nil
}

// couponDiscount returns what a coupon deducts.
func couponDiscount(c *stripe.Coupon) payment.Discount {
	d := payment.Discount{
		Name: c.Name, Duration: payment.DiscountDuration(c.Duration), Months: int(c.DurationInMonths),
		Percent: int64(math.Round(c.PercentOff * 100)),
	}
	if c.AmountOff > 0 {
		d.Amount = payment.Money{Amount: c.AmountOff, Currency: string(c.Currency)}
	}
	return d
}

// mirrorDiscount returns a discount as it is mirrored.
func mirrorDiscount(d *stripe.Discount) *payment.Discount {
	var out payment.Discount
	if d.Source != nil && d.Source.Coupon != nil {
		out = couponDiscount(d.Source.Coupon)
	}
	out.ID, out.Start, out.End = d.ID, fromSeconds(d.Start), fromSeconds(d.End)
	return &out
}

// saleFailure is failure for a sale with a promotion code, nil for none. Stripe refuses a sale whose code has been
// used up or does not apply. Some of these errors have neither a code nor a parameter.
func saleFailure(p *payment.Promotion, err error) error {
	var failure *stripe.Error
	if p == nil || !errors.As(err, &failure) || failure.HTTPStatusCode != http.StatusBadRequest ||
		failure.Type != stripe.ErrorTypeInvalidRequest || configurationFault(failure) != nil {
		return translate(err)
	}
	code, param := string(failure.Code), failure.Param
	if strings.Contains(param, "discounts") || strings.Contains(code, "coupon") || strings.Contains(code,
		"promotion") ||
		(code == "" && param == "") {
		return payment.ErrPromotionInvalid
	}
	return translate(err)
}
