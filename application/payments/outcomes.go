package payments

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
)

// repeatable is how long a call is repeated under its key: gateways forget keys after a day.
const repeatable = 23 * time.Hour

// settledAfter is how old an operation must be before a look-up that finds no effect of it counts: an
// unanswered call may still be running at the gateway.
const settledAfter = 2 * time.Minute

// result is the outcome of an operation at the gateway.
type result struct {
	subscriptions []billing.GatewaySubscription
	paid          billing.InvoicePayment // of a Pay
}

// settle performs the pending operation at the gateway, and records the outcome, even if the caller goes away. An
// operation with an unknown outcome stays pending for the job.
func (s *Service) settle(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer,
) (*billing.Customer, result, error) {
	op, look := c.Pending, c.Look()
	ctx, callCtx, cancel := outlast(ctx, callCtx)
	defer cancel()
	out, err := s.outcome(callCtx, by, t, c, op)
	if billing.OutcomeUnknown(err) || err != nil && ctx.Err() != nil {
		return nil, result{}, err
	}
	var now *billing.Customer
	abandoned := false
	for settled := false; ; {
		var stored error
		now, stored = s.update(ctx, by, t, func(c *billing.Customer) error {
			abandoned = err != nil && c.Pending != nil && c.Pending.Key == op.Key
			switch {
			case err != nil:
				settled = true
				c.Abandon(by, op.Key, code(err))
			case op.Kind == billing.Pay:
				settled = c.SettlePayment(by, op.Key, look, out.paid, out.subscriptions, t.Plans)
			default:
				settled = c.Settle(by, op.Key, look, out.subscriptions, t.Plans)
			}
			return nil
		})
		if stored != nil {
			return nil, result{}, errors.Join(err, stored)
		}
		if settled {
			break
		}
		look = now.Look() // what a read has stored since may be newer than the response
		again, end := context.WithTimeout(ctx, max(timeLeft(callCtx), rereadFor))
		all, unread := s.subscriptions(again, t, c)
		if end(); unread != nil {
			return nil, result{}, unread
		}
		out.subscriptions = all
	}
	if abandoned && op.TrialDays > 0 && !now.HadTrial { // otherwise only this workspace could use the trial
		_ = s.trials.Release(ctx, by, t.Account)
	}
	if err != nil && op.Kind == billing.Subscribe && op.Subscription != "" { // the replaced subscription has ended
		_, _ = s.refresh(ctx, callCtx, by, t, now, subscriptions)
	}
	if err == nil && op.Kind == billing.Subscribe && now.BeganAgain() {
		// if its invoice is paid, a period of usage begins
		if r, unread := s.refresh(ctx, callCtx, by, t, now, invoices); unread == nil {
			now = r.customer
		}
	}
	return now, out, err
}

// outcome performs an operation, or looks up its outcome if the operation is too old to be repeated or
// the gateway refuses to repeat it.
func (s *Service) outcome(
	callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer, op *billing.Operation,
) (result, error) {
	plan, err := op.Bought(t.Plans)
	if op.Kind != billing.Cancel && err != nil || by.At.Sub(op.At) > repeatable {
		return s.lookUpOutcome(callCtx, by, t, c, op, &billing.Rejection{Reason: "expired"})
	}
	out, err := s.perform(callCtx, t, c, op, plan)
	if errors.Is(err, billing.ErrCardDeclined) || errors.Is(err, billing.ErrAddressInvalid) ||
		errors.Is(err, billing.ErrPromotionInvalid) || billing.NoEffect(err) {
		err = s.restoreDefault(callCtx, t, c, op, err)
	}
	partial := op.Kind == billing.Subscribe || op.Kind == billing.Change // they return one subscription
	if err == nil && partial && (op.Repeated || len(c.Surplus) > 0) {
		out.subscriptions, err = s.subscriptions(callCtx, t, c)
		return out, err
	}
	if errors.Is(err, billing.ErrCardDeclined) || errors.Is(err, billing.ErrSubscriptionExists) || err == nil {
		return out, err
	}
	_, unsettled := errors.AsType[*billing.UnsettledError](err)
	if unsettled || op.Repeated && !billing.OutcomeUnknown(err) {
		return s.lookUpOutcome(callCtx, by, t, c, op, err)
	}
	return out, err
}

// subscriptions reads the subscriptions after a call that may have taken effect. The response to a repeated call may be
// that of the first one, since when the payer may have paid, and no response names other live subscriptions.
func (s *Service) subscriptions(
	callCtx context.Context, t Terms, c *billing.Customer,
) ([]billing.GatewaySubscription, error) {
	all, err := callWithRetry(callCtx, func(ctx context.Context) ([]billing.GatewaySubscription, error) {
		return t.Gateway.Subscriptions(ctx, c.ID)
	})
	if err != nil { // the repetition finds the effect
		err = &billing.UnsettledError{Refusal: err.Error()}
	}
	return all, err
}

// restoreDefault restores the default from before a purchase that was declined or had no effect. It
// returns the reason, or an unknown outcome if the default could not be restored.
func (s *Service) restoreDefault(callCtx context.Context, t Terms, c *billing.Customer, op *billing.Operation,
	declined error) error {
	if op.Before == "" {
		return declined
	}
	if err := s.makeDefault(callCtx, t, c.ID, op.Before); err != nil && !errors.Is(err, billing.ErrMethodNotFound) {
		return &billing.UnsettledError{Refusal: err.Error()}
	}
	return declined
}

// lookUpOutcome determines the outcome of an operation from the gateway's current state. refusal is set if the
// operation had no effect. While that is uncertain, the error is one with an unknown outcome.
func (s *Service) lookUpOutcome(
	callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer, op *billing.Operation, refusal error,
) (result, error) {
	all, err := s.subscriptions(callCtx, t, c)
	if err != nil {
		return result{}, err
	}
	out := result{subscriptions: all}
	age := by.At.Sub(op.At)
	found := age > repeatable
	switch op.Kind {
	case billing.Subscribe:
		found = slices.ContainsFunc(all, func(h billing.GatewaySubscription) bool { return h.Key == op.Key })
	case billing.Pay:
		if found, out.paid, err = s.paidInvoice(callCtx, t, c, op); err != nil {
			return result{}, &billing.UnsettledError{Refusal: err.Error()}
		}
	case billing.Cancel:
		found = found || !slices.ContainsFunc(all,
			func(h billing.GatewaySubscription) bool { return h.ID == op.Subscription && h.Status.Live() })
	}
	switch {
	case found:
		return out, nil
	case age < settledAfter:
		return result{}, &billing.UnsettledError{Refusal: refusal.Error()}
	}
	return result{}, &billing.Rejection{Reason: refusal.Error()}
}

// paidInvoice reports whether the invoice of a Pay is paid at the gateway.
func (s *Service) paidInvoice(
	callCtx context.Context, t Terms, c *billing.Customer, op *billing.Operation,
) (found bool, p billing.InvoicePayment, err error) {
	all, err := callWithRetry(callCtx,
		func(ctx context.Context) ([]billing.Invoice, error) { return t.Gateway.Invoices(ctx, c.ID) })
	if err != nil {
		return false, p, err
	}
	for _, i := range all {
		if i.ID == op.Invoice && i.Status == billing.Paid {
			return true, billing.InvoicePayment{Invoice: i}, nil
		}
	}
	return false, p, nil
}

// perform calls the gateway for an operation, however often it was called before.
func (s *Service) perform(
	callCtx context.Context, t Terms, c *billing.Customer, op *billing.Operation, plan *billing.Plan,
) (result, error) {
	one := func(h billing.GatewaySubscription, err error) (result, error) {
		return result{subscriptions: []billing.GatewaySubscription{h}}, err
	}
	switch op.Kind {
	case billing.Pay:
		return s.pay(callCtx, t, c, op)
	case billing.Cancel:
		why := op.Why()
		for _, also := range op.Also {
			if err := call(callCtx, func(ctx context.Context) error {
				return t.Gateway.Cancel(ctx, op.Key+"_"+string(also), c.ID, also, why)
			}); err != nil {
				return result{}, err
			}
		}
		return result{}, call(callCtx, func(ctx context.Context) error {
			return t.Gateway.Cancel(ctx, op.Key, c.ID, op.Subscription, why)
		})
	case billing.Change:
		return one(callWithRetry(callCtx, func(ctx context.Context) (billing.GatewaySubscription, error) {
			return t.Gateway.Amend(ctx, op.Key, c.ID, op.Subscription, op.Amendment(*plan))
		}))
	}
	if op.Subscription != "" {
		if err := call(callCtx, func(ctx context.Context) error {
			return t.Gateway.GiveUp(ctx, op.Key+"_giveway", c.ID, op.Subscription)
		}); err != nil {
			return result{}, err
		}
	}
	if op.Method != "" {
		if err := s.makeDefault(callCtx, t, c.ID, op.Method); err != nil {
			return result{}, err
		}
	}
	return one(callWithRetry(callCtx, func(ctx context.Context) (billing.GatewaySubscription, error) {
		return t.Gateway.Subscribe(ctx, op.Key, c.ID, op.Order(*plan))
	}))
}
