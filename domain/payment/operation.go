package payment

import (
	"cmp"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// OperationKind is what a request to the gateway does.
type OperationKind string

// The kinds.
const (
	Subscribe OperationKind = "subscribe"
	Change    OperationKind = "change"
	Cancel    OperationKind = "cancel"
	Pay       OperationKind = "pay" // an open invoice
	Buy       OperationKind = "buy" // credit packs
)

// Operation is one requested change of the subscription, or one requested payment. It is stored before the gateway is
// called, so that any node can repeat the call under the same key.
type Operation struct {
	Kind OperationKind `json:"kind"`
	Key  string        `json:"key"`
	At   time.Time     `json:"at"`

	Plan      PlanID   `json:"plan,omitempty"`
	Quantity  int      `json:"quantity,omitempty"`
	Method    MethodID `json:"method,omitempty"`
	TrialDays int      `json:"trial_days,omitempty"`
	TrialEnd  TrialEnd `json:"trial_end,omitempty"` // of a Subscribe with TrialDays

	AutomaticTax bool `json:"automatic_tax,omitempty"`

	// Sold is the plan as it was when the operation started: a repeated call must send the same values,
	// even if the configuration has changed. Nil if no price is sent.
	Sold *Plan `json:"sold,omitempty"`

	// Before is the default method before a Subscribe, restored if the Subscribe is refused. Empty if
	// it is unchanged.
	Before MethodID `json:"before,omitempty"`

	// Repeated says that the call was made before and got no response. It may have taken effect.
	Repeated bool `json:"repeated,omitempty"`

	// Also lists live subscriptions that end together with Subscription.
	Also []SubscriptionID `json:"also,omitempty"`

	Invoice InvoiceID `json:"invoice,omitempty"` // that a Pay pays

	Promotion *Promotion `json:"promotion,omitempty"` // that a Subscribe or a Change uses

	// changes or ends; for Subscribe, an incomplete one that it replaces
	Subscription      SubscriptionID `json:"subscription,omitempty"`
	Item              ItemID         `json:"item,omitempty"`  // of Subscription that a Change changes
	Meter             string         `json:"meter,omitempty"` // the metered price that Sold replaces
	Resell            bool           `json:"resell,omitempty"`
	KeepQuantity      bool           `json:"keep_quantity,omitempty"` // Quantity is the one that it has
	AddOns            []ItemOrder    `json:"add_ons,omitempty"`
	AtRenewal         bool           `json:"at_renewal,omitempty"`
	ProrateAt         time.Time      `json:"prorate_at,omitzero"` // of the preview that the caller has agreed to
	CancelAtPeriodEnd *bool          `json:"cancel_at_period_end,omitempty"`
	Drops             NextTerms      `json:"drops,omitzero"` // what was to change at the renewal

	Request string `json:"request,omitempty"` // of a Change with a preview, as Changes.request returns it

	Adjustment *Adjustment `json:"adjustment,omitempty"` // by an operator; nil if the workspace asks
	TrialUntil time.Time   `json:"trial_until,omitzero"` // the new end of the trial; zero if it stays

	EndTrial bool `json:"end_trial,omitempty"` // the trial ends with a Change, which is charged at once

	Pause        *bool         `json:"pause,omitempty"`        // true pauses, false resumes
	PaidUntil    time.Time     `json:"paid_until,omitzero"`    // of the paused subscription that is resumed
	Cancellation *Cancellation `json:"cancellation,omitempty"` // replaces why it is cancelled; nil leaves that
}

// settling is a ReconcileJob's duration, and the time between two of its attempts, as callers are told.
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
	return false, ErrPending.WithRetryAfter(c.Pending.wait(by.At))
}

// Subscribe starts a subscription under key. ErrSubscriptionExists if one is live, ErrInvoiceUnpaid beside a debt. It
// returns an incomplete subscription of the same plan, quantity and method as it is (again), and so it does with the
// one that the same key has created. It replaces an incomplete one that differs. now is the time at the gateway, which
// decides which methods have expired. ErrSeatsInUse for too small a quantity.
func (c *Customer) Subscribe(
	by identity.Actor, now time.Time, key string, w SubscribeRequest, plans Plans,
) (isRepetition bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if isResumed, err := c.resumes(by, Subscribe, key); isResumed || err != nil {
		return false, err
	}
	if err := c.noOtherCheckout(by, w.Ended); err != nil { // a payer could pay on its page, too
		return false, err
	}
	plan, err := plans.buyable(w.Plan)
	if err == nil {
		plan, err = plan.PricedIn(w.Currency)
	}
	if err != nil {
		return false, err
	}
	if err := c.unpaused(); err != nil {
		return false, err
	}
	var refusal error
	w.Quantity, refusal = plan.SeatsFor(w.Members, w.Quantity)
	op := &Operation{
		Kind: Subscribe, Key: key, At: by.At, Plan: plan.ID, Quantity: w.Quantity, Sold: plan.snapshot(),
		Promotion: w.Promotion, AutomaticTax: w.AutomaticTax, Adjustment: w.Adjustment,
	}
	if s := c.Subscription; s != nil {
		switch {
		case s.Key == key, c.waitsFor(w):
			return true, nil
		case s.Status != Incomplete:
			return false, ErrSubscriptionExists
		}
		op.Subscription = s.ID
	}
	if refusal != nil {
		return false, refusal
	}
	if w.Debt != "" {
		return false, ErrInvoiceUnpaid
	}
	if w.Code != "" && w.Promotion == nil { // another operation was in progress when it was to be looked up
		return false, ErrPending.WithRetryAfter(settling)
	}
	if !c.HadTrial && !w.NoTrial {
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
	addOns, sum, err := plan.withAddOns(w.AddOns)
	if err != nil {
		return false, err
	}
	op.AddOns = addOns
	needsMethod := !plan.ByTransfer() &&
		(plan.total(w.Quantity) > w.Promotion.deduction(plan.total(w.Quantity)) || sum > 0)
	if op.TrialDays > 0 {
		if needsMethod {
			op.TrialEnd = cmp.Or(w.Trials.WithoutCard, CancelTrial)
		}
		needsMethod = w.Trials.CardRequired && !plan.ByTransfer()
	}
	if op.Method == "" && needsMethod {
		return false, ErrMethodRequired
	}
	if op.Method != c.Default {
		op.Before = c.Default
	}
	data := map[string]any{"plan_id": plan.ID, "quantity": w.Quantity}
	if len(op.AddOns) > 0 {
		data["add_ons"] = addOnIDs(w.AddOns)
	}
	c.begin(by, op, "subscription.requested", string(c.ID), op.Promotion.note(data))
	return false, nil
}

// Changes are a caller's changes of the subscription; nil keeps the current value.
type Changes struct {
	Plan              *PlanID
	Quantity          *int
	CancelAtPeriodEnd *bool
	AddOns            []AddOnOrder // nil: none changes

	EndTrial bool      // pays from now on, without the rest of the trial
	Pause    *bool     // true pauses the subscription, false resumes it
	Feedback *Feedback // why it is cancelled; with CancelAtPeriodEnd only
	Comment  *string   // likewise

	Preview   string     // the signature of the preview with the price that the caller has agreed to; "" for none
	Offer     *Offer     // of Preview; nil without one
	Code      string     // a promotion code; "" for none
	Promotion *Promotion // that the gateway has for Code, if ChangeUsesCode; or that Adjustment gives

	Adjustment *Adjustment `json:"-"` // by an operator; nil if the workspace asks
}

// ChangeSubscription starts a change under key. A change to a shorter period or a smaller amount takes
// effect when the period ends, any other at once: the rule of Stripe's customer portal
// (https://docs.stripe.com/customer-management/configure-portal). What is left of a shorter period that
// was paid is credited. ErrSubscriptionEnds if the subscription ends when the change would take effect.
// During a trial every change takes effect at once, because nothing was paid. A plan without a trial ends it, as does
// Changes.EndTrial: ErrMethodRequired without a payment method that can be charged then. If there is nothing to
// do, or if the change was made before (HasDone), done is true and err is nil.
func (c *Customer) ChangeSubscription(by identity.Actor, key string, match revision.Match, ch Changes,
	plans Plans) (isDone bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if c.HasDone(by.At, key, ch) {
		if c.Subscription == nil {
			return false, ErrNoSubscription
		}
		return true, nil
	}
	if isResumed, err := c.resumes(by, Change, key); isResumed || err != nil {
		return false, err
	}
	op, err := c.planChange(by, key, match, ch, plans)
	if err != nil || op == nil {
		return err == nil, err
	}
	if (op.Resell && !op.AtRenewal) || len(op.AddOns) > 0 || op.EndTrial || (op.Pause != nil && !*op.Pause) {
		if err := c.unpaused(); err != nil {
			return false, err
		}
	}
	if ch.Offer != nil {
		if err := ch.Offer.Check(c, op); err != nil {
			return false, err
		}
		op.ProrateAt, op.Request = ch.Offer.Preview.At, ch.request()
	}
	data := map[string]any{"plan_id": op.Plan, "quantity": op.Quantity, "at_renewal": op.AtRenewal}
	if op.CancelAtPeriodEnd != nil {
		data["cancel_at_period_end"] = *op.CancelAtPeriodEnd
	}
	if op.Pause != nil {
		data["paused"] = *op.Pause
	}
	if op.EndTrial {
		data["trial"] = false
	}
	if len(op.AddOns) > 0 {
		data["add_ons"] = addOnIDs(ch.AddOns)
	}
	data = op.Why().note(op.Promotion.note(data))
	c.begin(by, op, "subscription.change_requested", string(op.Subscription), data)
	return false, nil
}

// planChange returns a change's operation. It is nil if there is nothing to do.
func (c *Customer) planChange(
	by identity.Actor, key string, match revision.Match, ch Changes, plans Plans,
) (*Operation, error) {
	s := c.Subscription
	if s == nil {
		return nil, ErrNoSubscription
	}
	if err := match.Check(c.Revision); err != nil {
		return nil, err
	}
	resumes := s.Status == Paused && ch.Pause != nil && !*ch.Pause
	if s.Status != Active && s.Status != Trialing && s.Status != PastDue && !resumes {
		return nil, ErrSubscriptionNotActive
	}
	hasSale := ch.Plan != nil || ch.Quantity != nil
	hasCode := ch.Code != "" || ch.Promotion != nil
	if s.Item.Unrecognized && (hasSale || len(ch.AddOns) > 0 || ch.Pause != nil || ch.EndTrial ||
		hasCode) { // its end needs no item
		return nil, ErrSubscriptionUnrecognized
	}
	op := &Operation{Kind: Change, Key: key, At: by.At, Subscription: s.ID, Item: s.Item.ID, Plan: s.Plan,
		Quantity: s.Quantity}
	if len(ch.AddOns) > 0 {
		return c.planAddOns(op, ch)
	}
	if ch.Pause != nil {
		return c.planPause(op, ch, plans)
	}
	if ch.Plan != nil {
		op.Plan = *ch.Plan
	}
	if op.KeepQuantity = ch.Quantity == nil; ch.Quantity != nil {
		op.Quantity = *ch.Quantity
	}
	if s.Paused && (hasSale || hasCode) {
		return nil, ErrSubscriptionPaused
	}
	if p := s.Pending; p != nil && !p.Elsewhere && !hasSale && ch.Promotion != nil {
		op.Plan, op.Quantity, op.AtRenewal = p.Plan, p.Quantity, true // the discount begins with that change
	}
	op.Resell = hasSale && (op.Plan != s.Plan || op.Quantity != s.Quantity || s.Pending != nil || s.Confirming)
	if op.Resell {
		if err := c.price(op, plans); err != nil {
			return nil, err
		}
	}
	if err := c.endTrial(op, ch, plans); err != nil {
		return nil, err
	}
	if op.Resell && !op.AtRenewal && s.Status == PastDue && (op.Plan != s.Plan || op.Quantity != s.Quantity) {
		return nil, ErrRenewalUnpaid
	}
	if ch.CancelAtPeriodEnd != nil && *ch.CancelAtPeriodEnd != s.CancelAtPeriodEnd {
		op.CancelAtPeriodEnd = ch.CancelAtPeriodEnd
		c.restore(op, plans)
	}
	if err := errors.Join(op.promote(s, ch), op.explain(s, ch), op.adjust(s, ch.Adjustment)); err != nil {
		return nil, err
	}
	if !op.Resell && !op.EndTrial && op.CancelAtPeriodEnd == nil && op.Promotion == nil && op.Cancellation == nil &&
		op.TrialUntil.IsZero() {
		return nil, nil //nolint:nilnil // there is nothing to do, and that is no error
	}
	ends := s.CancelAtPeriodEnd
	if op.CancelAtPeriodEnd != nil {
		ends = *op.CancelAtPeriodEnd
	}
	if ends && op.Resell && op.AtRenewal {
		return nil, ErrSubscriptionEnds
	}
	return op, nil
}

// CancelSubscription starts to end the subscription, and all other live ones, at once, under key. It changes nothing if
// that was done before (HasDone).
func (c *Customer) CancelSubscription(by identity.Actor, key string, match revision.Match, reason Cancellation) error {
	if err := c.allow(by); err != nil {
		return err
	}
	if c.HasDone(by.At, key, Changes{}) {
		return nil
	}
	if isResumed, err := c.resumes(by, Cancel, key); isResumed || err != nil {
		return err
	}
	if c.Subscription == nil {
		return ErrNoSubscription
	}
	if err := match.Check(c.Revision); err != nil {
		return err
	}
	op := &Operation{Kind: Cancel, Key: key, At: by.At, Subscription: c.Subscription.ID, Also: c.Surplus}
	if reason != (Cancellation{}) {
		op.Cancellation = &reason
	}
	c.begin(by, op, "subscription.cancellation_requested", string(c.Subscription.ID), reason.note(map[string]any{}))
	return nil
}

func (c *Customer) begin(by identity.Actor, op *Operation, event, subject string, data map[string]any) {
	c.Pending = op
	c.Record(by, event, subject, data)
	c.touch(by)
}

// Bought returns the plan that the operation sells, or ErrPlanNotFound if neither the operation nor plans
// have it.
func (o *Operation) Bought(plans Plans) (*Plan, error) {
	switch {
	case o.Sold != nil:
		return o.Sold, nil
	case o.Kind == Pay, o.Kind == Change: // no price is sent
		return new(Plan), nil
	}
	return plans.Find(o.Plan)
}
