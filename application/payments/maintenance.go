package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

// isGone reports whether err means that the workspace or its customer no longer exists.
func isGone(err error) bool {
	return errors.Is(err, payment.ErrNoCustomer) || errors.Is(err, identity.ErrWorkspaceNotFound) ||
		errors.Is(err, payment.ErrNotConfigured)
}

// Reconcile resolves calls without a known outcome: it repeats each under its own key until the gateway
// responds. by is the system.
func (s *Service) Reconcile(ctx context.Context, by identity.Actor) error {
	t, err := s.terms(by)
	if err == nil {
		err = s.reconcile(ctx, by, t)
	}
	if isGone(err) {
		return nil
	}
	return err
}

// reconcile finishes what a process left undone: the customer's creation, an operation with an unknown outcome, cards
// to detach.
func (s *Service) reconcile(ctx context.Context, by identity.Actor, t Terms) error {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil {
		return err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	if c.ID == "" {
		if c, err = s.createCustomer(ctx, callCtx, by, t, c); err != nil {
			return err
		}
	}
	if c.Pending != nil {
		c.Pending.Repeated = true
		if _, err := s.execute(ctx, callCtx, by, t, c); payment.OutcomeUnknown(err) {
			return err
		} // a refused operation is settled
	}
	for _, m := range c.Detaching() {
		if err := s.detach(ctx, callCtx, by, t, c, c.DefaultID(), m); err != nil {
			return err
		}
	}
	return nil
}

// Audit compares the mirror with the gateway, corrects it, records what has expired, and queues the next audit. by is
// the system.
func (s *Service) Audit(ctx context.Context, by identity.Actor) error {
	t, err := s.terms(by)
	if err != nil {
		return nil // audits start again with the next customer
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if isGone(err) {
		return nil
	}
	if err != nil || c.ID == "" {
		return err
	}
	wait, failure := s.expirePacks(ctx, by, t, c)
	// first: a permanent failure must not end the series
	if err := auditLater(ctx, s.deps.Jobs, by, c, wait); err != nil {
		return err
	}
	if failure != nil {
		return ignoring(failure)
	}
	// The job gives up if the gateway is gone for longer than a day.
	if err := watch(ctx, s.deps.Jobs, by, c); err != nil {
		return err
	}
	if err := queueDetails(ctx, s.deps.Jobs, by, by.At); err != nil {
		return err
	}
	if err := s.releaseTrial(ctx, by, t, c); err != nil {
		return ignoring(err)
	}
	different, err := s.differences(ctx, by, t, c)
	if errors.Is(err, payment.ErrCustomerGone) {
		_, err := s.recordDeletion(ctx, by, t, c.ID)
		return ignoring(err)
	}
	if err != nil {
		return err
	}
	if c, err = s.resync(ctx, by, t); err == nil { // refunds and disputes, too, and notices that are due
		err = s.endForfeited(ctx, by, t, c)
	}
	if err != nil || len(different) == 0 {
		return ignoring(err)
	}
	_, err = s.payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
		c.Corrected(mirrorActor(by), len(different))
		return nil
	})
	return ignoring(err)
}

func ignoring(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

// differences compares the mirror with the gateway. It reads again if the mirror changed in the meantime.
func (s *Service) differences(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) ([]event.Event, error) {
	callCtx, cancel := outbound(ctx)
	defer cancel()
	for range maxTries {
		look := c.Look()
		seen, err := s.see(callCtx, by, t, c, wallet, subscriptions)
		if err != nil {
			return nil, err
		}
		if c, err = s.payments.Customer(ctx, by.Workspace, t.Account); err != nil {
			return nil, err
		}
		if different, current := c.Differences(mirrorActor(by), look, seen, t.Plans); current {
			return different, nil
		}
	}
	return nil, errMoved
}

// Resume resumes a workspace's payments, and reports whether they were paused. by is the system.
func (s *Service) Resume(ctx context.Context, by identity.Actor) (isResumed bool, err error) {
	t, err := s.terms(by)
	if err != nil {
		return false, err
	}
	_, err = s.payments.Update(ctx, by, t.Account, func(c *payment.Customer) (err error) {
		isResumed, err = c.Resume(by)
		return err
	})
	if errors.Is(err, payment.ErrNoCustomer) {
		return false, nil
	}
	return isResumed, err
}

// Paused returns the workspaces of by's org whose payments are paused. by is the system.
func (s *Service) Paused(ctx context.Context, by identity.Actor) ([]identity.WorkspaceID, error) {
	t, err := s.terms(by)
	if err != nil {
		return nil, ignoring(err)
	}
	return s.payments.Paused(ctx, by.Org, t.Account)
}

// Duplicates returns the workspaces of by's org with several live subscriptions, and the surplus ones.
// by is the system.
func (s *Service) Duplicates(
	ctx context.Context, by identity.Actor,
) (map[identity.WorkspaceID][]payment.SubscriptionID, error) {
	t, err := s.terms(by)
	if err != nil {
		return nil, ignoring(err)
	}
	return s.payments.Duplicates(ctx, by.Org, t.Account)
}

// Customers lists the workspaces of by's org that are customers of its gateway. by is the system.
func (s *Service) Customers(
	ctx context.Context, by identity.Actor, q page.Query,
) (page.Of[identity.WorkspaceID], error) {
	t, err := s.terms(by)
	if err != nil {
		return page.Of[identity.WorkspaceID]{}, err
	}
	return s.payments.Customers(ctx, by.Org, t.Account, q)
}

// Differences returns how the mirror of by's workspace and the gateway differ, and changes nothing. by
// is the system.
func (s *Service) Differences(ctx context.Context, by identity.Actor) ([]event.Event, error) {
	t, err := s.terms(by)
	if err != nil {
		return nil, err
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil {
		return nil, err
	}
	return s.differences(ctx, by, t, c)
}
