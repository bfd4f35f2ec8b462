package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// mirrorPart is a part of the mirror that is read separately.
type mirrorPart struct {
	name string
	at   func(*payment.Customer) time.Time
	read func(context.Context, ports.Gateway, payment.CustomerID, *payment.Seen) error
}

// The parts of the mirror.
var (
	wallet = part("wallet", func(c *payment.Customer) time.Time { return c.WalletAt }, ports.Gateway.Wallet,
		func(seen *payment.Seen, w *payment.Wallet) { seen.Wallet = w })
	subscriptions = part("subscription", func(c *payment.Customer) time.Time { return c.SubscriptionAt },
		ports.Gateway.Subscriptions,
		func(seen *payment.Seen, all *[]payment.GatewaySubscription) { seen.Subscriptions = all })
	invoices = part("invoices", func(c *payment.Customer) time.Time { return c.InvoicesAt }, newestInvoices,
		func(seen *payment.Seen, newest *[]payment.Invoice) { seen.Invoices = newest })
)

func newestInvoices(g ports.Gateway, ctx context.Context, c payment.CustomerID) ([]payment.Invoice, error) {
	return g.Invoices(ctx, c, "")
}

// part returns a part that one call of the gateway reads.
func part[T any](
	name string, age func(*payment.Customer) time.Time,
	get func(ports.Gateway, context.Context, payment.CustomerID) (T, error), store func(*payment.Seen, *T),
) mirrorPart {
	read := func(ctx context.Context, g ports.Gateway, c payment.CustomerID, seen *payment.Seen) error {
		answer, err := get(g, ctx, c)
		store(seen, &answer)
		return err
	}
	return mirrorPart{name, age, read}
}

// see reads parts from the gateway.
func (s *Service) see(
	callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, parts ...mirrorPart,
) (payment.Seen, error) {
	var seen payment.Seen
	for _, p := range parts {
		read := func(ctx context.Context) error { return p.read(ctx, t.Gateway, c.ID, &seen) }
		if err := call(callCtx, read); err != nil {
			return payment.Seen{}, err
		}
	}
	// The time is read last. If the clock goes forward while the gateway is read, an earlier time would be too early
	// for a renewal that failed just now, and its grace would be over at once.
	var err error
	if seen.At, err = t.now(callCtx, by, c); err != nil {
		return payment.Seen{}, err
	}
	return seen, s.importInvoices(callCtx, by, t, c, &seen)
}

// importInvoices reads the invoices before those that were seen, as long as the mirror has none of them: it may never
// have had them, or events have not arrived for a long time. If the time for calls ends, older ones stay unknown.
func (s *Service) importInvoices(
	callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, seen *payment.Seen,
) error {
	for seen.Invoices != nil && len(*seen.Invoices) > 0 && len(*seen.Invoices)%payment.MirroredInvoices == 0 {
		all := *seen.Invoices
		oldest := all[len(all)-1].ID
		_, err := s.payments.Invoice(callCtx, by.Workspace, t.Account, oldest)
		if !errors.Is(err, payment.ErrInvoiceNotFound) {
			return err
		}
		older, err := callWithRetry(callCtx, func(ctx context.Context) ([]payment.Invoice, error) {
			return t.Gateway.Invoices(ctx, c.ID, oldest)
		})
		if callCtx.Err() != nil || (err == nil && len(older) == 0) {
			return nil
		}
		if err != nil {
			return err
		}
		all = append(all, older...)
		seen.Invoices = &all
	}
	return nil
}

// readMirror returns by's customer with a fresh part of the mirror. stale is true if the gateway could not be
// reached, or did not answer in time. The customer is nil if the workspace has none.
func (s *Service) readMirror(
	ctx context.Context, by identity.Actor, t Terms, p mirrorPart,
) (r reading, stale bool, err error) {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) {
		return reading{}, false, nil
	}
	if err != nil || c.ID == "" || by.At.Sub(p.at(c)) < payment.Fresh {
		return reading{customer: c}, false, err
	}
	return s.refreshWithinPatience(ctx, by, t, c, p)
}

// reading is what was read of the gateway.
type reading struct {
	customer *payment.Customer // as it is stored now
	seen     payment.Seen
}

// refresh reads a part from the gateway and stores it. If the customer changes in the meantime, so that it is not
// stored, it returns what was read, and errMoved: nothing that is bought or granted may be decided without it.
func (s *Service) refresh(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, p mirrorPart,
) (reading, error) {
	r, moveErr := s.reread(ctx, callCtx, by, t, c, p)
	if moveErr != nil && !errors.Is(moveErr, errMoved) {
		return reading{}, moveErr
	}
	for _, follow := range s.followUps() {
		if c, err := follow(ctx, callCtx, by, t, r.customer); err == nil {
			r.customer = c
		} // else the next read tries again
	}
	var err error
	if r.customer, err = s.notify(ctx, by, t, r.customer); err == nil {
		err = moveErr
	}
	return r, err
}

// followUp does at the gateway what follows from a read of it, and returns the customer after that.
type followUp func(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, error)

func (s *Service) followUps() []followUp {
	return []followUp{s.withDefault, s.withoutDuplicates, s.examineTrial}
}

// tolerant returns what refresh returns without errMoved, for a caller that shows the customer, or asks the gateway
// again.
func tolerant(r reading, err error) (reading, error) {
	if errors.Is(err, errMoved) {
		return r, nil
	}
	return r, err
}

// resync reads all mirrored data from the gateway, and stores it.
func (s *Service) resync(ctx context.Context, by identity.Actor, t Terms) (*payment.Customer, error) {
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil || c.ID == "" {
		return c, err
	}
	r, err := s.reread(ctx, callCtx, by, t, c, wallet, subscriptions, invoices)
	if err != nil {
		return nil, err
	}
	c = r.customer
	for _, follow := range s.followUps() {
		if c, err = follow(ctx, callCtx, by, t, c); err != nil {
			return nil, err
		}
	}
	return s.notify(ctx, by, t, c)
}

// errMoved reports that a customer changes more often than it can be read. It asks the caller to repeat the call.
var errMoved = payment.ErrPending.WithRetryAfter(time.Second)

// reread reads parts from the gateway, and stores them. If the customer changes in the meantime, it reads again. If the
// customer keeps changing, it stores nothing, and returns what it has read, with errMoved if the mirror has not that.
func (s *Service) reread(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, parts ...mirrorPart,
) (reading, error) {
	var seen payment.Seen
	for range maxTries {
		look := c.Look()
		var err error
		seen, err = s.see(callCtx, by, t, c, parts...)
		if errors.Is(err, payment.ErrCustomerGone) {
			c, err = s.recordDeletion(ctx, by, t, c.ID)
			return reading{customer: c}, err
		}
		if err != nil {
			return reading{}, err
		}
		current := false
		c, err = s.payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
			current = c.Mirror(mirrorActor(by), look, seen, t.Plans)
			return nil
		})
		if err != nil || current || c.ID == "" {
			return reading{c, seen}, err
		}
	}
	if c.Agrees(mirrorActor(by), seen, t.Plans) { // so nothing is lost
		return reading{c, seen}, nil
	}
	return reading{c, seen}, errMoved
}

// withDefault makes the newest valid method the default if the gateway has none: without a default it could not charge
// when a trial ends or a period is renewed.
func (s *Service) withDefault(ctx, callCtx context.Context, by identity.Actor, t Terms,
	c *payment.Customer) (*payment.Customer, error) {
	if c.WalletAt.IsZero() || !c.Settled() {
		return c, nil
	}
	today, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	m := c.MissingDefault(today)
	if m == nil {
		return c, nil
	}
	look := c.Look()
	if err := s.makeDefault(callCtx, t, c.ID, m.ID); err != nil {
		return nil, err
	}
	current, err := s.payments.Update(ctx, mirrorActor(by), t.Account, func(current *payment.Customer) error {
		if current.MissingDefault(today) == nil { // a default was chosen in the meantime
			return nil
		}
		if err := current.SetDefault(mirrorActor(by), today, look, m.ID); !errors.Is(err, payment.ErrMethodNotFound) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return current, s.keepChoice(callCtx, t, current, m.ID)
}

// Wallet holds a workspace's payment methods.
type Wallet struct {
	Methods []payment.Method // newest first
	Default payment.MethodID // "" without one
	Stale   bool             // the gateway could not be reached
	Now     time.Time        // at the gateway
	Gateway payment.GatewayKind
}

// Methods returns the workspace's payment methods.
func (s *Service) Methods(ctx context.Context, by identity.Actor) (*Wallet, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	r, stale, err := s.readMirror(ctx, by, t, wallet)
	if err != nil {
		return nil, err
	}
	c := r.customer
	now, err := t.now(ctx, by, c)
	if err != nil || c == nil {
		return &Wallet{Gateway: t.Kind, Now: now}, err
	}
	return &Wallet{Methods: c.Shown(), Default: c.DefaultID(), Stale: stale, Now: now, Gateway: t.Kind}, nil
}

// Bills is a page with a workspace's invoices.
type Bills struct {
	payment.InvoicePage
	Stale   bool // the gateway could not be reached
	Gateway payment.GatewayKind
}

// Invoices returns the workspace's invoices, newest first. If status is not empty, only those with that
// status.
func (s *Service) Invoices(ctx context.Context, by identity.Actor, status payment.InvoiceStatus,
	q page.Query) (*Bills, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	b := &Bills{Gateway: t.Kind}
	if q.After == "" { // later pages must match the first one
		if _, b.Stale, err = s.readMirror(ctx, by, t, invoices); err != nil {
			return nil, err
		}
	}
	b.InvoicePage, err = s.payments.Invoices(ctx, by.Workspace, t.Account, status, q)
	return b, err
}
