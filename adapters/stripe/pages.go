package stripe

import (
	"context"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// Portal implements ports.GatewayPages: Stripe's customer portal
// (https://docs.stripe.com/api/customer_portal/sessions/create).
func (g *Gateway) Portal(ctx context.Context, c payment.CustomerID, returnURL string) (string, error) {
	s, err := g.api.V1BillingPortalSessions.Create(ctx, &stripe.BillingPortalSessionCreateParams{
		Params: g.readParams(), Customer: stripe.String(string(c)), ReturnURL: &returnURL,
	})
	if err != nil {
		return "", translate(err)
	}
	return s.URL, nil
}

// Checkout implements ports.GatewayPages: Stripe's checkout page
// (https://docs.stripe.com/api/checkout/sessions/create), which is open for a day.
func (g *Gateway) Checkout(
	ctx context.Context, key string, c payment.CustomerID, o payment.CheckoutOrder,
) (string, error) {
	if o.Plan.IsPack() {
		return g.checkoutPacks(ctx, key, c, o)
	}
	p := g.checkoutPage(key, c, o)
	p.Mode = stripe.String(string(stripe.CheckoutSessionModeSubscription))
	p.SubscriptionData = &stripe.CheckoutSessionCreateSubscriptionDataParams{
		Metadata: map[string]string{madeBy: key, planOf: string(o.Plan.ID), planRefOf: o.Plan.PriceRef},
	}
	if o.Plan.Base != (payment.Money{}) {
		p.Currency = &o.Plan.Price.Currency
	}
	for _, a := range o.AddOns {
		p.LineItems = append(p.LineItems, &stripe.CheckoutSessionCreateLineItemParams{
			Price: &a.Ref, Quantity: stripe.Int64(int64(a.Quantity)),
		})
	}
	if m := o.Plan.Metered; m != nil {
		p.LineItems = append(p.LineItems, &stripe.CheckoutSessionCreateLineItemParams{Price: &m.PriceRef})
	}
	if o.TrialDays > 0 {
		p.SubscriptionData.TrialPeriodDays = stripe.Int64(int64(o.TrialDays))
	}
	if o.IsMethodOptional {
		p.PaymentMethodCollection = stripe.String("if_required")
	}
	if o.TrialEnd != "" {
		p.SubscriptionData.TrialSettings = &stripe.CheckoutSessionCreateSubscriptionDataTrialSettingsParams{
			EndBehavior: &stripe.CheckoutSessionCreateSubscriptionDataTrialSettingsEndBehaviorParams{
				MissingPaymentMethod: stripe.String(string(o.TrialEnd))},
		}
	}
	s, err := g.api.V1CheckoutSessions.Create(ctx, p)
	if err != nil {
		return "", translate(err)
	}
	return s.URL, nil
}

// checkoutPage returns a page that sells a product.
func (g *Gateway) checkoutPage(
	key string, c payment.CustomerID, o payment.CheckoutOrder,
) *stripe.CheckoutSessionCreateParams {
	p := &stripe.CheckoutSessionCreateParams{
		Params: g.writeParams(key), Customer: stripe.String(string(c)), SuccessURL: &o.SuccessURL,
		CancelURL: &o.CancelURL,
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Price: &o.Plan.PriceRef, Quantity: stripe.Int64(int64(o.Quantity)),
		}},
	}
	if o.AutomaticTax { // which needs an address: the page asks for it
		p.AutomaticTax = &stripe.CheckoutSessionCreateAutomaticTaxParams{Enabled: stripe.Bool(true)}
		p.CustomerUpdate = &stripe.CheckoutSessionCreateCustomerUpdateParams{Address: stripe.String("auto")}
	}
	show(p, o)
	return p
}

// show sets what a page asks of the payer. For a customer that exists, the page takes tax ids only if it may replace
// the customer's name (https://docs.stripe.com/tax/checkout/tax-ids#existing-customers).
func show(p *stripe.CheckoutSessionCreateParams, o payment.CheckoutOrder) {
	if o.PromotionCodes {
		p.AllowPromotionCodes = stripe.Bool(true)
	}
	if (o.Address || o.TaxIDs) && p.CustomerUpdate == nil {
		p.CustomerUpdate = &stripe.CheckoutSessionCreateCustomerUpdateParams{Address: stripe.String("auto")}
	}
	if o.Address {
		p.BillingAddressCollection = stripe.String("required")
	}
	if o.TaxIDs {
		p.CustomerUpdate.Name = stripe.String("auto")
		p.TaxIDCollection = &stripe.CheckoutSessionCreateTaxIDCollectionParams{Enabled: stripe.Bool(true)}
	}
	if o.Locale != "" {
		p.Locale = stripe.String(o.Locale)
	}
}

// EndCheckouts implements ports.GatewayPages. A page on which the payer has just paid cannot be ended.
func (g *Gateway) EndCheckouts(ctx context.Context, c payment.CustomerID) error {
	p := &stripe.CheckoutSessionListParams{
		ListParams: g.listParams(), Customer: stripe.String(string(c)),
		Status: stripe.String(string(stripe.CheckoutSessionStatusOpen)),
	}
	for s, err := range g.api.V1CheckoutSessions.List(ctx, p).All(ctx) {
		if err != nil {
			return translate(err)
		}
		expire := &stripe.CheckoutSessionExpireParams{Params: g.readParams()}
		_, err := g.api.V1CheckoutSessions.Expire(ctx, s.ID, expire)
		if err == nil {
			continue
		}
		read := &stripe.CheckoutSessionRetrieveParams{Params: g.readParams()}
		current, lookupErr := g.api.V1CheckoutSessions.Retrieve(ctx, s.ID, read)
		if lookupErr != nil {
			return translate(lookupErr)
		}
		if current.Status == stripe.CheckoutSessionStatusOpen {
			return translate(err)
		}
	}
	return nil
}
