package stripe

import (
	"context"
	"errors"
	"strconv"
	"strings"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

var _ ports.GatewayMeters = (*Gateway)(nil)

// ReportUsage implements ports.GatewayMeters. Stripe refuses a known identifier
// (https://docs.stripe.com/api/billing/meter-event/create); in that case the event has been counted. An additional
// idempotency key could store a failure.
func (g *Gateway) ReportUsage(ctx context.Context, e payment.UsageEvent) error {
	name, err := g.meterEvent(ctx, e.PriceRef)
	if err != nil {
		return err
	}
	_, err = g.api.V1BillingMeterEvents.Create(ctx, &stripe.BillingMeterEventCreateParams{
		Params: g.readParams(), EventName: &name, Identifier: stripe.String(e.ID), Timestamp: stripe.Int64(e.At.Unix()),
		Payload: map[string]string{
			"stripe_customer_id": string(e.Customer), "value": strconv.FormatInt(e.Quantity, 10),
		},
	})
	if alreadyCounted(err) {
		return nil
	}
	return translate(err)
}

// alreadyCounted reports whether Stripe refused an event because it has counted one with the same identifier. The
// error has no code.
func alreadyCounted(err error) bool {
	var failure *stripe.Error
	return errors.As(err, &failure) && failure.Type == stripe.ErrorTypeInvalidRequest &&
		strings.Contains(failure.Msg, "already exists with identifier")
}

// meterEvent returns the name of a metered price's events. A price and its meter cannot change, so it is read once.
func (g *Gateway) meterEvent(ctx context.Context, price string) (string, error) {
	if value, isKnown := g.meters.Load(price); isKnown {
		name, _ := value.(string)
		return name, nil
	}
	p, err := g.api.V1Prices.Retrieve(ctx, price, &stripe.PriceRetrieveParams{Params: g.readParams()})
	if err != nil {
		return "", translate(err)
	}
	if p.Recurring == nil || p.Recurring.Meter == "" {
		return "", &payment.Rejection{Reason: "the price has no meter"}
	}
	m, err := g.api.V1BillingMeters.Retrieve(ctx, p.Recurring.Meter,
		&stripe.BillingMeterRetrieveParams{Params: g.readParams()})
	if err != nil {
		return "", translate(err)
	}
	g.meters.Store(price, m.EventName)
	return m.EventName, nil
}

// sellsMetered reports whether Stripe sells a plan's metered price: an amount per unit of a meter's sum. It is true if
// the plan has none.
func (g *Gateway) sellsMetered(ctx context.Context, p *payment.Plan) (bool, error) {
	m := p.Metered
	if m == nil {
		return true, nil
	}
	price, err := g.api.V1Prices.Retrieve(ctx, m.PriceRef, &stripe.PriceRetrieveParams{Params: g.readParams()})
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, translate(err)
	}
	r := price.Recurring
	return price.Active && r != nil && r.UsageType == stripe.PriceRecurringUsageTypeMetered && r.Meter != "" &&
		costs(price, m.Amount) && string(price.Currency) == p.Price.Currency &&
		string(r.Interval) == string(p.Interval) && int(r.IntervalCount) == p.IntervalCount &&
		price.BillingScheme != stripe.PriceBillingSchemeTiered && price.TransformQuantity == nil, nil
}

func isMetered(price *stripe.Price) bool {
	return price != nil && price.Recurring != nil && price.Recurring.UsageType == stripe.PriceRecurringUsageTypeMetered
}

// meteredItem returns the subscription item that is billed by usage; nil if it has none.
func meteredItem(s *stripe.Subscription) *stripe.SubscriptionItem {
	if s.Items == nil {
		return nil
	}
	for _, i := range s.Items.Data {
		if isMetered(i.Price) {
			return i
		}
	}
	return nil
}

// orderItems returns a new subscription's items. Stripe accepts no quantity for a metered price.
func orderItems(o payment.Order) []*stripe.SubscriptionCreateItemParams {
	price := o.Plan.PriceRef
	items := []*stripe.SubscriptionCreateItemParams{{Price: &price, Quantity: stripe.Int64(int64(o.Quantity))}}
	for _, a := range o.AddOns {
		items = append(items, &stripe.SubscriptionCreateItemParams{
			Price: stripe.String(a.Ref), Quantity: stripe.Int64(int64(a.Quantity)),
		})
	}
	if m := o.Plan.Metered; m != nil {
		items = append(items, &stripe.SubscriptionCreateItemParams{Price: stripe.String(m.PriceRef)})
	}
	return items
}

// mirrorLines returns an invoice's first lines: Stripe includes ten.
func mirrorLines(i *stripe.Invoice) (lines []payment.InvoiceLine, hasMore bool) {
	if i.Lines == nil {
		return nil, false
	}
	for _, l := range i.Lines.Data {
		line := payment.InvoiceLine{Description: l.Description, Quantity: l.Quantity, Amount: l.Amount}
		if l.Period != nil {
			line.Start, line.End = fromSeconds(l.Period.Start), fromSeconds(l.Period.End)
		}
		lines = append(lines, line)
	}
	return lines, i.Lines.HasMore
}
