package payments

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// repeatable is the time for which a call is repeated under its key: gateways forget keys after a day.
const repeatable = 23 * time.Hour

// settledAfter is an operation's minimum age before a look-up that finds no effect of it counts: an unanswered call may
// still be running at the gateway.
const settledAfter = 2 * time.Minute

// result is an operation's outcome at the gateway.
type result struct {
	subscriptions []payment.GatewaySubscription
	paid          payment.InvoicePayment // of a Pay or a Buy
}

// settle performs the pending operation at the gateway, and records the outcome, even if the caller goes away. An
// operation with an unknown outcome stays pending for the job.
func (s *Service) settle(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, result, error) {
	op, look := c.Pending, c.Look()
	ctx, callCtx, cancel := outlast(ctx, callCtx)
	defer cancel()
	out, err := s.outcome(callCtx, by, t, c, op)
	if payment.OutcomeUnknown(err) || (err != nil && ctx.Err() != nil) {
		return nil, result{}, err
	}
	if err != nil {
		current, err := s.abandon(ctx, callCtx, by, t, op, err)
		return current, out, err
	}
	var current *payment.Customer
	for isSettled := false; ; {
		current, err = s.update(ctx, by, t, func(c *payment.Customer) error {
			if op.Kind == payment.Pay || op.Kind == payment.Buy {
				isSettled = c.SettlePayment(by, op.Key, look, out.paid, out.subscriptions, t.Plans)
			} else {
				isSettled = c.Settle(by, op.Key, look, out.subscriptions, t.Plans)
			}
			return nil
		})
		if err != nil {
			return nil, result{}, err
		}
		if isSettled {
			break
		}
		look = current.Look() // what a read has stored since may be newer than the response
		retryCtx, end := context.WithTimeout(ctx, max(timeLeft(callCtx), rereadFor))
		all, unread := s.subscriptions(retryCtx, t, c)
		if end(); unread != nil {
			return nil, result{}, unread
		}
		out.subscriptions = all
	}
	if op.Kind == payment.Subscribe && current.BeganAgain() {
		// if its invoice is paid, a period of usage begins
		if r, unread := s.refresh(ctx, callCtx, by, t, current, invoices); unread == nil {
			current = r.customer
		}
	}
	return current, out, nil
}

// abandon records that an operation failed because of cause, which it returns.
func (s *Service) abandon(
	ctx, callCtx context.Context, by identity.Actor, t Terms, op *payment.Operation, cause error,
) (*payment.Customer, error) {
	isAbandoned := false
	current, err := s.update(ctx, by, t, func(c *payment.Customer) error {
		isAbandoned = c.Abandon(by, op.Key, code(cause))
		return nil
	})
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	if isAbandoned && op.TrialDays > 0 && !current.HadTrial { // otherwise only this workspace could use the trial
		_ = s.trials.Release(ctx, by, t.Account)
	}
	if op.Kind == payment.Subscribe && op.Subscription != "" { // the replaced subscription has ended
		_, _ = s.refresh(ctx, callCtx, by, t, current, subscriptions)
	}
	return current, cause
}

// outcome performs an operation, or looks up its outcome if the operation is too old to be repeated or
// the gateway refuses to repeat it.
func (s *Service) outcome(
	callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, op *payment.Operation,
) (result, error) {
	plan, err := op.Bought(t.Plans)
	if (op.Kind != payment.Cancel && err != nil) || by.At.Sub(op.At) > repeatable {
		return s.lookUpOutcome(callCtx, by, t, c, op, &payment.Rejection{Reason: "expired"})
	}
	out, err := s.perform(callCtx, t, c, op, plan)
	if errors.Is(err, payment.ErrCardDeclined) || errors.Is(err, payment.ErrAddressInvalid) ||
		errors.Is(err, payment.ErrPromotionInvalid) || payment.NoEffect(err) {
		err = s.restoreDefault(callCtx, t, c, op, err)
	}
	partial := op.Kind == payment.Subscribe || op.Kind == payment.Change // they return one subscription
	if err == nil && partial && (op.Repeated || len(c.Surplus) > 0) {
		out.subscriptions, err = s.subscriptions(callCtx, t, c)
		return out, err
	}
	if errors.Is(err, payment.ErrCardDeclined) || errors.Is(err, payment.ErrSubscriptionExists) || err == nil {
		return out, err
	}
	_, isUnsettled := errors.AsType[*payment.UnsettledError](err)
	if isUnsettled || (op.Repeated && !payment.OutcomeUnknown(err)) {
		return s.lookUpOutcome(callCtx, by, t, c, op, err)
	}
	return out, err
}

// subscriptions reads the subscriptions after a call that may have taken effect. The response to a repeated call may be
// the first call's, since when the payer may have paid, and no response names other live subscriptions.
func (s *Service) subscriptions(
	callCtx context.Context, t Terms, c *payment.Customer,
) ([]payment.GatewaySubscription, error) {
	all, err := callWithRetry(callCtx, func(ctx context.Context) ([]payment.GatewaySubscription, error) {
		return t.Gateway.Subscriptions(ctx, c.ID)
	})
	if err != nil { // the repetition finds the effect
		err = &payment.UnsettledError{Refusal: err.Error()}
	}
	return all, err
}

// restoreDefault restores the default from before a purchase that was declined or had no effect. It
// returns the reason, or an unknown outcome if the default could not be restored.
func (s *Service) restoreDefault(callCtx context.Context, t Terms, c *payment.Customer, op *payment.Operation,
	decline error) error {
	if op.Before == "" {
		return decline
	}
	if err := s.makeDefault(callCtx, t, c.ID, op.Before); err != nil && !errors.Is(err, payment.ErrMethodNotFound) {
		return &payment.UnsettledError{Refusal: err.Error()}
	}
	return decline
}

// lookUpOutcome determines an operation's outcome from the gateway's current state. refusal is set if the operation had
// no effect. While that is uncertain, the error is one with an unknown outcome.
func (s *Service) lookUpOutcome(
	callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, op *payment.Operation, refusal error,
) (result, error) {
	all, err := s.subscriptions(callCtx, t, c)
	if err != nil {
		return result{}, err
	}
	out := result{subscriptions: all}
	age := by.At.Sub(op.At)
	found := age > repeatable
	switch op.Kind {
	case payment.Subscribe:
		found = slices.ContainsFunc(all, func(h payment.GatewaySubscription) bool { return h.Key == op.Key })
	case payment.Pay, payment.Buy:
		if found, out.paid, err = s.paidInvoice(callCtx, t, c, op); err != nil {
			return result{}, &payment.UnsettledError{Refusal: err.Error()}
		}
	case payment.Cancel:
		found = found || !slices.ContainsFunc(all,
			func(h payment.GatewaySubscription) bool { return h.ID == op.Subscription && h.Status.Live() })
	}
	switch {
	case found:
		return out, nil
	case age < settledAfter:
		return result{}, &payment.UnsettledError{Refusal: refusal.Error()}
	}
	return result{}, &payment.Rejection{Reason: refusal.Error()}
}

// paidInvoice reports whether a Pay's invoice is paid at the gateway, or a Buy's is paid or can be.
func (s *Service) paidInvoice(
	callCtx context.Context, t Terms, c *payment.Customer, op *payment.Operation,
) (found bool, p payment.InvoicePayment, err error) {
	all, err := callWithRetry(callCtx,
		func(ctx context.Context) ([]payment.Invoice, error) { return t.Gateway.Invoices(ctx, c.ID, "") })
	if err != nil {
		return false, p, err
	}
	if op.Kind == payment.Buy {
		if i := soldBy(all, op.Key); i != nil && (i.Status == payment.Paid || i.Status == payment.Open) {
			return true, payment.InvoicePayment{Invoice: *i}, nil
		}
		return false, p, nil
	}
	for _, i := range all {
		if i.ID == op.Invoice && i.Status == payment.Paid {
			return true, payment.InvoicePayment{Invoice: i}, nil
		}
	}
	return false, p, nil
}

// perform calls the gateway for an operation, however often it was called before.
func (s *Service) perform(
	callCtx context.Context, t Terms, c *payment.Customer, op *payment.Operation, plan *payment.Plan,
) (result, error) {
	one := func(h payment.GatewaySubscription, err error) (result, error) {
		return result{subscriptions: []payment.GatewaySubscription{h}}, err
	}
	switch op.Kind {
	case payment.Pay:
		return s.pay(callCtx, t, c, op)
	case payment.Buy:
		return s.buy(callCtx, t, c, op, plan)
	case payment.Cancel:
		reason := op.Why()
		for _, id := range op.Also {
			if err := call(callCtx, func(ctx context.Context) error {
				return t.Gateway.Cancel(ctx, op.Key+"_"+string(id), c.ID, id, reason)
			}); err != nil {
				return result{}, err
			}
		}
		return result{}, call(callCtx, func(ctx context.Context) error {
			return t.Gateway.Cancel(ctx, op.Key, c.ID, op.Subscription, reason)
		})
	case payment.Change:
		return one(callWithRetry(callCtx, func(ctx context.Context) (payment.GatewaySubscription, error) {
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
	return one(callWithRetry(callCtx, func(ctx context.Context) (payment.GatewaySubscription, error) {
		return t.Gateway.Subscribe(ctx, op.Key, c.ID, op.Order(*plan))
	}))
}
