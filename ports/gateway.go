package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Gateway is one org's account at a payment gateway.
//
// Methods that change something take a key. All calls with one key have one effect, whatever the
// outcome of the first. A key that was used for a different request is refused. A call repeated with
// its key after an unknown outcome returns the outcome, within 24 hours.
//
// Errors: *payment.DeclinedError, and the sentinels named at each method, mean that nothing was done. So does a
// *payment.Rejection, which is an error on Atrium's side, and payment.ErrCustomerGone if the gateway has no such
// customer, and a *payment.LimitedError. A *payment.KeptFailure had no visible effect, and its key is used up. After
// payment.ErrGateway, ErrGatewayUnavailable (with the time to wait, if the gateway gave one) and ErrGatewayTimeout it
// is unknown whether something was done (payment.OutcomeUnknown). A gateway does not retry a call by itself, and stops
// when its context ends.
type Gateway interface {
	GatewayCustomers
	GatewayDetails
	GatewaySubscriptions
	GatewayPreviews
	GatewayPromotions
	GatewayPages
	GatewayMeters
	GatewayAdjustments
}

// GatewayCustomers is what a Gateway does for customers and their payment methods.
type GatewayCustomers interface {
	// CreateCustomer creates a customer.
	CreateCustomer(ctx context.Context, key string, d payment.Details) (payment.CustomerID, error)

	// CreateSetupIntent lets the payer add one payment method.
	CreateSetupIntent(
		ctx context.Context, key string, c payment.CustomerID, u payment.Usage,
	) (payment.SetupIntent, error)

	// CancelSetupIntents cancels the customer's setup intents that are not confirmed. Their client
	// secrets stop working.
	CancelSetupIntents(ctx context.Context, c payment.CustomerID) error

	// CustomerOf returns the customer of an object that an event is about; "" if it does not exist, or has none.
	CustomerOf(ctx context.Context, object payment.Reference) (payment.CustomerID, error)

	// Wallet returns all of a customer's payment methods. A method that is added does not become the default
	// automatically.
	Wallet(ctx context.Context, c payment.CustomerID) (payment.Wallet, error)

	// SetDefault makes a method the one that the customer's subscriptions are charged to.
	// payment.ErrMethodNotFound if it is not the customer's.
	SetDefault(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error

	// Detach removes a payment method from its customer. It returns no error if the method no longer
	// belongs to a customer.
	Detach(ctx context.Context, key string, c payment.CustomerID, m payment.MethodID) error
}

// GatewaySubscriptions is what a Gateway does for prices, subscriptions and invoices.
type GatewaySubscriptions interface {
	// Prices returns plans with Unavailable set on those whose price the gateway does not sell, or sells at another
	// amount, currency or interval. A credit pack needs a price that is charged once.
	Prices(ctx context.Context, plans payment.Plans) (payment.Plans, error)

	// Subscribe creates a subscription and charges the default method. A declined charge creates no
	// subscription. A charge that needs the payer's authentication leaves the subscription incomplete,
	// with the action that the payer must take.
	Subscribe(
		ctx context.Context, key string, c payment.CustomerID, o payment.Order,
	) (payment.GatewaySubscription, error)

	// Amend changes a subscription: what payment.Difference says for the state that the gateway has now,
	// and nothing else. If the additional cost cannot be charged, nothing changes. A change that takes
	// effect now, and a cancellation at the end of the period, replace a change that Atrium has scheduled
	// for renewal, and so does a pause. The errors of GatewaySubscription.Difference.
	Amend(ctx context.Context, key string, c payment.CustomerID, s payment.SubscriptionID,
		a payment.Amendment) (payment.GatewaySubscription, error)

	// GiveUp cancels a subscription whose first payment waits for the payer, and voids its invoice, so
	// that it can no longer be paid. payment.ErrSubscriptionExists, and no change, if it was paid in
	// the meantime. It returns no error if the subscription has ended.
	GiveUp(ctx context.Context, key string, c payment.CustomerID, s payment.SubscriptionID) error

	// Cancel ends a subscription immediately, whatever its status. It returns no error if the subscription has ended.
	// The open invoices and drafts for its periods are voided: paying them would buy nothing. Those for what was used
	// stay. reason is stored with the subscription.
	Cancel(
		ctx context.Context, key string, c payment.CustomerID, s payment.SubscriptionID, reason payment.Cancellation,
	) error

	// Pay charges the default method for an invoice, while the payer is present. A draft for a subscription's period is
	// finalized first. It returns no error if the invoice is paid already. If the payer must authenticate, the payment
	// has an Action, and the invoice stays open until then. A past due or unpaid subscription is active again when its
	// newest invoice is paid. payment.ErrInvoiceNotFound if the invoice is not the customer's,
	// payment.ErrInvoiceNotPayable if it is void.
	Pay(ctx context.Context, key string, c payment.CustomerID, i payment.InvoiceID) (payment.InvoicePayment, error)

	// Subscriptions returns the live subscriptions and at least the last one that ended, with the
	// payer's required action for incomplete ones, and for past due ones whose bank wants authentication.
	Subscriptions(ctx context.Context, c payment.CustomerID) ([]payment.GatewaySubscription, error)

	// Invoices returns the newest payment.MirroredInvoices invoices with their refunds and disputes, without those that
	// a person at the gateway is still writing. If cursor is not empty, only those that are older than that invoice.
	Invoices(ctx context.Context, c payment.CustomerID, cursor payment.InvoiceID) ([]payment.Invoice, error)
}

// GatewayPreviews is what a Gateway does to compute prices and changes nothing.
type GatewayPreviews interface {
	// Preview returns what Amend would charge, as if every charge succeeded. Amend costs the same with the same
	// ProrateAt, as long as the subscription, its prices and the credit stay as they are.
	Preview(ctx context.Context, c payment.CustomerID, s payment.SubscriptionID,
		a payment.Amendment) (payment.Preview, error)
}

// GatewayAdjustments is what a Gateway does for what operators give to workspaces.
type GatewayAdjustments interface {
	// Free returns a promotion by which a subscription costs nothing for a number of months, 0 for as long as it lasts.
	Free(ctx context.Context, months int) (payment.Promotion, error)

	// Grant adds a credit that is deducted from a customer's next invoices. reason is stored with it.
	// payment.ErrCurrencyConflict if the customer has another currency.
	Grant(ctx context.Context, key string, c payment.CustomerID, credit payment.Money, reason string) error
}

// GatewayPages is what a Gateway does for its own pages, to which applications send payers.
type GatewayPages interface {
	// Portal returns the address where the payer manages payment methods and the subscription, and from which the payer
	// goes back to an address.
	Portal(ctx context.Context, c payment.CustomerID, returnURL string) (url string, err error)

	// Checkout returns the address where the payer starts a subscription, or buys credit packs, for which an invoice is
	// made when they are paid. It is open for payment.CheckoutLasts.
	Checkout(ctx context.Context, key string, c payment.CustomerID, o payment.CheckoutOrder) (url string, err error)

	// EndCheckouts ends a customer's open checkout pages: no payer can pay there after that.
	EndCheckouts(ctx context.Context, c payment.CustomerID) error
}

// SandboxPayer does what a payer's browser does with a real gateway.
type SandboxPayer interface {
	// Confirm adds a card with a setup intent. payment.ErrTestCardsOnly if it is not a test card; the
	// number is not examined any further. payment.ErrMethodExpired, *payment.DeclinedError.
	// payment.ErrIntentNotFound unless intent and secret belong together, and to the customer.
	// payment.ErrIntentState if the intent was confirmed before.
	Confirm(ctx context.Context, c payment.CustomerID, i payment.IntentID, clientSecret secret.String,
		card payment.Card) (payment.SetupIntent, error)

	// Authenticate completes, as the payer, the bank's authentication that a setup intent or a payment
	// intent waits for. Errors as for Confirm.
	Authenticate(ctx context.Context, c payment.CustomerID, i payment.IntentID, clientSecret secret.String,
		success bool) (payment.SetupIntent, error)

	// Page returns a page of the sandbox. Returns payment.ErrPageNotFound if the page does not exist or has expired.
	Page(ctx context.Context, l payment.SandboxLink) (*payment.SandboxPage, error)

	// Complete starts a checkout page's subscription with a card, or pays an invoice's page with it, and returns the
	// page. It returns no error if that was done before. Errors as for Page, and payment.ErrTestCardsOnly,
	// payment.ErrMethodExpired, *payment.DeclinedError, payment.ErrSubscriptionExists, payment.ErrInvoiceNotPayable.
	Complete(ctx context.Context, l payment.SandboxLink, card payment.Card) (*payment.SandboxPage, error)

	// Advance moves a customer's clock forward to target, or to the next time at which something is due, such as a
	// renewal, if that is earlier. It processes what is due, delivers the events, and returns the time.
	Advance(ctx context.Context, c payment.CustomerID, target time.Time) (time.Time, error)

	// EndAtPeriodEnd ends a portal page's subscription when its period ends, or undoes that, and returns the page.
	// Errors as for Page.
	EndAtPeriodEnd(ctx context.Context, l payment.SandboxLink, ends bool) (*payment.SandboxPage, error)
}
