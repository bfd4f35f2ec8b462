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

// outcome performs an operation, or looks up its outcome if the operation is too old to be repeated or
// the gateway refuses to repeat it.
func (s *Service) outcome(
	calls context.Context, by identity.Actor, t Terms, c *billing.Customer, op *billing.Operation,
) ([]billing.GatewaySubscription, error) {
	plan, err := op.Bought(t.Plans)
	if op.Kind != billing.Cancel && err != nil || by.At.Sub(op.At) > repeatable {
		return s.lookUpOutcome(calls, by, t, c, op, &billing.Rejection{Reason: "expired"})
	}
	held, err := s.perform(calls, t, c, op, plan)
	if errors.Is(err, billing.ErrCardDeclined) {
		err = s.restoreDefault(calls, t, c, op, err)
	}
	if errors.Is(err, billing.ErrCardDeclined) || errors.Is(err, billing.ErrSubscriptionExists) || err == nil {
		return held, err
	}
	_, unsettled := errors.AsType[*billing.UnsettledError](err)
	if unsettled || op.Repeated && !billing.OutcomeUnknown(err) {
		return s.lookUpOutcome(calls, by, t, c, op, err)
	}
	return held, err
}

// restoreDefault restores the default from before a declined purchase. It returns why the purchase was
// declined, or an unknown outcome if the default could not be restored.
func (s *Service) restoreDefault(calls context.Context, t Terms, c *billing.Customer, op *billing.Operation, declined error) error {
	if op.Before == "" {
		return declined
	}
	if err := s.makeDefault(calls, t, c.ID, op.Before); err != nil && !errors.Is(err, billing.ErrMethodNotFound) {
		return &billing.UnsettledError{Refusal: err.Error()}
	}
	return declined
}

// lookUpOutcome determines the outcome of an operation from the gateway's current state. refusal is set if the
// operation had no effect. While that is uncertain, the error is one with an unknown outcome.
func (s *Service) lookUpOutcome(
	calls context.Context, by identity.Actor, t Terms, c *billing.Customer, op *billing.Operation, refusal error,
) ([]billing.GatewaySubscription, error) {
	held, err := callWithRetry(calls, func(ctx context.Context) ([]billing.GatewaySubscription, error) {
		return t.Gateway.Subscriptions(ctx, c.ID)
	})
	if err != nil {
		return nil, &billing.UnsettledError{Refusal: err.Error()}
	}
	age := by.At.Sub(op.At)
	found := age > repeatable
	switch op.Kind {
	case billing.Subscribe:
		found = slices.ContainsFunc(held, func(h billing.GatewaySubscription) bool { return h.Key == op.Key })
	case billing.Cancel:
		found = found || !slices.ContainsFunc(held, func(h billing.GatewaySubscription) bool { return h.ID == op.Subscription && h.Status.Live() })
	}
	switch {
	case found:
		return held, nil
	case age < settledAfter:
		return nil, &billing.UnsettledError{Refusal: refusal.Error()}
	}
	return nil, &billing.Rejection{Reason: refusal.Error()}
}

// perform calls the gateway for an operation, however often it was called before.
func (s *Service) perform(
	calls context.Context, t Terms, c *billing.Customer, op *billing.Operation, plan *billing.Plan,
) ([]billing.GatewaySubscription, error) {
	one := func(h billing.GatewaySubscription, err error) ([]billing.GatewaySubscription, error) {
		return []billing.GatewaySubscription{h}, err
	}
	switch op.Kind {
	case billing.Cancel:
		for _, also := range op.Also {
			if err := call(calls, func(ctx context.Context) error { return t.Gateway.Cancel(ctx, op.Key+"_"+string(also), c.ID, also) }); err != nil {
				return nil, err
			}
		}
		return nil, call(calls, func(ctx context.Context) error { return t.Gateway.Cancel(ctx, op.Key, c.ID, op.Subscription) })
	case billing.Change:
		return one(callWithRetry(calls, func(ctx context.Context) (billing.GatewaySubscription, error) {
			return t.Gateway.Amend(ctx, op.Key, c.ID, op.Subscription, op.Amendment(*plan))
		}))
	}
	if op.Subscription != "" {
		if err := call(calls, func(ctx context.Context) error {
			return t.Gateway.GiveUp(ctx, op.Key+"_giveway", c.ID, op.Subscription)
		}); err != nil {
			return nil, err
		}
	}
	if op.Method != "" {
		if err := s.makeDefault(calls, t, c.ID, op.Method); err != nil {
			return nil, err
		}
	}
	return one(callWithRetry(calls, func(ctx context.Context) (billing.GatewaySubscription, error) {
		return t.Gateway.Subscribe(ctx, op.Key, c.ID, op.Order(*plan))
	}))
}
