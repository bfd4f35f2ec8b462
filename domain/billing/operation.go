package billing

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// OperationKind is the kind of a request to the gateway.
type OperationKind string

// The kinds.
const (
	Subscribe OperationKind = "subscribe"
	Change    OperationKind = "change"
	Cancel    OperationKind = "cancel"
	Pay       OperationKind = "pay" // an open invoice
)

// Operation is one requested change of the subscription, or one requested payment. It is stored before the gateway is called, so
// that any node can repeat the call under the same key.
type Operation struct {
	Kind OperationKind `json:"kind"`
	Key  string        `json:"key"`
	At   time.Time     `json:"at"`

	Plan      PlanID   `json:"plan,omitempty"`
	Quantity  int      `json:"quantity,omitempty"`
	Method    MethodID `json:"method,omitempty"`
	TrialDays int      `json:"trial_days,omitempty"`

	// Sold is the plan as it was when the operation started: a repeated call must send the same values,
	// even if the configuration has changed. Nil if nothing is sold.
	Sold *Plan `json:"sold,omitempty"`

	// Keep is the change scheduled for renewal; it stays if a Change is declined. Nil if there is none.
	Keep *Sale `json:"keep,omitempty"`

	// Before is the default method before a Subscribe, restored if the Subscribe is refused. Empty if
	// it is unchanged.
	Before MethodID `json:"before,omitempty"`

	// Repeated says that the call was made before and got no response. It may have taken effect.
	Repeated bool `json:"repeated,omitempty"`

	// Also lists live subscriptions that end together with Subscription.
	Also []SubscriptionID `json:"also,omitempty"`

	Invoice InvoiceID `json:"invoice,omitempty"` // that a Pay pays

	Subscription      SubscriptionID `json:"subscription,omitempty"` // changes or ends; for Subscribe, an incomplete one that it replaces
	Resell            bool           `json:"resell,omitempty"`
	AtRenewal         bool           `json:"at_renewal,omitempty"`
	CancelAtPeriodEnd *bool          `json:"cancel_at_period_end,omitempty"`
}

// SubscribeRequest is a caller's request for a subscription.
type SubscribeRequest struct {
	Plan     PlanID
	Method   MethodID // "" for the default
	Quantity int      // 1 to 10000
}

// settling is how long a ReconcileJob takes, and the time between two of its attempts, as callers are
// told.
const settling = 5 * time.Second

// wait returns how long a caller has to wait for the outcome of o: until the job that resolves it has
// run.
func (o *Operation) wait(now time.Time) time.Duration {
	return max(o.At.Add(ReconcileAfter).Sub(now), 0) + settling
}

// resumes reports whether the operation in progress is the caller's own, under key. ErrPending if it is
// another one.
func (c *Customer) resumes(by identity.Actor, kind OperationKind, key string) (bool, error) {
	switch {
	case c.Pending == nil:
		return false, nil
	case c.Pending.Kind == kind && c.Pending.Key == key:
		op := *c.Pending
		op.Repeated = true
		c.Pending = &op
		return true, nil
	}
	return false, ErrPending.After(c.Pending.wait(by.At))
}

// Subscribe starts a subscription under key. ErrSubscriptionExists if one is live. It returns an
// incomplete subscription of the same plan, quantity and method as it is (again), and so it does with
// the one that the same key has created. It replaces an incomplete one that differs. now is the time at
// the gateway, which decides which methods have expired.
func (c *Customer) Subscribe(by identity.Actor, now time.Time, key string, w SubscribeRequest, plans Plans) (again bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if resumed, err := c.resumes(by, Subscribe, key); resumed || err != nil {
		return false, err
	}
	plan, err := plans.buyable(w.Plan)
	if err != nil {
		return false, err
	}
	if err := c.unpaused(); err != nil {
		return false, err
	}
	op := &Operation{Kind: Subscribe, Key: key, At: by.At, Plan: plan.ID, Quantity: w.Quantity, Sold: plan.snapshot()}
	if s := c.Subscription; s != nil {
		switch {
		case s.Key == key, s.Status == Incomplete && s.Plan == plan.ID && s.Quantity == w.Quantity && (w.Method == "" || w.Method == c.Default):
			return true, nil
		case s.Status != Incomplete:
			return false, ErrSubscriptionExists
		}
		op.Subscription = s.ID
	}
	if !c.HadTrial {
		op.TrialDays = plan.TrialDays
	}
	if w.Method != "" {
		m, err := c.Chargeable(by, now, w.Method)
		if err != nil {
			return false, err
		}
		op.Method = m.ID
	} else if m := c.DefaultMethod(); m != nil && !m.Expired(now) {
		op.Method = m.ID
	} else if m := c.MissingDefault(now); m != nil {
		op.Method = m.ID
	}
	if op.Method == "" && op.TrialDays == 0 && plan.Price.Amount > 0 {
		return false, ErrMethodRequired
	}
	if op.Method != c.Default {
		op.Before = c.Default
	}
	c.begin(by, op, "subscription.requested", string(c.ID), map[string]any{"plan_id": plan.ID, "quantity": w.Quantity})
	return false, nil
}

// Changes are a caller's changes of the subscription; nil keeps the current value.
type Changes struct {
	Plan              *PlanID
	Quantity          *int
	CancelAtPeriodEnd *bool
}

// ChangeSubscription starts a change under key. A change to a shorter period or a smaller amount takes
// effect when the period ends, any other at once: the rule of Stripe's customer portal
// (https://docs.stripe.com/customer-management/configure-portal). What is left of a shorter period that
// was paid is credited. ErrSubscriptionEnds if the subscription ends when the change would take effect.
// During a trial every change takes effect at once, because nothing was paid. If there is nothing to
// do, done is true and err is nil.
func (c *Customer) ChangeSubscription(by identity.Actor, key string, at revision.Match, ch Changes, plans Plans) (done bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if resumed, err := c.resumes(by, Change, key); resumed || err != nil {
		return false, err
	}
	s := c.Subscription
	if s == nil {
		return false, ErrNoSubscription
	}
	if err := at.Check(c.Revision); err != nil {
		return false, err
	}
	if s.Status != Active && s.Status != Trialing && s.Status != PastDue {
		return false, ErrSubscriptionNotActive
	}
	op := &Operation{Kind: Change, Key: key, At: by.At, Subscription: s.ID, Plan: s.Plan, Quantity: s.Quantity}
	if ch.Plan != nil {
		op.Plan = *ch.Plan
	}
	if ch.Quantity != nil {
		op.Quantity = *ch.Quantity
	}
	asked := ch.Plan != nil || ch.Quantity != nil
	op.Resell = asked && (op.Plan != s.Plan || op.Quantity != s.Quantity || s.Pending != nil || s.Confirming)
	if op.Resell {
		if err := c.price(op, plans); err != nil {
			return false, err
		}
	}
	if op.Resell && !op.AtRenewal {
		if err := c.unpaused(); err != nil {
			return false, err
		}
		op.Keep = s.Pending.sale(plans)
	}
	if ch.CancelAtPeriodEnd != nil && *ch.CancelAtPeriodEnd != s.CancelAtPeriodEnd {
		op.CancelAtPeriodEnd = ch.CancelAtPeriodEnd
	}
	if !op.Resell && op.CancelAtPeriodEnd == nil {
		return true, nil
	}
	ends := s.CancelAtPeriodEnd
	if op.CancelAtPeriodEnd != nil {
		ends = *op.CancelAtPeriodEnd
	}
	if ends && op.Resell && op.AtRenewal {
		return false, ErrSubscriptionEnds
	}
	data := map[string]any{"plan_id": op.Plan, "quantity": op.Quantity, "at_renewal": op.AtRenewal}
	if op.CancelAtPeriodEnd != nil {
		data["cancel_at_period_end"] = *op.CancelAtPeriodEnd
	}
	c.begin(by, op, "subscription.change_requested", string(s.ID), data)
	return false, nil
}

// price decides when a change of plan or quantity takes effect.
func (c *Customer) price(op *Operation, plans Plans) error {
	s := c.Subscription
	to, err := plans.Find(op.Plan)
	if err != nil {
		return err
	}
	op.Sold = to.snapshot()
	if to.Unavailable && op.Plan != s.Plan {
		return ErrPlanUnavailable
	}
	from, err := plans.Find(s.Plan)
	if err != nil { // the current plan is no longer sold: the change takes effect at once
		return nil
	}
	if from.Price.Currency != to.Price.Currency {
		return ErrPlanUnavailable.Because("The plan is sold in another currency than the subscription. End the subscription, then begin another one.")
	}
	less := to.length() < from.length() || to.total(op.Quantity) < from.total(s.Quantity)
	op.AtRenewal = less && s.Status != Trialing
	return nil
}

// PayInvoice starts to charge the default method for an invoice, under key. If the invoice is paid
// already, done is true and err is nil. now is the time at the gateway. ErrInvoiceNotPayable,
// ErrMethodRequired.
func (c *Customer) PayInvoice(by identity.Actor, now time.Time, key string, i *Invoice) (done bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if resumed, err := c.resumes(by, Pay, key); resumed || err != nil {
		return false, err
	}
	switch i.Status {
	case Paid:
		return true, nil
	case Draft, Open:
	default:
		return false, ErrInvoiceNotPayable
	}
	if err := c.unpaused(); err != nil {
		return false, err
	}
	if m := c.DefaultMethod(); i.AmountDue > 0 && (m == nil || m.Expired(now)) {
		return false, ErrMethodRequired
	}
	op := &Operation{Kind: Pay, Key: key, At: by.At, Invoice: i.ID}
	c.begin(by, op, "invoice.payment_requested", string(i.ID), nil)
	return false, nil
}

// CancelSubscription starts to end the subscription, and all other live ones, at once, under key.
func (c *Customer) CancelSubscription(by identity.Actor, key string, at revision.Match) error {
	if err := c.allow(by); err != nil {
		return err
	}
	if resumed, err := c.resumes(by, Cancel, key); resumed || err != nil {
		return err
	}
	if c.Subscription == nil {
		return ErrNoSubscription
	}
	if err := at.Check(c.Revision); err != nil {
		return err
	}
	op := &Operation{Kind: Cancel, Key: key, At: by.At, Subscription: c.Subscription.ID, Also: c.Surplus}
	c.begin(by, op, "subscription.cancellation_requested", string(c.Subscription.ID), nil)
	return nil
}

func (c *Customer) begin(by identity.Actor, op *Operation, event, subject string, data map[string]any) {
	c.Pending = op
	c.Record(by, event, subject, data)
	c.touch(by)
}

// Settle ends the operation of a key, and updates the mirror with the gateway's state after it. If the
// operation is settled already, it changes nothing.
func (c *Customer) Settle(by identity.Actor, key string, held []GatewaySubscription, plans Plans) {
	if c.Pending == nil || c.Pending.Key != key {
		return
	}
	op := c.Pending
	c.Pending = nil
	c.touch(by)
	if op.Kind == Subscribe && op.Method != "" && c.method(op.Method) != nil {
		c.Default = op.Method
	}
	c.applySubscriptions(by, held, plans)
}

// SettlePayment is Settle for a Pay, with what came of it.
func (c *Customer) SettlePayment(by identity.Actor, key string, p InvoicePayment, held []GatewaySubscription, plans Plans) {
	if c.Pending == nil || c.Pending.Key != key {
		return
	}
	if p.Invoice.Status == Paid {
		c.Record(by, "invoice.paid", string(p.Invoice.ID), map[string]any{"amount": p.Invoice.AmountPaid, "currency": p.Invoice.Currency})
	}
	c.Settle(by, key, held, plans)
	c.Invoices = []Invoice{p.Invoice}
}

// Abandon ends the operation of a key that had no effect at the gateway.
func (c *Customer) Abandon(by identity.Actor, key string, why string) {
	if c.Pending == nil || c.Pending.Key != key {
		return
	}
	c.Record(by, "subscription.request_failed", string(c.ID), map[string]any{"kind": c.Pending.Kind, "code": why})
	c.Pending = nil
	c.touch(by)
}

// Bought returns the plan that the operation sells, or ErrPlanNotFound if neither the operation nor plans
// have it.
func (o *Operation) Bought(plans Plans) (*Plan, error) {
	switch {
	case o.Sold != nil:
		return o.Sold, nil
	case o.Kind == Pay, o.Kind == Change && !o.Resell: // nothing is sold
		return &Plan{ID: o.Plan}, nil
	}
	return plans.Find(o.Plan)
}

// Order returns the request to the gateway for a Subscribe.
func (o *Operation) Order(p Plan) Order {
	return Order{Plan: p, Quantity: o.Quantity, Method: o.Method, TrialDays: o.TrialDays}
}

// Amendment returns the request to the gateway for a Change.
func (o *Operation) Amendment(p Plan) Amendment {
	return Amendment{Plan: p, Quantity: o.Quantity, AtRenewal: o.AtRenewal, Resell: o.Resell, CancelAtPeriodEnd: o.CancelAtPeriodEnd, Keep: o.Keep}
}
