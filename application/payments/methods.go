package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// SetDefault makes a method the one that is charged. now is the time at the gateway.
func (s *Service) SetDefault(
	ctx context.Context, by identity.Actor, id payment.MethodID,
) (m *payment.Method, now time.Time, err error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, now, err
	}
	c, err := s.owned(ctx, by, t, id)
	if err != nil {
		return nil, now, err
	}
	if now, err = t.now(ctx, by, c); err != nil {
		return nil, now, err
	}
	if _, err := c.Chargeable(by, now, id); err != nil {
		return nil, now, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	ctx, callCtx, end := outlast(ctx, callCtx)
	defer end()
	from := c.Look()
	if err := s.makeDefault(callCtx, t, c.ID, id); err != nil {
		return nil, now, err
	}
	c, err = s.payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
		return c.SetDefault(by, now, from, id)
	})
	if err != nil {
		return nil, now, err
	}
	m, err = c.Chargeable(by, now, id)
	return m, now, err
}

// makeDefault sets the default at the gateway. The key is only for retries of this call, which is
// idempotent: it sets a state.
func (s *Service) makeDefault(callCtx context.Context, t Terms, c payment.CustomerID, m payment.MethodID) error {
	key := newKey()
	return call(callCtx, func(ctx context.Context) error { return t.Gateway.SetDefault(ctx, key, c, m) })
}

// owned returns by's customer. If a method is not among its methods, it reads them again, because the
// method may just have been added.
func (s *Service) owned(
	ctx context.Context, by identity.Actor, t Terms, m payment.MethodID,
) (*payment.Customer, error) {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) {
		return nil, payment.ErrMethodNotFound
	}
	if err != nil || c.ID == "" {
		return c, err
	}
	for _, method := range c.Methods {
		if method.ID == m && !c.WalletAt.IsZero() {
			return c, nil
		}
	}
	if by.At.Sub(c.WalletAt) < recently {
		return c, nil
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	r, err := tolerant(s.refresh(ctx, callCtx, by, t, c, wallet))
	return r.customer, err
}

// recently is the greatest age at which the mirror is trusted about something that it does not contain.
const recently = payment.Fresh / 20

// withMethods makes a change that needs a payment method. If the mirror has not the method, it reads the methods and
// makes the change again: one may just have been added.
func (s *Service) withMethods(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
	change func() (*payment.Customer, error),
) (*payment.Customer, error) {
	current, err := change()
	isMissing := errors.Is(err, payment.ErrMethodRequired) || errors.Is(err, payment.ErrMethodNotFound)
	if !isMissing || by.At.Sub(c.WalletAt) < recently {
		return current, err
	}
	if _, err := s.refresh(ctx, callCtx, by, t, c, wallet); err != nil {
		return nil, err
	}
	return change()
}

// RemoveMethod removes a payment method permanently. If replacement is not empty, it becomes the
// default.
func (s *Service) RemoveMethod(ctx context.Context, by identity.Actor, m, replacement payment.MethodID) error {
	t, err := s.termsForManager(by)
	if err != nil {
		return err
	}
	c, err := s.owned(ctx, by, t, m)
	if err != nil {
		return err
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	err = s.remove(ctx, callCtx, by, t, now, m, replacement)
	// another card may just have been added, or the subscription cancelled elsewhere
	if (errors.Is(err, payment.ErrMethodInUse) || errors.Is(err, payment.ErrMethodNotFound)) &&
		by.At.Sub(c.WalletAt) >= recently {
		if _, err := s.reread(ctx, callCtx, by, t, c, wallet, subscriptions); err != nil {
			return err
		}
		err = s.remove(ctx, callCtx, by, t, now, m, replacement)
	}
	return err
}

// remove removes a method from the mirror, then at the gateway.
func (s *Service) remove(
	ctx, callCtx context.Context, by identity.Actor, t Terms, now time.Time, m, replacement payment.MethodID,
) error {
	var next payment.MethodID
	c, err := s.update(ctx, by, t, func(c *payment.Customer) (err error) {
		next, err = c.Remove(by, now, m, replacement)
		return err
	})
	if err != nil {
		return err
	}
	return s.detach(ctx, callCtx, by, t, c, next, m)
}

// withoutDuplicates removes the methods of cards that were entered again.
func (s *Service) withoutDuplicates(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, error) {
	duplicates := c.Duplicates()
	if len(duplicates) == 0 {
		return c, nil
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	for _, d := range duplicates {
		err := s.remove(ctx, callCtx, mirrorActor(by), t, now, d.Method, d.Replacement)
		if err != nil && !errors.Is(err, payment.ErrMethodNotFound) && !errors.Is(err, payment.ErrMethodExpired) {
			return nil, err
		}
	}
	return s.payments.Customer(ctx, by.Workspace, t.Account)
}

// detach removes a leaving method at the gateway, after it has set another default if there is one. Both
// calls set a state, so they can be repeated at any time.
func (s *Service) detach(ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, next,
	m payment.MethodID) error {
	ctx, callCtx, cancel := outlast(ctx, callCtx)
	defer cancel()
	var err error
	if next != "" {
		err = s.makeDefault(callCtx, t, c.ID, next)
	}
	if err == nil || errors.Is(err, payment.ErrMethodNotFound) {
		key := newKey()
		err = call(callCtx, func(ctx context.Context) error { return t.Gateway.Detach(ctx, key, c.ID, m) })
	}
	if payment.OutcomeUnknown(err) || payment.NoEffect(err) {
		return err // the queued job finds out the outcome
	}
	current, storeErr := s.update(ctx, by, t, func(c *payment.Customer) error {
		if err != nil {
			c.RestoreMethod(by, m)
		} else {
			c.Removed(by, m)
		}
		return nil
	})
	if storeErr == nil {
		storeErr = s.keepChoice(callCtx, t, current, next)
	}
	return errors.Join(err, storeErr)
}

// keepChoice makes the default of the mirror the gateway's, if another call has chosen it while this one made its own
// the default. choice is "" if this call made none.
func (s *Service) keepChoice(callCtx context.Context, t Terms, current *payment.Customer,
	choice payment.MethodID) error {
	if m := current.DefaultMethod(); m != nil && choice != "" && m.ID != choice {
		return s.makeDefault(callCtx, t, current.ID, m.ID)
	}
	return nil
}
