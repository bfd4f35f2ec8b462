package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// BillingDetails are the billing details that a workspace has entered.
type BillingDetails struct {
	payment.Details
	Gateway payment.GatewayKind
}

// Details returns the billing details that the workspace has entered.
func (s *Service) Details(ctx context.Context, by identity.Actor) (*BillingDetails, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) {
		return &BillingDetails{Gateway: t.Kind}, nil
	}
	if err != nil {
		return nil, err
	}
	return &BillingDetails{c.Entered, t.Kind}, nil
}

// ChangeDetails replaces the billing details. The gateway gets them first: if it refuses them, or does not respond, the
// old ones stay, and a job sends those again. fault.ErrInvalid, payment.ErrTaxIDInvalid, payment.ErrAddressInvalid.
func (s *Service) ChangeDetails(ctx context.Context, by identity.Actor, d payment.Details) (*BillingDetails, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	if d, err = payment.CheckDetails(by, d); err != nil {
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return nil, err
	}
	c.Entered = d
	err = s.giveDetails(ctx, callCtx, by, t, c)
	if errors.Is(err, payment.ErrCustomerGone) {
		if c, err = s.replaceDeleted(ctx, callCtx, by, t, c, err); err != nil {
			return nil, err
		}
		c.Entered = d
		err = s.giveDetails(ctx, callCtx, by, t, c)
	}
	if err != nil {
		return nil, err
	}
	c, err = s.payments.Update(ctx, by, t.Account, func(c *payment.Customer) error { return c.Enter(by, d) })
	if err != nil {
		return nil, err
	}
	return &BillingDetails{c.Entered, t.Kind}, nil
}

// FollowDetails sends the gateway the current name of the workspace and its billing details, unless it already has
// them. by is the system.
func (s *Service) FollowDetails(ctx context.Context, by identity.Actor) error {
	t, err := s.terms(by)
	if err != nil {
		return ignoring(err)
	}
	return ignoring(s.followDetails(ctx, by, t))
}

// followDetails sends details that changed in the workspace. Only failures that can pass are retried.
func (s *Service) followDetails(ctx context.Context, by identity.Actor, t Terms) error {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil || c.ID == "" {
		return err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	err = s.giveDetails(ctx, callCtx, by, t, c)
	switch {
	case errors.Is(err, payment.ErrCustomerGone):
		_, err = s.recordDeletion(ctx, by, t, c.ID)
	case err != nil && !payment.OutcomeUnknown(err) && !payment.NoEffect(err) && !isGone(err):
		err = job.Final(err) // it would be refused again
	}
	return err
}

// giveDetails sends the gateway the details of c. Until it has accepted them, a job is queued that does the same.
func (s *Service) giveDetails(ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer) error {
	d, err := s.describe(ctx, by, t, c)
	if err != nil || c.HasGiven(d) {
		return err
	}
	key := newKey()
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if _, err := tx.Payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
			c.BeginGiving(key)
			return nil
		}); err != nil {
			return err
		}
		return queueDetails(ctx, tx.Jobs, by, by.At.Add(payment.ReconcileAfter))
	})
	if err != nil {
		return err
	}
	if err := call(callCtx, func(ctx context.Context) error {
		return t.Gateway.UpdateCustomer(ctx, key, c.ID,
			d)
	}); err != nil {
		return err // the job sends the stored details
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		isEmpty := false
		if _, err := tx.Payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
			isEmpty = c.EndGiving(by, key, d)
			return nil
		}); err != nil {
			return err
		}
		if isEmpty {
			_, err := tx.Jobs.Cancel(ctx, by.Workspace, payment.DetailsSubject)
			return err
		}
		return queueDetails(ctx, tx.Jobs, by, by.At)
	})
}

// queueDetails queues a job that sends the gateway the details of the customer of by's workspace.
func queueDetails(ctx context.Context, jobs ports.Jobs, by identity.Actor, due time.Time) error {
	return jobs.Enqueue(ctx, job.New(by, payment.DetailsJob, payment.DetailsSubject, due))
}

// describe returns the details of c that the gateway must store.
func (s *Service) describe(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (payment.Details, error) {
	w, err := s.deps.Workspaces.Find(ctx, by.Org, string(by.Workspace))
	if err != nil {
		return payment.Details{}, err
	}
	owners, err := ownersAddresses(ctx, s.deps.Workspaces, by)
	if err != nil {
		return payment.Details{}, err
	}
	d := c.Describe(w.Name, owners)
	d.Taxed = t.AutomaticTax && d.Address.Country != ""
	return d, nil
}

// ownersAddresses returns the e-mail addresses of the people who own by's workspace, the caller's first.
func ownersAddresses(ctx context.Context, workspaces ports.Workspaces, by identity.Actor) ([]string, error) {
	owners, err := ownersOf(ctx, workspaces, by)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, m := range owners {
		switch {
		case m.Email == "":
		case m.User == by.User:
			all = append([]string{m.Email}, all...)
		default:
			all = append(all, m.Email)
		}
	}
	return all, nil
}
