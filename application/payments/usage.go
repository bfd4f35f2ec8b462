package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// flushUsage sends the queued usage before the subscription ends: after that it would not be billed. Usage that the
// gateway refuses cannot be billed anyway.
func (s *Service) flushUsage(ctx context.Context, by identity.Actor, t Terms) error {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil || t.Plans.MeterOf(c.Subscription) == nil {
		return nil //nolint:nilerr // the caller reports it
	}
	if err := s.SendUsage(ctx, mirrorActor(by)); payment.OutcomeUnknown(err) {
		return err
	}
	return nil
}

// usageBatch is the number of usage events that are read at a time.
const usageBatch = 100

// SendUsage sends the queued usage events of by's workspace to the gateway. An event that the gateway refuses stays
// queued, and does not block others. by is the system.
func (s *Service) SendUsage(ctx context.Context, by identity.Actor) error {
	t, err := s.terms(by)
	if err != nil {
		return ignoring(err)
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil {
		return ignoring(err)
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return err
	}
	for {
		events, err := s.meters.QueuedUsage(ctx, by.Workspace, t.Account, usageBatch)
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			err = errors.Join(err, s.sendUsage(ctx, by, t, c, now, &events[i]))
		}
		if err != nil {
			return err
		}
	}
}

// sendUsage sends one event. It stores that the event is tried before the call: from then on no report is added to it,
// and if the process ends before the outcome is stored, the event is sent again only as long as the gateway recognizes
// it.
func (s *Service) sendUsage(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer, now time.Time, e *payment.UsageEvent,
) error {
	if !e.Sendable(by.At, now, c) {
		return s.loseUsage(ctx, by, t, e)
	}
	first := e.TriedAt.IsZero()
	if first {
		quantity, wasTried, err := s.meters.TryUsage(ctx, by.Workspace, e.ID, by.At)
		if err != nil || !wasTried { // another job has it
			return err
		}
		e.Quantity = quantity
	}
	if e.Quantity == 0 { // a correction has undone it
		return s.meters.SentUsage(ctx, by.Workspace, e.ID)
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	err := call(callCtx, func(ctx context.Context) error { return t.Gateway.ReportUsage(ctx, *e) })
	switch {
	case err == nil:
		return s.meters.SentUsage(ctx, by.Workspace, e.ID)
	case first && !payment.OutcomeUnknown(err): // it had no effect
		return errors.Join(err, s.meters.RestoreUsage(ctx, by.Workspace, e.ID))
	}
	return err
}

// loseUsage deletes an event that the gateway would not count, or would count twice, and records it.
func (s *Service) loseUsage(ctx context.Context, by identity.Actor, t Terms, e *payment.UsageEvent) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		_, err := tx.Payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
			c.LoseUsage(by, e)
			return nil
		})
		return errors.Join(ignoring(err), tx.Meters.SentUsage(ctx, by.Workspace, e.ID))
	})
}
