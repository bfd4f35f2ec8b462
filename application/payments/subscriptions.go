package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/revision"
)

// View is a subscription as its workspace applies it.
type View struct {
	payment.Subscription
	Sold     *payment.Plan // with the price that is paid; nil if it is not among the org's plans
	Parts    []payment.Component
	Entitled bool
	Default  payment.MethodID // the method that is charged; "" without one
	Action   *payment.Action  // what the payer must do; only for users who manage payments
	Stale    bool             // the gateway could not be reached
	Made     bool             // created by this call
	Credit   payment.Money    // deducted from the next invoices; the zero Money without a credit

	Gateway   payment.GatewayKind
	Revision  int64 // of the customer, which includes all of this
	UpdatedAt time.Time
}

// HidesPlans reports whether an org shows its plans only to callers with a credential.
func (s *Service) HidesPlans(org identity.OrgID) bool { return s.deps.Terms(org).PlansRequireSignIn }

// Plans returns the org's plans, and the workspace's current plan. The caller may be in no workspace.
func (s *Service) Plans(
	ctx context.Context, by identity.Actor,
) (plans payment.Plans, current payment.PlanID, err error) {
	t, err := s.terms(by)
	if errors.Is(err, payment.ErrNotConfigured) {
		return nil, "", nil
	}
	if payment.MaySee(by) != nil {
		return t.Plans.Offered(""), "", nil
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err == nil && c.Subscription != nil {
		current = c.Subscription.Plan
	}
	if errors.Is(err, payment.ErrNoCustomer) {
		err = nil
	}
	return t.Plans.Offered(current), current, err
}

// Subscription returns the live subscription, or payment.ErrNoSubscription.
func (s *Service) Subscription(ctx context.Context, by identity.Actor) (*View, error) {
	if err := payment.MaySee(by); err != nil {
		return nil, err
	}
	t, err := s.terms(by)
	if errors.Is(err, payment.ErrNotConfigured) {
		return nil, payment.ErrNoSubscription
	}
	if err != nil {
		return nil, err
	}
	r, stale, err := s.readMirror(ctx, by, t, subscriptions)
	c := r.customer
	switch {
	case err != nil:
		return nil, err
	case c == nil || c.Subscription == nil:
		return nil, payment.ErrNoSubscription
	}
	if stale || payment.MayManage(by) != nil || !c.Subscription.NeedsAction() { // a slow gateway is waited for once
		v, err := s.view(ctx, by, t, c)
		if err != nil {
			return nil, err
		}
		v.Stale = stale
		return v, nil
	}
	return s.viewWithAction(ctx, by, t, r)
}

// viewWithAction returns the subscription with the payer's required action. It reads the action from the
// gateway each time, because its secret is never stored, unless r was just read. It stores the rest of what it reads.
func (s *Service) viewWithAction(ctx context.Context, by identity.Actor, t Terms, r reading) (*View, error) {
	stale, err, c := false, error(nil), r.customer
	if r.seen.Subscriptions == nil {
		r, stale, err = s.refreshWithinPatience(ctx, by, t, c, subscriptions)
	}
	if stale {
		v, err := s.view(ctx, by, t, c)
		if err != nil {
			return nil, err
		}
		v.Stale = true // it is returned without the action
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	if r.customer.Subscription == nil {
		return nil, payment.ErrNoSubscription
	}
	v, err := s.view(ctx, by, t, r.customer)
	if err != nil {
		return nil, err
	}
	v.Action = actionOf(r.seen.Subscriptions, v.ID)
	return v, nil
}

func (s *Service) view(ctx context.Context, by identity.Actor, t Terms, c *payment.Customer) (*View, error) {
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	v := &View{Subscription: *c.Subscription, Entitled: c.Subscription.Entitled(now, t.Grace), Credit: c.Credit,
		Gateway: t.Kind, Default: c.DefaultID(), Revision: c.Revision, UpdatedAt: c.UpdatedAt}
	if plan, err := t.Plans.Find(v.Plan); err == nil {
		v.Sold = v.Paid(plan)
	}
	v.Parts = v.Components(t.Plans, t.AddOns)
	return v, nil
}

// actionOf returns what the payer must do for a subscription; nil if held is, or if there is nothing to do.
func actionOf(subscriptions *[]payment.GatewaySubscription, id payment.SubscriptionID) *payment.Action {
	if subscriptions == nil {
		return nil
	}
	for _, h := range *subscriptions {
		if h.ID == id {
			return h.Action
		}
	}
	return nil
}

// Subscribe starts a subscription. key identifies the call: the same key returns the same subscription,
// and charges once.
func (s *Service) Subscribe(
	ctx context.Context, by identity.Actor, key string, w payment.SubscribeRequest,
) (*View, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	plan, err := t.Plans.Find(w.Plan) // before a customer is created
	if err != nil {
		return nil, err
	}
	if w.Members, err = s.members(ctx, by, t); err != nil {
		return nil, err
	}
	if w.Quantity == 0 {
		w.Quantity, _ = plan.SeatsFor(w.Members, 0)
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return nil, err
	}
	w.AutomaticTax, w.Trials = t.AutomaticTax, t.Trials
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	plans, subscriptions := t.Plans, (*[]payment.GatewaySubscription)(nil)
	w.Ended = c.CheckoutUntil
	isChecked := c.Pending == nil // otherwise it was checked when it began, or has to wait
	if isChecked {
		if plans, err = s.verified(callCtx, t, t.Plans, w.Plan); err != nil {
			return nil, err
		}
		if w.AddOns, err = s.verifiedAddOns(callCtx, t, w.AddOns); err != nil {
			return nil, err
		}
		// A subscription may have been created elsewhere, or by a call whose response was lost.
		r, endedAt, err := s.endCheckouts(ctx, callCtx, by, t, c, now)
		if err != nil {
			return nil, err
		}
		c, w.Ended, subscriptions = r.customer, endedAt, r.seen.Subscriptions
		if c, w.Debt, err = s.debt(ctx, callCtx, by, t, c, now); err != nil {
			return nil, err
		}
		if c, err = s.loadFingerprints(ctx, callCtx, by, t, c); err != nil {
			return nil, err
		}
		if w, err = s.withPromotion(ctx, callCtx, by, t, c, key, w); err != nil {
			return nil, err
		}
	}
	isRepetition := false
	start, err := s.withMethods(ctx, callCtx, by, t, c, func() (*payment.Customer, error) {
		return s.beginSubscribe(ctx, by, t, key, func(c *payment.Customer) (err error) {
			if !isChecked && c.Pending == nil && c.LiveSubscription() == nil { // the other operation has just ended
				return payment.ErrPending.WithRetryAfter(time.Second)
			}
			isRepetition, err = c.Subscribe(by, now, key, w, plans)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if isRepetition {
		v, err := s.view(ctx, by, t, start)
		if err != nil {
			return nil, err
		}
		v.Made = v.Key == key
		v.Action = actionOf(subscriptions, v.ID)
		return v, nil
	}
	v, err := s.execute(ctx, callCtx, by, t, start)
	// the next call gets a new customer if this one was deleted
	if rejected(err) || errors.Is(err, payment.ErrMethodNotFound) {
		_, err = s.replaceDeleted(ctx, callCtx, by, t, start, err)
		if err == nil {
			err = payment.ErrMethodRequired
		}
		return nil, err
	}
	if err == nil && v == nil {
		err = payment.ErrNoSubscription
	}
	if err != nil {
		return nil, err
	}
	v.Made = true
	return v, nil
}

// ChangeSubscription changes the live subscription: at the price of a preview or not at all, if ch has one. key as for
// Subscribe. If the change was made by an earlier call that had the same key, or the same preview and changes, it
// returns the subscription. payment.ErrPreviewNotFound, payment.ErrPreviewOutdated.
func (s *Service) ChangeSubscription(ctx context.Context, by identity.Actor, key string, match revision.Match,
	ch payment.Changes) (*View, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	if ch.Preview != "" {
		if ch.Offer, err = s.openOffer(by, t, ch.Preview); err != nil {
			return nil, err
		}
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) {
		return nil, payment.ErrNoSubscription
	}
	if err != nil {
		return nil, err
	}
	if c.HasDone(by.At, key, ch) {
		return s.viewWithAction(ctx, by, t, reading{customer: c})
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	if c.Pending == nil {
		if c, err = s.fresh(ctx, callCtx, by, t, c); err != nil {
			return nil, err
		}
	}
	plans, isChecked := t.Plans, c.Pending == nil // otherwise it was checked when it began, or has to wait
	if isChecked {
		if ch, plans, err = s.checkChange(ctx, callCtx, by, t, c, ch); err != nil {
			return nil, err
		}
	}
	isDone, read := false, c
	c, err = s.update(ctx, by, t, func(c *payment.Customer) (err error) {
		mustCheck := c.Pending == nil && (!isChecked || !c.SoldAs(read)) // an operation has just ended
		if mustCheck && !c.HasDone(by.At, key, ch) {
			return payment.ErrPending.WithRetryAfter(time.Second)
		}
		isDone, err = c.ChangeSubscription(by, key, match, ch, plans)
		return err
	})
	if err != nil {
		return nil, err
	}
	if isDone {
		return s.view(ctx, by, t, c)
	}
	v, err := s.execute(ctx, callCtx, by, t, c)
	if err == nil && v == nil {
		err = payment.ErrNoSubscription
	}
	return v, err
}

// CancelSubscription ends the live subscription at once. key as for Subscribe.
func (s *Service) CancelSubscription(
	ctx context.Context, by identity.Actor, key string, match revision.Match, reason payment.Cancellation,
) error {
	t, err := s.termsForManager(by)
	if err != nil {
		return err
	}
	if err := s.flushUsage(ctx, by, t); err != nil {
		return err
	}
	c, err := s.update(ctx, by, t, func(c *payment.Customer) error {
		return c.CancelSubscription(by, key, match,
			reason)
	})
	if errors.Is(err, payment.ErrNoCustomer) {
		return payment.ErrNoSubscription
	}
	if err != nil || c.Pending == nil || c.Pending.Key != key { // an earlier call with the key has done it
		return err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	_, err = s.execute(ctx, callCtx, by, t, c)
	return err
}

// execute performs the pending operation at the gateway, and records the outcome. The subscription is
// nil if none is live afterwards. An operation with an unknown outcome stays pending for the job.
func (s *Service) execute(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*View, error) {
	current, out, err := s.settle(ctx, callCtx, by, t, c)
	if err != nil {
		return nil, err
	}
	if current.Subscription == nil {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	v, err := s.view(ctx, by, t, current)
	if err != nil {
		return nil, err
	}
	v.Action = actionOf(&out.subscriptions, v.ID)
	return v, nil
}
