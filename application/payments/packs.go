package payments

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

// CreditPacks returns the credit packs that by's org sells. The caller may be in no workspace.
func (s *Service) CreditPacks(by identity.Actor) payment.Plans {
	return s.deps.Terms(by.Org).CreditPacks.Offered("")
}

// BuyPack charges the default method for credit packs. key identifies the call, as for Subscribe. What they add counts
// when their invoice is paid; if the payer must authenticate, the payment has an Action. payment.ErrPackNotFound,
// payment.ErrPackUnavailable, payment.ErrMethodRequired, *payment.DeclinedError.
func (s *Service) BuyPack(
	ctx context.Context, by identity.Actor, key string, w payment.PackRequest,
) (*InvoicePayment, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	if _, err := t.CreditPacks.FindPack(w.Pack); err != nil { // before a customer is created
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return nil, err
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	packs := t.CreditPacks
	if c.Pending == nil { // otherwise the price was verified when the operation began
		if packs, err = s.verified(callCtx, t, packs, w.Pack); err != nil {
			return nil, err
		}
	}
	w.AutomaticTax = t.AutomaticTax
	isDone := false
	start, err := s.withMethods(ctx, callCtx, by, t, c, func() (*payment.Customer, error) {
		return s.update(ctx, by, t, func(c *payment.Customer) (err error) {
			isDone, err = c.BuyPack(by, now, key, w, packs)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if isDone {
		return s.boughtBy(ctx, callCtx, by, t, start, key)
	}
	_, out, err := s.settle(ctx, callCtx, by, t, start)
	if rejected(err) { // the next call gets a new customer if this one was deleted
		if _, err = s.replaceDeleted(ctx, callCtx, by, t, start, err); err == nil {
			err = payment.ErrMethodRequired
		}
	}
	if err != nil {
		return nil, err
	}
	return &InvoicePayment{out.paid, t.Kind}, nil
}

// boughtBy returns the invoice by which a call under key has sold credit packs.
func (s *Service) boughtBy(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, key string,
) (*InvoicePayment, error) {
	if _, err := tolerant(s.refresh(ctx, callCtx, by, t, c, invoices)); err != nil {
		return nil, err
	}
	newest, err := s.payments.Invoices(ctx, by.Workspace, t.Account, "", page.Query{Limit: payment.MirroredInvoices})
	if err != nil {
		return nil, err
	}
	if i := soldBy(newest.Items, key); i != nil {
		return &InvoicePayment{payment.InvoicePayment{Invoice: *i}, t.Kind}, nil
	}
	return nil, payment.ErrInvoiceNotFound
}

// soldBy returns the invoice for the credit packs that a call sold, or nil.
func soldBy(invoices []payment.Invoice, key string) *payment.Invoice {
	n := slices.IndexFunc(invoices, func(i payment.Invoice) bool { return i.Pack != nil && i.Pack.Key == key })
	if n < 0 {
		return nil
	}
	return &invoices[n]
}

// buy performs a Buy, and reads the subscriptions, which a settled operation needs.
func (s *Service) buy(
	callCtx context.Context, t Terms, c *payment.Customer, op *payment.Operation, pack *payment.Plan,
) (out result, err error) {
	out.paid, err = callWithRetry(callCtx, func(ctx context.Context) (payment.InvoicePayment, error) {
		return t.Gateway.Buy(ctx, op.Key, c.ID, op.PackOrder(*pack))
	})
	if err != nil {
		return out, err
	}
	out.subscriptions, err = s.subscriptions(callCtx, t, c)
	return out, err
}

// packRules returns the rules by which credit packs are spent at now, the time at the gateway.
func (t Terms) packRules(now time.Time) payment.PackRules {
	return payment.PackRules{Now: now, Losses: t.Losses}
}

// expirePacks records what has expired of the credit packs of c. It returns the time until the next audit, which is
// due when the next one expires.
func (s *Service) expirePacks(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (wait time.Duration, err error) {
	wait = payment.AuditEvery
	now, err := t.now(ctx, by, c)
	if err != nil {
		return wait, err
	}
	packs, err := s.meters.Packs(ctx, by.Workspace, t.Account)
	isDue := false
	for _, p := range packs {
		if p.HasExpired(now) {
			isDue = true
		} else if !p.ExpiresAt.IsZero() {
			wait = min(wait, p.ExpiresAt.Sub(now))
		}
	}
	if isDue {
		err = s.meters.ExpirePacks(ctx, mirrorActor(by), t.Account, t.packRules(now))
	}
	return wait, err
}

// credit returns the credit packs of c, nil for no customer, that can be spent at now, by feature.
func (s *Service) credit(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer, now time.Time,
) (map[string][]payment.CreditPack, error) {
	if c == nil {
		return nil, nil
	}
	all, err := s.meters.Packs(ctx, by.Workspace, t.Account)
	packs := map[string][]payment.CreditPack{}
	for _, p := range t.packRules(now).Spendable(all) {
		packs[p.Feature] = append(packs[p.Feature], p)
	}
	return packs, err
}
