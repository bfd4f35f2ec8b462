package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Intent is a setup intent, and the gateway that the payer's browser talks to.
type Intent struct {
	payment.SetupIntent
	Gateway        payment.GatewayKind
	PublishableKey string
	Account        string // the connected account, for Stripe Connect; "" without one
}

// SetupIntent lets the payer add a payment method. key identifies the call: the same key returns the
// same intent. payment.ErrPaused, payment.ErrIntentLimit.
func (s *Service) SetupIntent(ctx context.Context, by identity.Actor, key string, u payment.Usage) (*Intent, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return nil, err
	}
	if err := s.beginIntent(ctx, callCtx, by, key, t, c); err != nil {
		return nil, err
	}
	create := func(key string) (payment.SetupIntent, error) {
		return callWithRetry(callCtx, func(ctx context.Context) (payment.SetupIntent, error) {
			return t.Gateway.CreateSetupIntent(ctx, key, c.ID, u)
		})
	}
	intent, err := create(key)
	if _, wasKept := errors.AsType[*payment.KeptFailure](err); wasKept { // a second intent costs nothing
		intent, err = create(key + "_again")
	}
	if rejected(err) {
		c, err = s.replaceDeleted(ctx, callCtx, by, t, c, err)
		if err == nil {
			intent, err = create(key + "_" + string(c.ID))
		}
	}
	if err != nil {
		return nil, err
	}
	return &Intent{SetupIntent: intent, Gateway: t.Kind, PublishableKey: t.PublishableKey, Account: t.Connected}, nil
}

// beginIntent counts a setup intent. If too many seem to be open, it reads the wallet first, because an
// intent may just have been confirmed.
func (s *Service) beginIntent(ctx, callCtx context.Context, by identity.Actor, key string, t Terms,
	c *payment.Customer) error {
	if !t.Limits.CountIntents() {
		return c.BeginIntent(by, key, t.Limits) // nothing to store
	}
	begin := func() error {
		_, err := s.payments.Update(ctx, by, t.Account,
			func(c *payment.Customer) error { return c.BeginIntent(by, key, t.Limits) })
		return err
	}
	err := begin()
	if !errors.Is(err, payment.ErrIntentLimit) || by.At.Sub(c.WalletAt) < recently {
		return err
	}
	if _, err := tolerant(s.refresh(ctx, callCtx, by, t, c, wallet)); err != nil {
		return err
	}
	return begin()
}

// customer returns by's customer, and creates it if not found. The reservation is stored first, and
// concurrent calls use its key: so there is one customer at the gateway, whatever the number of calls
// and their outcomes.
func (s *Service) customer(ctx, callCtx context.Context, by identity.Actor, t Terms) (*payment.Customer, error) {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) {
		c, err = s.reserve(ctx, by, t)
	}
	if err != nil || c.ID != "" {
		return c, err
	}
	return s.createCustomer(ctx, callCtx, by, t, c)
}

// reserve stores the customer before the gateway creates it, so that a process that dies between the two leaves a
// record.
func (s *Service) reserve(ctx context.Context, by identity.Actor, t Terms) (*payment.Customer, error) {
	d, err := s.describe(ctx, by, t, &payment.Customer{})
	if err != nil {
		return nil, err
	}
	draft, err := payment.NewCustomer(by, t.Kind, t.Account, newKey(), d)
	if err != nil {
		return nil, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*payment.Customer, error) {
		c, err := tx.Payments.Reserve(ctx, by, draft)
		if err != nil {
			return nil, err
		}
		return c, watch(ctx, tx.Jobs, by, c)
	})
}

// createCustomer creates a reserved customer at the gateway.
func (s *Service) createCustomer(ctx, callCtx context.Context, by identity.Actor, t Terms,
	c *payment.Customer) (*payment.Customer, error) {
	create := func() (payment.CustomerID, error) {
		return callWithRetry(callCtx, func(ctx context.Context) (payment.CustomerID, error) {
			d := c.Details
			d.Workspace = c.Workspace
			return t.Gateway.CreateCustomer(ctx, c.Key, d)
		})
	}
	id, err := create()
	// no customer was created, and no money is at stake
	if _, wasKept := errors.AsType[*payment.KeptFailure](err); wasKept {
		previous, key := c.Key, newKey()
		if c, err = s.payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
			c.Rekey(by, previous, key)
			return nil
		}); err != nil {
			return nil, err
		}
		if c.ID != "" { // created by a concurrent call
			return c, nil
		}
		id, err = create()
	}
	if err != nil {
		return nil, err
	}
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if c, err = tx.Payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
			c.Made(by, id)
			return nil
		}); err != nil {
			return err
		}
		if !c.Entered.Matches(&payment.Details{}) { // it was created with less
			err = queueDetails(ctx, tx.Jobs, by, by.At)
		}
		return errors.Join(err, watch(ctx, tx.Jobs, by, c), auditLater(ctx, tx.Jobs, by, c, payment.AuditEvery))
	})
	return c, err
}

// rejected reports whether a gateway refused a call because of Atrium, perhaps because the customer does
// not exist there any more.
func rejected(err error) bool {
	_, isRejection := errors.AsType[*payment.Rejection](err)
	return isRejection
}

// replaceDeleted returns a new customer if c was deleted at the gateway. If it was not, it returns why the call
// was refused.
func (s *Service) replaceDeleted(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, refusal error,
) (*payment.Customer, error) {
	current, err := tolerant(s.refresh(ctx, callCtx, by, t, c, wallet))
	if err != nil {
		return nil, err
	}
	if current.customer.ID == c.ID {
		return nil, refusal
	}
	return s.customer(ctx, callCtx, by, t)
}

// recordDeletion records that the gateway no longer has a customer.
func (s *Service) recordDeletion(
	ctx context.Context, by identity.Actor, t Terms, id payment.CustomerID,
) (*payment.Customer, error) {
	key := newKey()
	return s.payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
		c.Lost(mirrorActor(by), id, key)
		return nil
	})
}

// newKey returns an idempotency key that no call has used.
func newKey() string { return id.New("atrium") }

// auditLater queues the next audit of the mirror.
func auditLater(
	ctx context.Context, jobs ports.Jobs, by identity.Actor, c *payment.Customer, wait time.Duration,
) error {
	return jobs.Enqueue(ctx, job.New(by, payment.AuditJob, string(c.ID), by.At.Add(wait)))
}

// ConfirmIntent adds a test card as the payer's browser would. Sandbox only.
func (s *Service) ConfirmIntent(ctx context.Context, by identity.Actor, i payment.SetupIntent,
	card payment.Card) (*Intent, error) {
	return s.actAsPayer(ctx, by, func(p ports.SandboxPayer, c payment.CustomerID) (payment.SetupIntent, error) {
		return p.Confirm(ctx, c, i.ID, i.ClientSecret, card)
	})
}

// AuthenticateIntent completes the authentication of the payer's bank. Sandbox only.
func (s *Service) AuthenticateIntent(ctx context.Context, by identity.Actor, i payment.SetupIntent,
	success bool) (*Intent, error) {
	return s.actAsPayer(ctx, by, func(p ports.SandboxPayer, c payment.CustomerID) (payment.SetupIntent, error) {
		return p.Authenticate(ctx, c, i.ID, i.ClientSecret, success)
	})
}

// actAsPayer performs an action of the payer and reads its result at once, so that no one has to wait for the
// event.
func (s *Service) actAsPayer(ctx context.Context, by identity.Actor,
	act func(ports.SandboxPayer, payment.CustomerID) (payment.SetupIntent, error)) (*Intent, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	if t.Payer == nil {
		return nil, payment.ErrGatewayNotFound
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) || (err == nil && c.ID == "") {
		return nil, payment.ErrIntentNotFound
	}
	if err != nil {
		return nil, err
	}
	if !c.PausedAt.IsZero() {
		return nil, payment.ErrPaused
	}
	intent, err := act(t.Payer, c.ID)
	if err != nil {
		return nil, err
	}
	_, _ = s.resync(ctx, by, t) // the event comes in any case
	return &Intent{SetupIntent: intent, Gateway: t.Kind, PublishableKey: t.PublishableKey, Account: t.Connected}, nil
}
