package sandbox

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// account is the state of one customer in the sandbox.
type account struct {
	ID            payment.CustomerID `json:"id"`
	Name          string             `json:"name"`
	Email         string             `json:"email"`
	Address       payment.Address    `json:"address,omitzero"`
	TaxIDs        []payment.TaxID    `json:"tax_ids,omitempty"`
	CreatedAt     time.Time          `json:"created_at"`
	Methods       []*method          `json:"methods"`
	Default       payment.MethodID   `json:"default"`
	Credit        int64              `json:"credit,omitempty"` // deducted from the next invoices
	Intents       []*intent          `json:"intents"`
	Subscriptions []*subscription    `json:"subscriptions"`
	Invoices      []*invoice         `json:"invoices"`
	InvoiceCount  int                `json:"invoice_count,omitempty"` // how many there have been
	HasPaid       bool               `json:"has_paid,omitempty"`      // as of when it was stored
	Sessions      []*session         `json:"sessions,omitempty"`
	Usage         []usage            `json:"usage,omitempty"`

	Answers    map[string]answer `json:"answers"` // to calls, by key
	EventCount int               `json:"told"`    // how many events there have been
	Outbox     []notice          `json:"outbox"`  // those that are not delivered yet
}

// behaviour is how a test card behaves.
type behaviour string

const (
	works       behaviour = ""
	declined    behaviour = "generic_decline"    // when it is added
	noFunds     behaviour = "insufficient_funds" // when it is added
	failsLater  behaviour = "fails_to_charge"    // can be added, but charges fail
	wantsBank   behaviour = "authentication"     // its bank requires authentication
	bankIsAsked behaviour = "authenticated"      // authenticated: it can be charged without the payer
)

type method struct {
	ID        payment.MethodID `json:"id"`
	Brand     string           `json:"brand"`
	Last4     string           `json:"last4"`
	ExpMonth  int              `json:"exp_month"`
	ExpYear   int              `json:"exp_year"`
	Behaviour behaviour        `json:"behaviour"`
	CreatedAt time.Time        `json:"created_at"`

	Fingerprint string `json:"fingerprint,omitempty"`
}

func (m *method) shown() payment.Method {
	return payment.Method{ID: m.ID, Type: "card", Brand: m.Brand, Last4: m.Last4, ExpMonth: m.ExpMonth,
		ExpYear: m.ExpYear, Country: "US", CreatedAt: m.CreatedAt, Fingerprint: m.Fingerprint}
}

// The statuses of intents.
const (
	wantsMethod = "requires_payment_method"
	wantsAction = "requires_action"
	succeeded   = "succeeded"
	canceled    = "canceled"
)

type intent struct {
	ID           payment.IntentID       `json:"id"`
	Usage        payment.Usage          `json:"usage,omitempty"`
	Status       string                 `json:"status"`
	Card         *method                `json:"card,omitempty"`         // that waits for the bank
	Subscription payment.SubscriptionID `json:"subscription,omitempty"` // of a payment
	Invoice      payment.InvoiceID      `json:"invoice,omitempty"`      // of a payment that is not the first one
	CreatedAt    time.Time              `json:"created_at"`
}

type subscription struct {
	ID                payment.SubscriptionID `json:"id"`
	Plan              payment.Plan           `json:"plan"` // as it was sold
	Quantity          int                    `json:"quantity"`
	Status            payment.Status         `json:"status"`
	Key               string                 `json:"key"`
	Anchor            int                    `json:"anchor"` // the day of the month on which periods begin
	PeriodStart       time.Time              `json:"period_start"`
	PeriodEnd         time.Time              `json:"period_end"`
	TrialEnd          time.Time              `json:"trial_end"`
	WithoutCard       payment.TrialEnd       `json:"without_card,omitempty"` // what becomes of the trial then
	TrialTold         bool                   `json:"trial_told,omitempty"`   // an event has told that the trial ends soon
	CancelAtPeriodEnd bool                   `json:"cancel_at_period_end"`
	Cancellation      payment.Cancellation   `json:"cancellation,omitzero"`
	Paused            bool                   `json:"paused,omitempty"`
	PaidUntil         time.Time              `json:"paid_until,omitzero"` // of a paused subscription
	Next              *sale                  `json:"next,omitempty"`      // at renewal
	Change            *change                `json:"change,omitempty"`
	Retries           int                    `json:"retries"`
	RetryAt           time.Time              `json:"retry_at"`
	Intent            payment.IntentID       `json:"intent,omitempty"` // what the payer has to do
	Discount          *payment.Discount      `json:"discount,omitempty"`
	Code              string                 `json:"code,omitempty"` // the promotion code that was used last
	Off               int64                  `json:"off,omitempty"`  // deducted from the price of the current period
	CreatedAt         time.Time              `json:"created_at"`
	AutomaticTax      bool                   `json:"automatic_tax,omitempty"`

	unbilled *payment.InvoiceLine // the usage, while the invoice of the next period is written
}

// change is a change that waits for the payer to authenticate its payment: a pending update
// (https://docs.stripe.com/billing/subscriptions/pending-updates).
type change struct {
	sale
	Anchor      int               `json:"anchor"`
	PeriodStart time.Time         `json:"period_start"`
	PeriodEnd   time.Time         `json:"period_end"`
	Off         int64             `json:"off,omitempty"`
	Invoice     payment.InvoiceID `json:"invoice"`
	Intent      payment.IntentID  `json:"intent"`
	Until       time.Time         `json:"until"`
}

// sale is a plan with its quantity.
type sale struct {
	Plan     payment.Plan `json:"plan"`
	Quantity int          `json:"quantity"`

	Promotion *payment.Promotion `json:"promotion,omitempty"`
}

type invoice struct {
	payment.Invoice
	Subscription payment.SubscriptionID `json:"subscription"`
}

// answer is a call's result, kept for repeated calls.
type answer struct {
	Call     string          `json:"call"`
	Result   json.RawMessage `json:"result,omitempty"`
	Declined string          `json:"declined,omitempty"`
	At       time.Time       `json:"at"`
}

// notice is an event that is to be delivered.
type notice struct {
	ID     string    `json:"id"`
	Type   string    `json:"type"`
	Object string    `json:"object"`
	About  string    `json:"about"` // identifier of the object
	At     time.Time `json:"at"`
}

func (b *account) method(id payment.MethodID) *method {
	i := slices.IndexFunc(b.Methods, func(m *method) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return b.Methods[i]
}

func (b *account) subscription(id payment.SubscriptionID) *subscription {
	i := slices.IndexFunc(b.Subscriptions, func(s *subscription) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return b.Subscriptions[i]
}

func (b *account) intent(id payment.IntentID) *intent {
	i := slices.IndexFunc(b.Intents, func(n *intent) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return b.Intents[i]
}

// emit queues an event about an object.
func (b *account) emit(kind, object, subject string, now time.Time) {
	b.EventCount++
	b.Outbox = append(b.Outbox, notice{ID: "evt_" + name(string(b.ID), "event", itoa(b.EventCount)), Type: kind,
		Object: object, About: subject, At: now})
}

// held returns s as a gateway shows it, without the action that the payer must take.
func (s *subscription) held(c payment.CustomerID) payment.GatewaySubscription {
	item := payment.Item{
		ID: "si_" + payment.ItemID(s.ID), Rate: rate(s.Plan), Quantity: s.Quantity, PeriodStart: s.PeriodStart,
		PeriodEnd: s.PeriodEnd,
	}
	h := payment.GatewaySubscription{
		ID: s.ID, Customer: c, Items: []payment.Item{item}, Plan: s.Plan.ID,
		Status: s.Status, Key: s.Key, TrialEnd: s.TrialEnd,
		CancelAtPeriodEnd: s.CancelAtPeriodEnd, CreatedAt: s.CreatedAt, Cancellation: s.Cancellation,
		Paused: s.Paused, PaidUntil: s.PaidUntil,
	}
	h.Confirming, h.Code = s.Change != nil, s.Code
	if s.Discount != nil {
		d := *s.Discount
		h.Discount = &d
	}
	if s.Next != nil {
		next := payment.Item{Rate: rate(s.Next.Plan), Quantity: s.Next.Quantity}
		h.Schedule = &payment.Schedule{Own: true, Phases: []payment.Phase{
			{Start: s.PeriodStart, End: s.PeriodEnd, Items: h.Items},
			{Start: s.PeriodEnd, Items: []payment.Item{next}, Plan: s.Next.Plan.ID},
		}}
	}
	return h
}

// rate returns a plan's rate.
func rate(p payment.Plan) payment.Rate {
	return payment.Rate{Ref: priceRef(p), Price: p.Price, Interval: p.Interval, IntervalCount: p.IntervalCount}
}

// priceRef returns a plan price's id. A price without an id, which the sandbox does not need, has the plan's id.
func priceRef(p payment.Plan) string {
	return cmp.Or(p.PriceRef, string(p.ID))
}
