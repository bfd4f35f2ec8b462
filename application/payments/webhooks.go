package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Receive stores an org's gateway event, once, and queues its processing. Its content is not trusted: the job reads the
// data from the gateway. payment.ErrGatewayNotFound, ErrSignature, ErrEventMalformed.
func (s *Service) Receive(ctx context.Context, org identity.OrgID, kind payment.GatewayKind, body []byte,
	signature string, now time.Time) error {
	t := s.deps.Terms(org)
	if t.Gateway == nil || t.Kind != kind {
		return payment.ErrGatewayNotFound
	}
	if err := payment.CheckSignature(t.WebhookKeys, signature, body, now); err != nil {
		return err
	}
	e, err := payment.ParseEvent(body)
	if err != nil {
		return err
	}
	ours := e.Account == t.Connected
	if ours && e.About.ID != "" {
		if e.Customer, err = s.customerOf(ctx, t, e.About); err != nil {
			return err // and the gateway delivers the event again
		}
	}
	e.Org, e.Gateway, e.Account, e.State, e.ReceivedAt = org, kind, t.Account, payment.Received, now
	if ours && e.Customer != "" {
		if e.Workspace, err = s.payments.Find(ctx, org, t.Account, e.Customer); err != nil &&
			!errors.Is(err, payment.ErrNoCustomer) {
			return err
		}
	}
	if e.Workspace == "" {
		e.State, e.EndedAt = payment.Ignored, now
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		fresh, err := tx.Inbox.Put(ctx, org, e)
		if err != nil || !fresh || e.State != payment.Received {
			return err
		}
		if e.TellsOfDecline() {
			by := identity.System(e.Org, e.Workspace, "webhook "+e.ID, now)
			if _, err := tx.Payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
				c.Declined(by, t.Limits)
				return nil
			}); ignoring(err) != nil {
				return err
			}
		}
		return queueEvents(ctx, tx.Jobs, e, now)
	})
}

// customerOf returns the customer of what an event is about, or "".
func (s *Service) customerOf(ctx context.Context, t Terms, object payment.Reference) (payment.CustomerID, error) {
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := callWithRetry(callCtx, func(ctx context.Context) (payment.CustomerID, error) {
		return t.Gateway.CustomerOf(ctx, object)
	})
	if rejected(err) { // a retry would be refused, too; the next audit finds what the event is about
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", payment.ErrGatewayUnavailable, err)
	}
	return c, nil
}

func queueEvents(ctx context.Context, jobs ports.Jobs, e *payment.Event, now time.Time) error {
	by := identity.System(e.Org, e.Workspace, "webhook "+e.ID, now)
	return jobs.Enqueue(ctx, job.New(by, payment.EventsJob, string(e.Customer), now))
}

// ProcessEvents reads from the gateway the data that a customer's waiting events are about, for all of them
// at once. Only one such job per customer runs at a time, so that an older read cannot overwrite a
// newer one. by is the system.
func (s *Service) ProcessEvents(ctx context.Context, by identity.Actor, customer payment.CustomerID) error {
	t, err := s.terms(by)
	if err != nil {
		return ignoring(err)
	}
	for {
		events, err := s.inbox.Waiting(ctx, by.Org, t.Account, customer)
		if err != nil || len(events) == 0 {
			return err
		}
		c, failure := s.resync(ctx, by, t)
		if failure == nil {
			failure = errors.Join(s.cancelIntents(ctx, by, t, c), s.endForfeited(ctx, by, t, c))
		}
		switch {
		case isGone(failure):
			failure = nil
		case failure != nil && ctx.Err() != nil:
			return failure // the attempt was interrupted, which is not the events' fault
		}
		for i := range events {
			if failure != nil {
				events[i].Fail(code(failure), by.At)
			} else {
				events[i].Finish(by.At)
			}
		}
		if err := s.inbox.Save(ctx, by.Org, events...); err != nil || failure != nil {
			return errors.Join(failure, err)
		}
	}
}

// cancelIntents cancels the open setup intents for a customer whose payments are paused, the subscription whose first
// payment waits for the payer, and the open checkout pages, because browsers pay there, and confirm the others, at the
// gateway without Atrium.
func (s *Service) cancelIntents(ctx context.Context, by identity.Actor, t Terms, c *payment.Customer) error {
	if c.PausedAt.IsZero() || c.ID == "" { // without an id, Stripe would be asked for the intents of all customers
		return nil
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	if sub := c.Subscription; sub != nil && sub.Status == payment.Incomplete {
		key := newKey()
		err := call(callCtx, func(ctx context.Context) error { return t.Gateway.GiveUp(ctx, key, c.ID, sub.ID) })
		if err != nil && !errors.Is(err, payment.ErrSubscriptionExists) {
			return err
		}
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return err
	}
	if c.MayCheckOut(now) {
		err := call(callCtx, func(ctx context.Context) error { return t.Gateway.EndCheckouts(ctx, c.ID) })
		if err != nil {
			return err
		}
	}
	return call(callCtx, func(ctx context.Context) error { return t.Gateway.CancelSetupIntents(ctx, c.ID) })
}

// endForfeited ends a subscription whose payment was refunded or is disputed, if the org's rules say so.
func (s *Service) endForfeited(ctx context.Context, by identity.Actor, t Terms, c *payment.Customer) error {
	u := c.LiveSubscription()
	if u == nil || !t.Losses.End() {
		return nil
	}
	newest, err := s.payments.Invoices(ctx, by.Workspace, t.Account, payment.Paid,
		page.Query{Limit: payment.MirroredInvoices})
	if err != nil || !t.Losses.Forfeited(u.ID, newest.Items) {
		return err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	if err := call(callCtx, func(ctx context.Context) error {
		return t.Gateway.Cancel(ctx, "atrium_forfeited_"+string(u.ID), c.ID, u.ID, payment.Cancellation{})
	}); err != nil {
		return err
	}
	_, err = s.resync(ctx, by, t)
	return err
}

// Events lists the events that by's org received from its gateways. by is the system.
func (s *Service) Events(ctx context.Context, by identity.Actor, state payment.EventState,
	q page.Query) (page.Of[payment.Event], error) {
	return s.inbox.List(ctx, by.Org, state, q)
}

// Replay queues an event again, whatever its state. by is the system.
func (s *Service) Replay(ctx context.Context, by identity.Actor, account, id string) (e *payment.Event, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if e, err = tx.Inbox.Get(ctx, by.Org, account, id); err != nil {
			return err
		}
		if e.Workspace == "" { // it may belong to a customer by now
			e.Workspace, err = tx.Payments.Find(ctx, by.Org, account, e.Customer)
			if err != nil {
				return err
			}
		}
		e.Replay()
		if err := tx.Inbox.Save(ctx, by.Org, *e); err != nil {
			return err
		}
		return queueEvents(ctx, tx.Jobs, e, by.At)
	})
	return e, err
}
