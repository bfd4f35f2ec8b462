package stripe

import (
	"context"
	"errors"
	"time"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// CreateCustomer implements ports.GatewayCustomers.
func (g *Gateway) CreateCustomer(ctx context.Context, key string, d payment.Details) (payment.CustomerID, error) {
	p := &stripe.CustomerCreateParams{Params: g.writeParams(key), Metadata: map[string]string{madeBy: key}}
	if d.Workspace != "" {
		p.Metadata[workspaceOf] = string(d.Workspace)
	}
	if d.Name != "" {
		p.Name = &d.Name
	}
	if d.Email != "" {
		p.Email = &d.Email
	}
	c, err := g.api.V1Customers.Create(ctx, p)
	if isUnanswered(ctx, err) || isKeyReused(err) {
		id, lookupErr := g.customerOf(ctx, key, d)
		switch {
		case id != "":
			return id, nil
		case lookupErr != nil: // then even a stored failure leaves the outcome open
			return "", translate(lookupErr)
		}
	}
	if err != nil {
		return "", translate(err)
	}
	return payment.CustomerID(c.ID), nil
}

// customerOf looks for the customer that a call has created within the last day. It returns "" if not found.
func (g *Gateway) customerOf(ctx context.Context, key string, d payment.Details) (payment.CustomerID, error) {
	p := &stripe.CustomerListParams{ListParams: g.listParams(),
		CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: time.Now().Add(-25 * time.Hour).Unix()}}
	if d.Email != "" {
		p.Email = &d.Email
	}
	for c, err := range g.api.V1Customers.List(ctx, p).All(ctx) {
		if err != nil {
			return "", err
		}
		if c.Metadata[madeBy] == key {
			return payment.CustomerID(c.ID), nil
		}
	}
	return "", nil
}

// CreateSetupIntent implements ports.GatewayCustomers.
func (g *Gateway) CreateSetupIntent(ctx context.Context, key string, c payment.CustomerID,
	u payment.Usage) (payment.SetupIntent, error) {
	i, err := g.api.V1SetupIntents.Create(ctx, &stripe.SetupIntentCreateParams{
		Params: g.writeParams(key), Customer: stripe.String(string(c)), Usage: stripe.String(string(u)),
		Metadata:                map[string]string{madeBy: key},
		AutomaticPaymentMethods: &stripe.SetupIntentCreateAutomaticPaymentMethodsParams{Enabled: stripe.Bool(true)},
	})
	if err != nil {
		return payment.SetupIntent{}, translate(err)
	}
	return payment.SetupIntent{ID: payment.IntentID(i.ID), ClientSecret: secret.New(i.ClientSecret),
		Status: string(i.Status)}, nil
}

// CancelSetupIntents implements ports.GatewayCustomers. An intent that was just confirmed is left as it is.
func (g *Gateway) CancelSetupIntents(ctx context.Context, c payment.CustomerID) error {
	p := &stripe.SetupIntentListParams{ListParams: g.listParams(), Customer: stripe.String(string(c))}
	for i, err := range g.api.V1SetupIntents.List(ctx, p).All(ctx) {
		if err != nil {
			return translate(err)
		}
		switch i.Status {
		case stripe.SetupIntentStatusRequiresPaymentMethod, stripe.SetupIntentStatusRequiresConfirmation,
			stripe.SetupIntentStatusRequiresAction:
		default:
			continue
		}
		_, err := g.api.V1SetupIntents.Cancel(ctx, i.ID, &stripe.SetupIntentCancelParams{Params: g.readParams()})
		var failure *stripe.Error
		if err != nil && !(errors.As(err, &failure) && failure.Code == stripe.ErrorCodeSetupIntentUnexpectedState) {
			return translate(err)
		}
	}
	return nil
}

// Wallet implements ports.GatewayCustomers.
func (g *Gateway) Wallet(ctx context.Context, c payment.CustomerID) (payment.Wallet, error) {
	customer, err := g.customer(ctx, c)
	if err != nil {
		return payment.Wallet{}, err
	}
	w := payment.Wallet{Default: defaultOf(customer)}
	if customer.Balance < 0 { // https://docs.stripe.com/billing/customer/balance: what is negative is credit
		w.Credit = payment.Money{Amount: -customer.Balance, Currency: string(customer.Currency)}
	}
	p := &stripe.CustomerListPaymentMethodsParams{ListParams: g.listParams(), Customer: stripe.String(string(c))}
	for m, err := range g.api.V1Customers.ListPaymentMethods(ctx, p).All(ctx) {
		if err != nil {
			return payment.Wallet{}, translate(err)
		}
		w.Methods = append(w.Methods, toMethod(m))
	}
	return w, nil
}

func (g *Gateway) customer(ctx context.Context, c payment.CustomerID) (*stripe.Customer, error) {
	customer, err := g.api.V1Customers.Retrieve(ctx, string(c), &stripe.CustomerRetrieveParams{Params: g.readParams()})
	switch {
	case err == nil && customer.Deleted, isMissing(err) && !g.live:
		return nil, payment.ErrCustomerGone
	case err != nil: // in live mode customers never vanish: the key may be another account's
		return nil, translate(err)
	}
	return customer, nil
}

// defaultOf returns a customer's default method, or "".
func defaultOf(c *stripe.Customer) payment.MethodID {
	if s := c.InvoiceSettings; s != nil && s.DefaultPaymentMethod != nil {
		return payment.MethodID(s.DefaultPaymentMethod.ID)
	}
	return ""
}

// toMethod is a payment method as it is mirrored.
func toMethod(m *stripe.PaymentMethod) payment.Method {
	out := payment.Method{ID: payment.MethodID(m.ID), Type: string(m.Type), CreatedAt: fromSeconds(m.Created)}
	switch {
	case m.Card != nil:
		out.Fingerprint = m.Card.Fingerprint
		out.Brand, out.Last4, out.Country = string(m.Card.Brand), m.Card.Last4, m.Card.Country
		out.ExpMonth, out.ExpYear = int(m.Card.ExpMonth), int(m.Card.ExpYear)
	case m.SEPADebit != nil:
		out.Last4, out.Country = m.SEPADebit.Last4, m.SEPADebit.Country
		out.Fingerprint = m.SEPADebit.Fingerprint
	case m.USBankAccount != nil:
		out.Fingerprint = m.USBankAccount.Fingerprint
		out.Brand, out.Last4, out.Country = m.USBankAccount.BankName, m.USBankAccount.Last4, "US"
	case m.BACSDebit != nil:
		out.Fingerprint = m.BACSDebit.Fingerprint
		out.Last4, out.Country = m.BACSDebit.Last4, "GB"
	}
	return out
}

// SetDefault implements ports.GatewayCustomers. Subscriptions that Atrium creates have no default of their own, so the
// customer's is used. Subscriptions from a checkout page have one, which is charged instead, so it is changed, too.
func (g *Gateway) SetDefault(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error {
	isOwner, err := g.owns(ctx, c, m)
	switch {
	case err != nil:
		return err
	case !isOwner:
		return payment.ErrMethodNotFound
	}
	_, err = g.api.V1Customers.Update(ctx, string(c), &stripe.CustomerUpdateParams{
		Params: g.writeParams(key), InvoiceSettings: &stripe.CustomerUpdateInvoiceSettingsParams{
			DefaultPaymentMethod: stripe.String(string(m))},
	})
	if isUnanswered(ctx, err) {
		if current, lookupErr := g.customer(ctx, c); lookupErr == nil && defaultOf(current) == m {
			err = nil
		}
	}
	if err != nil {
		return translate(err)
	}
	return afterEffect(g.setOwnDefaults(ctx, key, c, m))
}

// setOwnDefaults makes m the default of the live subscriptions that have another one of their own.
func (g *Gateway) setOwnDefaults(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error {
	// Without ended ones.
	p := &stripe.SubscriptionListParams{ListParams: g.listParams(), Customer: stripe.String(string(c))}
	for s, err := range g.api.V1Subscriptions.List(ctx, p).All(ctx) {
		if err != nil {
			return translate(err)
		}
		if method := s.DefaultPaymentMethod; method == nil || method.ID == string(m) {
			continue
		}
		_, err := g.api.V1Subscriptions.Update(ctx, s.ID, &stripe.SubscriptionUpdateParams{
			Params: g.writeParams(key + "_" + s.ID), DefaultPaymentMethod: stripe.String(string(m)),
		})
		if err != nil {
			return translate(err)
		}
	}
	return nil
}

// owns reports whether a method is the customer's.
func (g *Gateway) owns(ctx context.Context, c payment.CustomerID, m payment.MethodID) (bool, error) {
	_, err := g.api.V1Customers.RetrievePaymentMethod(ctx, string(m),
		&stripe.CustomerRetrievePaymentMethodParams{Params: g.readParams(), Customer: stripe.String(string(c))})
	if isMissing(err) {
		return false, nil
	}
	return err == nil, translate(err)
}

// Detach implements ports.GatewayCustomers.
func (g *Gateway) Detach(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error {
	isOwner, err := g.owns(ctx, c, m)
	if err != nil || !isOwner {
		return err
	}
	detach := &stripe.PaymentMethodDetachParams{Params: g.writeParams(key)}
	_, err = g.api.V1PaymentMethods.Detach(ctx, string(m), detach)
	if err != nil && (isUnanswered(ctx, err) || isMissing(err)) {
		isOwner, lookupErr := g.owns(ctx, c, m)
		switch {
		case lookupErr == nil && !isOwner:
			return nil
		case isMissing(err) && lookupErr != nil: // an earlier call may have removed it: not a refusal
			return lookupErr
		}
	}
	return translate(err)
}
