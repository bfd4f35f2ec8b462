package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// mirrorPart is a part of the mirror that is read separately.
type mirrorPart struct {
	name   string
	listed *[]billing.GatewaySubscription // where a listing leaves what it read
	at     func(*billing.Customer) time.Time
	read   func(ctx context.Context, t Terms, c *billing.Customer) (see func(*billing.Customer), err error)
}

func (s *Service) wallet(by identity.Actor) mirrorPart {
	return mirrorPart{
		name: "wallet",
		at:   func(c *billing.Customer) time.Time { return c.WalletAt },
		read: func(ctx context.Context, t Terms, c *billing.Customer) (func(*billing.Customer), error) {
			w, err := callWithRetry(ctx, func(ctx context.Context) (billing.Wallet,
				error) {
				return t.Gateway.Wallet(ctx, c.ID)
			})
			return func(now *billing.Customer) { now.ApplyWallet(mirrorActor(by), c.Revision, w) }, err
		},
	}
}

func (s *Service) subscription(by identity.Actor) mirrorPart {
	return s.listing(by, new([]billing.GatewaySubscription))
}

// listing returns the part for subscriptions. It stores what was read in into, with the payer's
// required action, which is not saved.
func (s *Service) listing(by identity.Actor, into *[]billing.GatewaySubscription) mirrorPart {
	return mirrorPart{
		name:   "subscription",
		listed: into,
		at:     func(c *billing.Customer) time.Time { return c.SubscriptionAt },
		read: func(ctx context.Context, t Terms, c *billing.Customer) (func(*billing.Customer), error) {
			held, err := callWithRetry(ctx, func(ctx context.Context) ([]billing.GatewaySubscription, error) {
				return t.Gateway.Subscriptions(ctx, c.ID)
			})
			*into = held
			return func(now *billing.Customer) { now.ApplySubscriptions(mirrorActor(by), c.Revision, held, t.Plans) },
				err
		},
	}
}

func (s *Service) invoices(by identity.Actor) mirrorPart {
	return mirrorPart{
		name: "invoices",
		at:   func(c *billing.Customer) time.Time { return c.InvoicesAt },
		read: func(ctx context.Context, t Terms, c *billing.Customer) (func(*billing.Customer), error) {
			newest, err := callWithRetry(ctx,
				func(ctx context.Context) ([]billing.Invoice, error) { return t.Gateway.Invoices(ctx, c.ID) })
			return func(now *billing.Customer) {
				if now.Revision == c.Revision { // otherwise an invoice may have been paid since
					now.ApplyInvoices(mirrorActor(by), newest)
				}
			}, err
		},
	}
}

// readMirror returns by's customer with a fresh part of the mirror. stale is true if the gateway could not be
// reached, or did not answer in time. The customer is nil if the workspace has none.
func (s *Service) readMirror(
	ctx context.Context, by identity.Actor, t Terms, p mirrorPart,
) (r reading, stale bool, err error) {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, billing.ErrNoCustomer) {
		return reading{}, false, nil
	}
	if err != nil || c.ID == "" || by.At.Sub(p.at(c)) < billing.Fresh {
		return reading{customer: c}, false, err
	}
	return s.refreshWithinPatience(ctx, by, t, c, p)
}

// refresh reads a part from the gateway and stores it. If the customer changed in the meantime, what
// was read is discarded.
func (s *Service) refresh(ctx, callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer,
	p mirrorPart) (*billing.Customer, error) {
	see, err := p.read(callCtx, t, c)
	if errors.Is(err, billing.ErrCustomerGone) {
		return s.recordDeletion(ctx, by, t, c.ID)
	}
	if err != nil {
		return nil, err
	}
	now, err := s.payments.Update(ctx, mirrorActor(by), t.Account, func(c *billing.Customer) error {
		see(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if with, err := s.withDefault(ctx, callCtx, by, t, now); err == nil {
		now = with
	} // else the next read tries again
	if examined, err := s.examineTrial(ctx, callCtx, by, t, now); err == nil {
		now = examined
	} // likewise
	return s.notify(ctx, by, t, now)
}

// withDefault makes the newest valid method the default if the gateway has none: without a default it could not charge
// when a trial ends or a period is renewed.
func (s *Service) withDefault(ctx, callCtx context.Context, by identity.Actor, t Terms,
	c *billing.Customer) (*billing.Customer, error) {
	if c.WalletAt.IsZero() || c.DefaultMethod() != nil {
		return c, nil
	}
	at, err := t.now(ctx, by)
	if err != nil {
		return nil, err
	}
	m := c.MissingDefault(at)
	if m == nil {
		return c, nil
	}
	if err := s.makeDefault(callCtx, t, c.ID, m.ID); err != nil {
		return nil, err
	}
	return s.payments.Update(ctx, mirrorActor(by), t.Account, func(now *billing.Customer) error {
		if now.DefaultMethod() != nil { // a default was chosen in the meantime
			return nil
		}
		if err := now.SetDefault(mirrorActor(by), at, m.ID); !errors.Is(err, billing.ErrMethodNotFound) {
			return err
		}
		return nil
	})
}

// errMoved says that a customer changes more often than it can be read.
var errMoved = errors.New("the customer keeps changing")

// resync reads all mirrored data from the gateway, and stores it.
func (s *Service) resync(ctx context.Context, by identity.Actor, t Terms) (*billing.Customer, error) {
	callCtx, cancel := outbound(ctx)
	defer cancel()
	for range maxTries {
		c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
		if err != nil || c.ID == "" {
			return c, err
		}
		var applies []func(*billing.Customer)
		for _, p := range []mirrorPart{s.wallet(by), s.subscription(by), s.invoices(by)} {
			see, err := p.read(callCtx, t, c)
			if errors.Is(err, billing.ErrCustomerGone) {
				return s.recordDeletion(ctx, by, t, c.ID)
			}
			if err != nil {
				return nil, err
			}
			applies = append(applies, see)
		}
		current := false
		c, err = s.payments.Update(ctx, mirrorActor(by), t.Account, func(now *billing.Customer) error {
			current = now.Revision == c.Revision
			if current {
				applyAll(now, applies)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if current {
			if c, err = s.withDefault(ctx, callCtx, by, t, c); err != nil {
				return nil, err
			}
			if c, err = s.examineTrial(ctx, callCtx, by, t, c); err != nil {
				return nil, err
			}
			return s.notify(ctx, by, t, c)
		}
	}
	return nil, errMoved
}

// applyAll applies all parts as of one revision, although each increments it.
func applyAll(c *billing.Customer, applies []func(*billing.Customer)) {
	of := c.Revision
	changed := int64(0)
	for _, see := range applies {
		c.Revision = of
		see(c)
		changed = max(changed, c.Revision-of)
	}
	c.Revision = of + changed
}

// Wallet holds a workspace's payment methods.
type Wallet struct {
	Methods []billing.Method // newest first
	Default billing.MethodID // "" if there is none
	Stale   bool             // the gateway could not be reached
	Now     time.Time        // at the gateway
	Gateway billing.GatewayKind
}

// Methods returns the workspace's payment methods.
func (s *Service) Methods(ctx context.Context, by identity.Actor) (*Wallet, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	now, err := t.now(ctx, by)
	if err != nil {
		return nil, err
	}
	r, stale, err := s.readMirror(ctx, by, t, s.wallet(by))
	c := r.customer
	if err != nil || c == nil {
		return &Wallet{Gateway: t.Kind, Now: now}, err
	}
	w := &Wallet{Methods: c.Shown(), Stale: stale, Now: now, Gateway: t.Kind}
	if m := c.DefaultMethod(); m != nil {
		w.Default = m.ID
	}
	return w, nil
}

// Bills is a page of a workspace's invoices.
type Bills struct {
	billing.InvoicePage
	Stale   bool // the gateway could not be reached
	Gateway billing.GatewayKind
}

// Invoices returns the workspace's invoices, newest first. If status is not empty, only those with that
// status.
func (s *Service) Invoices(ctx context.Context, by identity.Actor, status billing.InvoiceStatus,
	q page.Query) (*Bills, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	b := &Bills{Gateway: t.Kind}
	if q.After == "" { // later pages must match the first one
		if _, b.Stale, err = s.readMirror(ctx, by, t, s.invoices(by)); err != nil {
			return nil, err
		}
	}
	b.InvoicePage, err = s.payments.Invoices(ctx, by.Workspace, t.Account, status, q)
	return b, err
}
