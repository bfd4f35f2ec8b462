package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/secret"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Gateway is one org's account at a payment gateway.
//
// What changes something takes a key: calls of one key have one effect, whatever became of the first; a
// key of another wish is refused. A call of a key that is repeated after an unknown outcome answers what came of it, within 24 hours. Two
// keys are two wishes.
//
// Errors: *billing.DeclinedError, and the sentinels named at each method, say that nothing was done. So
// does a *billing.Rejection, for what is nobody's fault but ours. billing.ErrGateway, ErrGatewayUnavailable
// (with how long to wait, where the gateway said so) and ErrGatewayTimeout leave open whether something
// was (billing.OutcomeUnknown). A gateway does not repeat a call by itself, and ends with its context.
type Gateway interface {
	GatewayCustomers
	GatewaySubscriptions
}

// GatewayCustomers is the part of a Gateway that is about customers and what they pay with.
type GatewayCustomers interface {
	// CreateCustomer makes a customer.
	CreateCustomer(ctx context.Context, key string, d billing.Details) (billing.CustomerID, error)

	// CreateSetupIntent lets the payer add one payment method.
	CreateSetupIntent(ctx context.Context, key string, c billing.CustomerID, u billing.Usage) (billing.SetupIntent, error)

	// CancelSetupIntents ends the customer's setup intents that are not confirmed. Their client secrets
	// work no more.
	CancelSetupIntents(ctx context.Context, c billing.CustomerID) error

	// Wallet reads what a customer can pay with, all of it. A method that is added does not become the default
	// by itself.
	Wallet(ctx context.Context, c billing.CustomerID) (billing.Wallet, error)

	// SetDefault makes a method what the customer's subscriptions are charged to from now on.
	// billing.ErrMethodNotFound if it is not the customer's.
	SetDefault(ctx context.Context, key string, c billing.CustomerID, m billing.MethodID) error

	// Detach takes a method from its customer. One that is nobody's any more is no error.
	Detach(ctx context.Context, key string, c billing.CustomerID, m billing.MethodID) error
}

// GatewaySubscriptions is the part of a Gateway that is about what customers buy.
type GatewaySubscriptions interface {
	// Prices returns plans: available, but those Unavailable whose price the gateway does not sell, or sells for
	// another amount, currency or interval.
	Prices(ctx context.Context, plans billing.Plans) (billing.Plans, error)

	// Subscribe makes a subscription and charges the default method. A declined charge leaves none. One
	// that wants the payer's authentication leaves it incomplete, with what there is to do.
	Subscribe(ctx context.Context, key string, c billing.CustomerID, o billing.Order) (billing.Held, error)

	// Amend changes a subscription. If what it costs more cannot be charged, nothing changes. What is bought
	// now, and the end of the subscription with its period, take the place of what was to come at renewal.
	Amend(ctx context.Context, key string, c billing.CustomerID, s billing.SubscriptionID, a billing.Amendment) (billing.Held, error)

	// GiveUp ends a subscription whose first payment waits for the payer, and voids its invoice, so that it
	// cannot be paid any more. billing.ErrSubscriptionExists if it was paid meanwhile: then nothing is done. One
	// that has ended is no error.
	GiveUp(ctx context.Context, key string, c billing.CustomerID, s billing.SubscriptionID) error

	// Cancel ends a subscription at once, whatever its status. One that has ended is no error. The invoice of
	// one whose first payment waits for the payer is voided; other open invoices stay.
	Cancel(ctx context.Context, key string, c billing.CustomerID, s billing.SubscriptionID) error

	// Subscriptions reads the subscriptions that live, and at least the last one that ended, with what
	// the payer has to do for those that are incomplete.
	Subscriptions(ctx context.Context, c billing.CustomerID) ([]billing.Held, error)

	// Invoices reads the billing.MirroredInvoices that were made last.
	Invoices(ctx context.Context, c billing.CustomerID) ([]billing.Invoice, error)
}

// SandboxPayer is what a payer's browser does, which the sandbox has none of.
type SandboxPayer interface {
	// Confirm adds a card by a setup intent. billing.ErrTestCardsOnly for any other than a test card,
	// which is looked at nowhere else; billing.ErrMethodExpired, *billing.DeclinedError;
	// billing.ErrIntentNotFound unless intent and secret belong together, and to the customer;
	// billing.ErrIntentState if it was confirmed before.
	Confirm(ctx context.Context, c billing.CustomerID, i billing.IntentID, clientSecret secret.String, card billing.Card) (billing.SetupIntent, error)

	// Authenticate answers, for the payer, the question of the bank that a setup intent or a payment
	// intent waits for. Errors as for Confirm.
	Authenticate(ctx context.Context, c billing.CustomerID, i billing.IntentID, clientSecret secret.String, success bool) (billing.SetupIntent, error)
}
