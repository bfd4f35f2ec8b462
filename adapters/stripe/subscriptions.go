package stripe

import (
	"context"
	"errors"
	"slices"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// expansions are the objects that Stripe includes in a subscription.
var expansions = []string{"latest_invoice.confirmation_secret", "latest_invoice.payments",
	"pending_setup_intent", "schedule", couponOf}

func subscriptionExpansions(prefix string) []*string {
	var all []*string
	for _, e := range expansions {
		all = append(all, stripe.String(prefix+e))
	}
	if prefix == "" { // Stripe expands four levels: https://docs.stripe.com/expand#how-it-works
		all = append(all, stripe.String("items.data.price.currency_options"))
	}
	return all
}

// inFull returns a listed subscription with what its prices cost in its currency.
func (g *Gateway) inFull(ctx context.Context, s *stripe.Subscription) (*stripe.Subscription, error) {
	if s.Items == nil || !slices.ContainsFunc(s.Items.Data, func(i *stripe.SubscriptionItem) bool {
		return s.Currency != "" && i.Price != nil && i.Price.Currency != s.Currency
	}) {
		return s, nil
	}
	return g.subscription(ctx, payment.SubscriptionID(s.ID))
}

// Subscribe implements ports.GatewaySubscriptions.
func (g *Gateway) Subscribe(ctx context.Context, key string, c payment.CustomerID,
	o payment.Order) (payment.GatewaySubscription, error) {
	p := &stripe.SubscriptionCreateParams{
		Params: g.writeParams(key), Customer: stripe.String(string(c)), Expand: subscriptionExpansions(""),
		Items:    orderItems(o),
		Metadata: map[string]string{madeBy: key, planOf: string(o.Plan.ID), planRefOf: o.Plan.PriceRef},
	}
	if o.Plan.ByTransfer() { // https://docs.stripe.com/billing/collection-method
		p.CollectionMethod = stripe.String(string(stripe.SubscriptionCollectionMethodSendInvoice))
		p.DaysUntilDue = stripe.Int64(int64(o.Plan.DaysUntilDue))
	} else { // it is charged at once, and the payer asked if the bank wants so
		p.PaymentBehavior = stripe.String("allow_incomplete")
	}
	if o.Plan.Base != (payment.Money{}) {
		p.Currency = &o.Plan.Price.Currency
	}
	if o.TrialDays > 0 {
		p.TrialPeriodDays = stripe.Int64(int64(o.TrialDays))
		if o.TrialEnd != "" {
			p.TrialSettings = &stripe.SubscriptionCreateTrialSettingsParams{
				EndBehavior: &stripe.SubscriptionCreateTrialSettingsEndBehaviorParams{
					MissingPaymentMethod: stripe.String(string(o.TrialEnd))},
			}
		}
	}
	if o.AutomaticTax {
		p.AutomaticTax = &stripe.SubscriptionCreateAutomaticTaxParams{Enabled: stripe.Bool(true)}
	}
	if o.Promotion != nil {
		code, coupon := appliedBy(o.Promotion)
		p.Discounts = []*stripe.SubscriptionCreateDiscountParams{{PromotionCode: code, Coupon: coupon}}
		if o.Promotion.Code != "" {
			p.Metadata[codeOf] = o.Promotion.Code
		}
	}
	s, err := g.api.V1Subscriptions.Create(ctx, p)
	if isUnanswered(ctx, err) {
		if existing := g.subscriptionOf(ctx, c, key); existing != nil {
			s, err = existing, nil
		}
	}
	if err != nil {
		return payment.GatewaySubscription{}, saleFailure(o.Promotion, err)
	}
	if s.Status == stripe.SubscriptionStatusIncomplete || s.Status == stripe.SubscriptionStatusCanceled ||
		s.Status == stripe.SubscriptionStatusIncompleteExpired {
		if err := g.refuseIfDeclined(ctx, key, s); err != nil {
			return payment.GatewaySubscription{}, afterEffect(err)
		}
	}
	return mirrorSubscription(s), nil
}

// subscriptionOf looks for the subscription that a call has created, or nil.
func (g *Gateway) subscriptionOf(ctx context.Context, c payment.CustomerID, key string) *stripe.Subscription {
	for s, err := range g.subscriptions(ctx, c) {
		if err != nil {
			return nil
		}
		if s.Metadata[madeBy] == key {
			if s, err = g.inFull(ctx, s); err != nil {
				return nil
			}
			return s
		}
	}
	return nil
}

// refuseIfDeclined ends a subscription whose first charge was declined, and returns the reason. It returns nil if the
// payer must act.
func (g *Gateway) refuseIfDeclined(ctx context.Context, key string, s *stripe.Subscription) error {
	code, err := g.declineCode(ctx, s.LatestInvoice)
	if err != nil || code == "" {
		return err
	}
	if s.Status == stripe.SubscriptionStatusIncomplete {
		if err := g.void(ctx, s.LatestInvoice); err != nil {
			return err
		}
		if err := g.end(ctx, key+"_declined", payment.SubscriptionID(s.ID), payment.Cancellation{}, false); err != nil {
			return err
		}
	}
	return &payment.DeclinedError{DeclineCode: code}
}

// declineCode returns why an invoice's payment was declined; "" if it was not.
func (g *Gateway) declineCode(ctx context.Context, invoice *stripe.Invoice) (string, error) {
	if invoice == nil || invoice.Payments == nil {
		return "", nil
	}
	for _, charge := range invoice.Payments.Data {
		if charge.Payment == nil || charge.Payment.PaymentIntent == nil {
			continue
		}
		i, err := g.api.V1PaymentIntents.Retrieve(ctx, charge.Payment.PaymentIntent.ID,
			&stripe.PaymentIntentRetrieveParams{Params: g.readParams()})
		if err != nil {
			return "", translate(err)
		}
		if i.Status != stripe.PaymentIntentStatusRequiresPaymentMethod &&
			i.Status != stripe.PaymentIntentStatusCanceled {
			continue
		}
		code := "generic_decline"
		if e := i.LastPaymentError; e != nil && e.DeclineCode != "" {
			code = string(e.DeclineCode)
		} else if e != nil && e.Code != "" {
			code = string(e.Code)
		}
		return code, nil
	}
	return "", nil
}

// mirrorSubscription returns a subscription as it is mirrored.
func mirrorSubscription(s *stripe.Subscription) payment.GatewaySubscription {
	h := payment.GatewaySubscription{
		ID: payment.SubscriptionID(s.ID), Status: payment.Status(s.Status), Plan: payment.PlanID(s.Metadata[planOf]),
		PlanRef: s.Metadata[planRefOf], Key: s.Metadata[madeBy],
		TrialEnd: fromSeconds(s.TrialEnd), CancelAtPeriodEnd: s.CancelAtPeriodEnd, CreatedAt: fromSeconds(s.Created),
		CancelAt: fromSeconds(s.CancelAt),
	}
	h.Code = s.Metadata[codeOf]
	mirrorPause(s, &h)
	if len(s.Discounts) > 0 {
		h.Discount = mirrorDiscount(s.Discounts[0])
	}
	if s.Customer != nil {
		h.Customer = payment.CustomerID(s.Customer.ID)
	}
	if m := s.DefaultPaymentMethod; m != nil {
		h.Method = payment.MethodID(m.ID)
	}
	h.Items, h.Schedule = mirrorItems(s), mirrorSchedule(s.Schedule)
	h.Confirming = s.PendingUpdate != nil
	wantsPayment := h.Confirming || s.Status == stripe.SubscriptionStatusIncomplete
	switch {
	case wantsPayment && s.LatestInvoice != nil && s.LatestInvoice.ConfirmationSecret != nil:
		h.Action = &payment.Action{Type: payment.ConfirmPayment,
			ClientSecret: secret.New(s.LatestInvoice.ConfirmationSecret.ClientSecret)}
	case s.Status == stripe.SubscriptionStatusTrialing && s.PendingSetupIntent != nil &&
		s.PendingSetupIntent.ClientSecret != "":
		h.Action = &payment.Action{Type: payment.ConfirmSetup,
			ClientSecret: secret.New(s.PendingSetupIntent.ClientSecret)}
	}
	return h
}

// GiveUp implements ports.GatewaySubscriptions. Stripe refuses to void an invoice that is paid, and to pay one
// that is void: so either it is paid, or it cannot be paid any more, and only then is the subscription ended.
func (g *Gateway) GiveUp(ctx context.Context, key string, _ payment.CustomerID, id payment.SubscriptionID) error {
	s, err := g.subscription(ctx, id)
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return translate(err)
	case !payment.Status(s.Status).Live():
		return nil
	case s.Status != stripe.SubscriptionStatusIncomplete:
		return payment.ErrSubscriptionExists
	}
	if err := g.void(ctx, s.LatestInvoice); err != nil {
		return err
	}
	return g.end(ctx, key, id, payment.Cancellation{}, false)
}

// void voids an open invoice. It returns payment.ErrSubscriptionExists if the invoice has just been paid.
func (g *Gateway) void(ctx context.Context, i *stripe.Invoice) error {
	if i == nil || i.Status == stripe.InvoiceStatusVoid {
		return nil
	}
	_, err := g.api.V1Invoices.VoidInvoice(ctx, i.ID, &stripe.InvoiceVoidInvoiceParams{Params: g.readParams()})
	if err == nil {
		return nil
	}
	current, lookupErr := g.api.V1Invoices.Retrieve(ctx, i.ID, &stripe.InvoiceRetrieveParams{Params: g.readParams()})
	switch {
	case lookupErr == nil && current.Status == stripe.InvoiceStatusVoid:
		return nil
	case lookupErr == nil && current.Status == stripe.InvoiceStatusPaid:
		return payment.ErrSubscriptionExists
	case lookupErr != nil:
		return translate(lookupErr)
	}
	return translate(err)
}

// Cancel implements ports.GatewaySubscriptions.
func (g *Gateway) Cancel(
	ctx context.Context, key string, c payment.CustomerID, id payment.SubscriptionID, reason payment.Cancellation,
) error {
	if err := g.GiveUp(ctx, key, c, id); err != nil && !errors.Is(err, payment.ErrSubscriptionExists) {
		return err
	}
	s, err := g.subscription(ctx, id)
	switch {
	case isMissing(err):
		return nil
	case err != nil:
		return translate(err)
	}
	if payment.Status(s.Status).Live() {
		if _, err := g.dropUpdate(ctx, key, s); err != nil {
			return err
		}
		if err := g.end(ctx, key, id, reason, meteredItem(s) != nil); err != nil {
			return err
		}
	}
	return afterEffect(g.voidPeriods(ctx, key, c, s))
}

// end ends a subscription. used says whether an invoice is created for the usage.
func (g *Gateway) end(
	ctx context.Context, key string, id payment.SubscriptionID, reason payment.Cancellation, isUsed bool,
) error {
	p := &stripe.SubscriptionCancelParams{Params: g.writeParams(key)}
	if isUsed {
		p.InvoiceNow = stripe.Bool(true)
	}
	if reason != (payment.Cancellation{}) {
		p.CancellationDetails = &stripe.SubscriptionCancelCancellationDetailsParams{
			Feedback: optionalText(string(reason.Feedback)), Comment: optionalText(reason.Comment),
		}
	}
	_, err := g.api.V1Subscriptions.Cancel(ctx, string(id), p)
	if err != nil && (isUnanswered(ctx, err) || isMissing(err)) {
		s, lookupErr := g.api.V1Subscriptions.Retrieve(ctx, string(id),
			&stripe.SubscriptionRetrieveParams{Params: g.readParams()})
		switch {
		case lookupErr == nil && !payment.Status(s.Status).Live(), isMissing(err) && isMissing(lookupErr):
			return nil
		case isMissing(err) && lookupErr != nil: // an earlier call may have ended it: not a refusal
			return translate(lookupErr)
		}
	}
	return translate(err)
}

// subscriptions yields a customer's subscriptions in any status, newest first.
func (g *Gateway) subscriptions(ctx context.Context, c payment.CustomerID) stripe.Seq2[*stripe.Subscription, error] {
	p := &stripe.SubscriptionListParams{ListParams: g.listParams(), Customer: stripe.String(string(c)),
		Status: stripe.String("all"), Expand: subscriptionExpansions("data.")}
	return g.api.V1Subscriptions.List(ctx, p).All(ctx)
}

// Subscriptions implements ports.GatewaySubscriptions.
func (g *Gateway) Subscriptions(ctx context.Context, c payment.CustomerID) ([]payment.GatewaySubscription, error) {
	var all []payment.GatewaySubscription
	for s, err := range g.subscriptions(ctx, c) {
		if err != nil {
			return nil, translate(err)
		}
		if s, err = g.inFull(ctx, s); err != nil {
			return nil, translate(err)
		}
		h := mirrorSubscription(s)
		if err := g.addRenewalAction(ctx, s, &h); err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}
