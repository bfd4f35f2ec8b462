package payment

import (
	"time"

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
	Default MethodID // "" without one

	// Credit is deducted from the next invoices. Its amount is never negative.
	Credit Money
}

// Order is a request to the gateway for a subscription.
type Order struct {
	Plan      Plan
	Quantity  int
	Method    MethodID // becomes the default; "" for a trial without a method
	TrialDays int
	TrialEnd  TrialEnd   // without a payment method; "" if the first period costs nothing
	Promotion *Promotion // nil without one
	AddOns    []ItemOrder

	AutomaticTax bool // the gateway determines the taxes of each invoice
}

// Amendment is a request to the gateway to change a subscription. GatewaySubscription.Difference says what of it has to
// be sent.
type Amendment struct {
	Item ItemID // that is the plan's; "" for the only one that is not metered

	// Resell says whether Plan or Quantity is asked for.
	Resell   bool
	Plan     Plan   // whose price the item gets; the zero Plan keeps the price
	Quantity int    // 0 keeps it
	Meter    string // the metered price that Plan replaces, of the plan before it; "" if that has none

	AddOns []ItemOrder // other items, which change at once; items of other prices stay

	// takes effect when the current period ends; otherwise at once, and the additional cost is billed now
	AtRenewal bool

	CancelAtPeriodEnd *bool

	EndTrial   bool      // its trial ends at once, and a period begins, which is charged
	TrialUntil time.Time // the new end of its trial; zero leaves that

	// Cancellation replaces why the subscription is cancelled; nil leaves it.
	Cancellation *Cancellation

	// Pause pauses the subscription or resumes it. While it is paused, its periods cost nothing. When it is resumed
	// in a period that begins at PaidUntil or later, a new period begins, which is charged.
	Pause     *bool
	PaidUntil time.Time

	// ProrateAt is the time, in the current period, for which an immediate change is prorated: the time of its preview.
	// The zero time is now.
	ProrateAt time.Time

	// Promotion replaces the discount of the subscription, at renewal or now. Nil leaves the discount as it is.
	Promotion *Promotion
}

// Undoes reports whether a continues a subscription that is set to end with its period.
func (a *Amendment) Undoes() bool { return a.CancelAtPeriodEnd != nil && !*a.CancelAtPeriodEnd }

// Sale is a plan and its quantity.
type Sale struct {
	Plan     Plan
	Quantity int
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
	Items    []Item
	Schedule *Schedule // nil without one
	Plan     PlanID    // as noted with the subscription when it was sold, until Resolve; then "" if it is unknown
	PlanRef  string    // the price at which it was sold as that plan; "" if an earlier version sold it
	Status   Status
	CancelAt time.Time // when it is set to end; zero if it is not, or if CancelAtPeriodEnd says so

	// Set by Resolve. Item and the fields below describe the plan's item; "" if no item clearly is it.
	Item     ItemID
	Rate     Rate
	Quantity int
	EndsAt   time.Time // when it is set to end; zero if it continues
	Pending  *PendingChange

	Key      string // of the call that created it, as stored with the subscription
	Code     string // the promotion code that was used last, as stored with the subscription
	Discount *Discount
	Method   MethodID // that is charged for this subscription only; "" if the customer's default is

	PeriodStart, PeriodEnd time.Time // of the plan's item, set by Resolve
	TrialEnd               time.Time // zero without a trial
	CancelAtPeriodEnd      bool
	Cancellation           Cancellation
	Paused                 bool
	PaidUntil              time.Time // of a subscription that Atrium has paused; zero if unknown
	Confirming             bool      // a change waits for the payer to take Action
	Action                 *Action
	CreatedAt              time.Time
}

// Card is what a payer types. Only the sandbox receives it, and it is never stored: Stripe's own form
// handles real cards.
type Card struct {
	Number   secret.String
	CVC      secret.String
	ExpMonth int
	ExpYear  int
}
