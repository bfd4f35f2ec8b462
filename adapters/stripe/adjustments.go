package stripe

import (
	"context"
	"fmt"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.GatewayAdjustments = (*Gateway)(nil)

// Free implements ports.GatewayAdjustments by one coupon for each duration, which is created when it is first needed
// (https://docs.stripe.com/api/coupons/create#create_coupon-id).
func (g *Gateway) Free(ctx context.Context, months int) (payment.Promotion, error) {
	p := &stripe.CouponCreateParams{
		Params: g.readParams(), ID: stripe.String("atrium_free_forever"), Name: stripe.String("Free of charge"),
		PercentOff: stripe.Float64(100), Duration: stripe.String(string(stripe.CouponDurationForever)),
	}
	if months > 0 {
		p.ID = stripe.String(fmt.Sprintf("atrium_free_%d_months", months))
		p.Duration = stripe.String(string(stripe.CouponDurationRepeating))
		p.DurationInMonths = stripe.Int64(int64(months))
	}
	read := &stripe.CouponRetrieveParams{Params: g.readParams()}
	c, err := g.api.V1Coupons.Retrieve(ctx, *p.ID, read)
	if isMissing(err) {
		if c, err = g.api.V1Coupons.Create(ctx, p); err != nil { // another call may just have created it
			if other, lookupErr := g.api.V1Coupons.Retrieve(ctx, *p.ID, read); lookupErr == nil {
				c, err = other, nil
			}
		}
	}
	if err != nil {
		return payment.Promotion{}, translate(err)
	}
	d := couponDiscount(c)
	if !c.Valid || c.PercentOff != 100 || d.Months != months || (months == 0 && d.Duration != payment.DiscountForever) {
		return payment.Promotion{}, &payment.Rejection{Reason: "someone has changed the coupon " + *p.ID}
	}
	return payment.Promotion{Coupon: *p.ID, Discount: d}, nil
}

// Grant implements ports.GatewayAdjustments by the customer's balance, which is negative for a credit
// (https://docs.stripe.com/billing/customer/balance).
func (g *Gateway) Grant(
	ctx context.Context, key string, c payment.CustomerID, credit payment.Money, reason string,
) error {
	_, err := g.api.V1CustomerBalanceTransactions.Create(ctx, &stripe.CustomerBalanceTransactionCreateParams{
		Params: g.writeParams(key), Customer: stripe.String(string(c)), Amount: stripe.Int64(-credit.Amount),
		Currency: &credit.Currency, Description: &reason,
	})
	return translate(err)
}

// appliedBy returns by what a promotion is applied: its code, or a coupon without one.
func appliedBy(p *payment.Promotion) (code, coupon *string) {
	if p.Coupon != "" {
		return nil, &p.Coupon
	}
	return stripe.String(string(p.ID)), nil
}
