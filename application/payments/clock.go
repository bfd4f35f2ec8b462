package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// Clock returns the time of by's workspace at the gateway. Sandbox only: payment.ErrGatewayNotFound.
func (s *Service) Clock(ctx context.Context, by identity.Actor) (time.Time, error) {
	t, c, err := s.clocked(ctx, by)
	if err != nil {
		return time.Time{}, err
	}
	return t.now(ctx, by, c)
}

// clocked returns the terms of a sandbox, and by's customer, or nil.
func (s *Service) clocked(ctx context.Context, by identity.Actor) (Terms, *payment.Customer, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return t, nil, err
	}
	if t.Payer == nil {
		return t, nil, payment.ErrGatewayNotFound
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) {
		err = nil
	}
	return t, c, err
}

// AdvanceClock moves the clock of by's workspace forward, and of no other. It stops at each time at which something is
// due, such as a renewal, and processes its events before it goes on, as a server does that is not in a hurry. It
// returns the time that is reached. Sandbox only: payment.ErrGatewayNotFound.
func (s *Service) AdvanceClock(ctx context.Context, by identity.Actor, a payment.ClockAdvance) (time.Time, error) {
	t, c, err := s.clocked(ctx, by)
	if err != nil {
		return time.Time{}, err
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return time.Time{}, err
	}
	target, err := a.Target(now)
	if err != nil {
		return time.Time{}, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	if c, err = s.customer(ctx, callCtx, by, t); err != nil { // whose clock it is
		return time.Time{}, err
	}
	system := mirrorActor(by)
	for now.Before(target) {
		if now, err = t.Payer.Advance(ctx, c.ID, target); err != nil {
			return now, err
		}
		if err := s.ProcessEvents(ctx, system, c.ID); err != nil {
			return now, err
		}
	}
	_, err = s.expirePacks(ctx, system, t, c)
	return now, err
}
