package billing

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// GatewayKind names a kind of payment gateway.
type GatewayKind string

// The kinds.
const (
	Stripe  GatewayKind = "stripe"
	Sandbox GatewayKind = "sandbox" // no money moves
)

// The identifiers are the gateway's own.
type (
	// CustomerID identifies a customer at the gateway.
	CustomerID string
	// MethodID identifies a payment method.
	MethodID string
	// SubscriptionID identifies a subscription.
	SubscriptionID string
	// InvoiceID identifies an invoice.
	InvoiceID string
	// IntentID identifies a setup intent or a payment intent.
	IntentID string
)

// Usage says what a payment method will be used for.
type Usage string

// The usages.
const (
	OffSession Usage = "off_session" // charged without the payer, as subscriptions need
	OnSession  Usage = "on_session"  // charged while the payer is present
)

// SetupIntent is the permission to add one payment method.
type SetupIntent struct {
	ID           IntentID
	ClientSecret secret.String // only for the payer's browser; never stored
	Status       string        // requires_payment_method, requires_action, succeeded
}

// Wallet holds a customer's payment methods at the gateway.
type Wallet struct {
	Methods []Method
	Default MethodID // "" if there is none

	// Credit is deducted from the next invoices. Its amount is never negative.
	Credit Money
}

// Order is a request to the gateway for a subscription.
type Order struct {
	Plan      Plan
	Quantity  int
	Method    MethodID // becomes the default; "" for a trial without a method
	TrialDays int
}

// Amendment is a request to the gateway to change a subscription.
type Amendment struct {
	Plan      Plan
	Quantity  int
	AtRenewal bool // takes effect when the current period ends; otherwise at once, and the additional cost is billed now

	// Resell says whether Plan and Quantity change.
	Resell bool

	CancelAtPeriodEnd *bool

	// Keep is the change that is already scheduled for renewal; it stays if this change is declined.
	// Nil if there is none.
	Keep *Sale
}

// Sale is a plan and its quantity.
type Sale struct {
	Plan     Plan `json:"plan"`
	Quantity int  `json:"quantity"`
}

// ActionType says which action the payer must take.
type ActionType string

// The types of actions.
const (
	ConfirmPayment ActionType = "confirm_payment"
	ConfirmSetup   ActionType = "confirm_setup"
)

// Action is what the payer must do before a subscription starts.
type Action struct {
	Type         ActionType
	ClientSecret secret.String // only for the payer's browser; never stored
}

// InvoicePayment is what came of paying an invoice.
type InvoicePayment struct {
	Invoice Invoice
	Action  *Action // what the payer must do; then the invoice is still open. Nil if there is nothing
}

// GatewaySubscription is a subscription as the gateway has it.
type GatewaySubscription struct {
	ID       SubscriptionID
	Customer CustomerID
	PriceRef string
	Plan     PlanID // as stored with the subscription when it was created
	Quantity int
	Status   Status
	Key      string // of the call that created it, as stored with the subscription

	PeriodStart, PeriodEnd time.Time
	TrialEnd               time.Time // zero if there is none
	CancelAtPeriodEnd      bool
	Pending                *PendingChange
	PendingPrice           string // the price of Pending, if that does not name a plan
	Confirming             bool   // a change waits for the payer to take Action
	Action                 *Action
	CreatedAt              time.Time
}

// Details are what the gateway stores about a customer.
type Details struct {
	Name  string // of the workspace
	Email string // of the user who created the customer; "" for a program

	Workspace identity.WorkspaceID // stored with the customer, so that people at the gateway can identify the workspace
}

// Card is what a payer types. Only the sandbox receives it, and it is never stored: Stripe's own form
// handles real cards.
type Card struct {
	Number   secret.String
	CVC      secret.String
	ExpMonth int
	ExpYear  int
}
