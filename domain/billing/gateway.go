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
	OffSession Usage = "off_session" // charged by itself: what subscriptions need
	OnSession  Usage = "on_session"  // charged while the payer is there
)

// SetupIntent is the permission to add one payment method.
type SetupIntent struct {
	ID           IntentID
	ClientSecret secret.String // for the payer's browser alone; never kept
	Status       string        // requires_payment_method, requires_action, succeeded
}

// Wallet is what a customer can pay with, as the gateway has it.
type Wallet struct {
	Methods []Method
	Default MethodID // "" for none
}

// Order asks the gateway for a subscription.
type Order struct {
	Plan      Plan
	Quantity  int
	Method    MethodID // its default from now on; "" for a trial without one
	TrialDays int
}

// Amendment asks the gateway to change a subscription.
type Amendment struct {
	Plan      Plan
	Quantity  int
	AtRenewal bool // when the current period ends; else at once, and what it costs more is billed now

	// Resell is whether Plan and Quantity are to change at all.
	Resell bool

	CancelAtPeriodEnd *bool

	// Keep is what comes at renewal now, and still does if the change is declined. Nil for nothing.
	Keep *Sale
}

// Sale is a plan and how many of it.
type Sale struct {
	Plan     Plan `json:"plan"`
	Quantity int  `json:"quantity"`
}

// ActionType says what the payer still has to do.
type ActionType string

// The types of actions.
const (
	ConfirmPayment ActionType = "confirm_payment"
	ConfirmSetup   ActionType = "confirm_setup"
)

// Action is what the payer still has to do before a subscription begins.
type Action struct {
	Type         ActionType
	ClientSecret secret.String // for the payer's browser alone; never kept
}

// Held is a subscription as the gateway has it.
type Held struct {
	ID       SubscriptionID
	Customer CustomerID
	PriceRef string
	Plan     PlanID // as it was noted with the subscription when it was made
	Quantity int
	Status   Status
	Key      string // of the call that made it, as it was noted with the subscription

	PeriodStart, PeriodEnd time.Time
	TrialEnd               time.Time // zero for none
	CancelAtPeriodEnd      bool
	Pending                *PendingChange
	PendingPrice           string // the price of Pending, where it does not note a plan
	Action                 *Action
	CreatedAt              time.Time
}

// Details is what a gateway is told of a customer.
type Details struct {
	Name  string // of the workspace
	Email string // of who made it a customer; "" for a program

	Workspace identity.WorkspaceID // noted with the customer, so that people at the gateway can tell whose it is
}

// Card is what a payer types. It goes to the sandbox, and is kept nowhere: Stripe's own form takes the
// real ones.
type Card struct {
	Number   secret.String
	CVC      secret.String
	ExpMonth int
	ExpYear  int
}
