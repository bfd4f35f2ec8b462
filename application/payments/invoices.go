package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

// InvoicePayment is the outcome of paying an invoice.
type InvoicePayment struct {
	payment.InvoicePayment
	Gateway payment.GatewayKind
}

// PayInvoice charges the default method for an invoice. key identifies the call: the same key charges
// once. If the payer must authenticate, the payment has an Action; the payer confirms it, or the caller
// repeats the call with another key. payment.ErrInvoiceNotFound, payment.ErrInvoiceNotPayable,
// payment.ErrMethodRequired, *payment.DeclinedError.
func (s *Service) PayInvoice(
	ctx context.Context, by identity.Actor, key string, id payment.InvoiceID,
) (*InvoicePayment, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, invoice, err := s.ownInvoice(ctx, callCtx, by, t, id)
	if err != nil {
		return nil, err
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	isDone := false
	start, err := s.withMethods(ctx, callCtx, by, t, c, func() (*payment.Customer, error) {
		return s.update(ctx, by, t, func(c *payment.Customer) (err error) {
			isDone, err = c.PayInvoice(by, now, key, invoice)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if isDone {
		return &InvoicePayment{payment.InvoicePayment{Invoice: *invoice}, t.Kind}, nil
	}
	_, out, err := s.settle(ctx, callCtx, by, t, start)
	if err != nil {
		return nil, err
	}
	return &InvoicePayment{out.paid, t.Kind}, nil
}

// ownInvoice returns by's customer and one of its invoices. It reads the invoices again if they do not
// contain it, because it may just have been created.
func (s *Service) ownInvoice(
	ctx, callCtx context.Context, by identity.Actor, t Terms, id payment.InvoiceID,
) (*payment.Customer, *payment.Invoice, error) {
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) || (err == nil && c.ID == "") {
		return nil, nil, payment.ErrInvoiceNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	i, err := s.payments.Invoice(ctx, by.Workspace, t.Account, id)
	if errors.Is(err, payment.ErrInvoiceNotFound) && by.At.Sub(c.InvoicesAt) >= recently {
		r, unread := s.refresh(ctx, callCtx, by, t, c, invoices)
		if unread != nil {
			return nil, nil, unread
		}
		c = r.customer
		i, err = s.payments.Invoice(ctx, by.Workspace, t.Account, id)
	}
	return c, i, err
}

// pay performs a Pay, and reads the subscriptions, which it may make active again.
func (s *Service) pay(
	callCtx context.Context, t Terms, c *payment.Customer, op *payment.Operation,
) (out result, err error) {
	out.paid, err = callWithRetry(callCtx, func(ctx context.Context) (payment.InvoicePayment, error) {
		return t.Gateway.Pay(ctx, op.Key, c.ID, op.Invoice)
	})
	if err != nil {
		return out, err
	}
	out.subscriptions, err = s.subscriptions(callCtx, t, c)
	return out, err
}

// debt returns an open invoice that must be paid before c begins another subscription; "" if not found. It reads the
// invoices of a customer that has had one. now is the time at the gateway.
func (s *Service) debt(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, now time.Time,
) (*payment.Customer, payment.InvoiceID, error) {
	if c.ID == "" || c.Subscription != nil || c.UsageSince.IsZero() { // a live one is refused anyway
		return c, "", nil
	}
	if by.At.Sub(c.InvoicesAt) >= recently {
		r, err := s.refresh(ctx, callCtx, by, t, c, invoices)
		if err != nil {
			return nil, "", err
		}
		c = r.customer
	}
	open, err := s.payments.Invoices(ctx, by.Workspace, t.Account, payment.Open,
		page.Query{Limit: payment.MirroredInvoices})
	return c, c.Debt(open.Items, now), err
}
