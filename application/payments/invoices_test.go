package payments_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// owing returns a service whose subscription is past due for an invoice.
func owing(t *testing.T, invoice *payment.Invoice) *mockedService {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Subscription.Status = payment.PastDue
	s.payments.EXPECT().Invoice(any, identity.WorkspaceID("acme"), "sandbox", any).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ string, id payment.InvoiceID) (*payment.Invoice, error) {
			if invoice == nil || id != invoice.ID {
				return nil, payment.ErrInvoiceNotFound
			}
			return invoice, nil
		})
	return s
}

var open900 = &payment.Invoice{ID: "in_1", Status: payment.Open, AmountDue: 900}

func TestAnInvoiceIsPaid(t *testing.T) {
	paid := payment.InvoicePayment{Invoice: payment.Invoice{ID: "in_1", Status: payment.Paid, AmountPaid: 900}}
	pay := func(s *mockedService, times int, p payment.InvoicePayment, err error) {
		s.subscriptions.Pay(any, "k", payment.CustomerID("cus_1"), payment.InvoiceID("in_1")).Times(times).DoAndReturn(
			func(context.Context, string, payment.CustomerID, payment.InvoiceID) (payment.InvoicePayment, error) {
				assert.That(t, s.kept.Pending != nil && s.kept.Pending.Invoice == "in_1" &&
					s.queued[payment.ReconcileJob].Subject == "acme",
					"it is called before it is stored: %+v", s.kept.Pending)
				return p, err
			})
		s.subscriptions.Subscriptions(any,
			any).AnyTimes().Return([]payment.GatewaySubscription{held(payment.Active)}, nil)
	}
	t.Run("and the subscription is active again", func(t *testing.T) {
		s := owing(t, open900)
		pay(s, 1, paid, nil)
		p, err := s.PayInvoice(s.ctx, owner, "k", "in_1")
		require.NoError(t, err)
		assert.That(t, p.Invoice.Status == payment.Paid && s.kept.Pending == nil &&
			s.kept.Subscription.Status == payment.Active, "%+v, %+v", p, s.kept)
	})
	t.Run("a payment that needs the payer has an action", func(t *testing.T) {
		s := owing(t, open900)
		pay(s, 1, payment.InvoicePayment{Invoice: *open900, Action: &payment.Action{Type: payment.ConfirmPayment,
			ClientSecret: secret.New("x")}}, nil)
		p, err := s.PayInvoice(s.ctx, owner, "k", "in_1")
		require.NoError(t, err)
		assert.That(t, p.Action != nil && s.kept.Pending == nil, "%+v, %+v", p, s.kept)
	})
	t.Run("a decline leaves nothing pending", func(t *testing.T) {
		s := owing(t, open900)
		pay(s, 1, payment.InvoicePayment{}, &payment.DeclinedError{DeclineCode: "generic_decline"})
		_, err := s.PayInvoice(s.ctx, owner, "k", "in_1")
		require.ErrorIs(t, err, payment.ErrCardDeclined)
		assert.That(t, s.kept.Pending == nil && s.kept.Subscription.Status == payment.PastDue, "%+v", s.kept)
	})
	runInBubble(t, "a payment without response stays pending until the job repeats it", func(t *testing.T) {
		s := owing(t, open900)
		lost := true
		s.subscriptions.Pay(any, "k", any, any).AnyTimes().DoAndReturn(
			func(context.Context, string, payment.CustomerID, payment.InvoiceID) (payment.InvoicePayment, error) {
				if lost {
					return payment.InvoicePayment{}, payment.ErrGatewayTimeout
				}
				return paid, nil
			})
		s.subscriptions.Subscriptions(any,
			any).AnyTimes().Return([]payment.GatewaySubscription{held(payment.Active)}, nil)
		_, err := s.PayInvoice(s.ctx, owner, "k", "in_1")
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		_, err = s.PayInvoice(s.ctx, owner, "other", "in_1")
		require.ErrorIs(t, err, payment.ErrPending)
		lost = false
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Pending == nil && s.kept.Subscription.Status == payment.Active, "%+v", s.kept)
	})
	t.Run("a payment that is too old to be repeated is looked up", func(t *testing.T) {
		s := owing(t, open900)
		s.kept.Pending = &payment.Operation{Kind: payment.Pay, Key: "k", At: now.Add(-24 * time.Hour), Invoice: "in_1"}
		s.subscriptions.Subscriptions(any, any).Return([]payment.GatewaySubscription{held(payment.Active)}, nil)
		s.subscriptions.Invoices(any, any, any).Return([]payment.Invoice{paid.Invoice}, nil)
		require.NoError(t, s.Reconcile(s.ctx, system))
		assert.That(t, s.kept.Pending == nil && s.kept.Subscription.Status == payment.Active, "%+v", s.kept)
	})
	t.Run("an unknown invoice is looked for at the gateway first", func(t *testing.T) {
		s := owing(t, nil)
		s.kept.InvoicesAt = now.Add(-time.Minute)
		s.subscriptions.Invoices(any, any, any).Return(nil, nil)
		_, err := s.PayInvoice(s.ctx, owner, "k", "in_1")
		require.ErrorIs(t, err, payment.ErrInvoiceNotFound)
	})
	t.Run("a paid invoice calls no gateway", func(t *testing.T) {
		s := owing(t, &paid.Invoice)
		p, err := s.PayInvoice(s.ctx, owner, "k", "in_1")
		require.NoError(t, err)
		assert.That(t, p.Invoice.Status == payment.Paid, "%+v", p)
	})
}

func TestInvoicesThatTheMirrorHasNotAreAllImported(t *testing.T) {
	invoiceOf := func(n int) payment.Invoice {
		return payment.Invoice{
			ID: payment.InvoiceID(fmt.Sprint("in_", n)), Status: payment.Paid,
			CreatedAt: now.Add(time.Duration(n) * time.Hour),
		}
	}
	const total = 2*payment.MirroredInvoices + 7
	list := func(_ context.Context, _ payment.CustomerID, before payment.InvoiceID) (all []payment.Invoice, _ error) {
		start := total
		if before != "" {
			_, err := fmt.Sscanf(string(before), "in_%d", &start)
			require.NoError(t, err)
		}
		for n := start - 1; n >= 0 && len(all) < payment.MirroredInvoices; n-- {
			all = append(all, invoiceOf(n))
		}
		return all, nil
	}
	for name, tt := range map[string]struct{ stored, want int }{
		"all of them":                    {0, total},
		"as far back as it has them":     {50, 2 * payment.MirroredInvoices},
		"no more if it has the last one": {total, payment.MirroredInvoices},
	} {
		t.Run(name, func(t *testing.T) {
			c := customer()
			c.InvoicesAt = time.Time{}
			s := mockedWith(t, c)
			s.subscriptions.Invoices(any, any, any).AnyTimes().DoAndReturn(list)
			s.payments.EXPECT().Invoice(any, any, any, any).AnyTimes().DoAndReturn(
				func(_ context.Context, _ identity.WorkspaceID, _ string,
					id payment.InvoiceID) (*payment.Invoice, error) {
					for n := range tt.stored {
						if i := invoiceOf(n); i.ID == id {
							return &i, nil
						}
					}
					return nil, payment.ErrInvoiceNotFound
				})
			s.payments.EXPECT().Invoices(any, any, any, any, any).Return(payment.InvoicePage{}, nil)
			_, err := s.Invoices(s.ctx, owner, "", page.Query{Limit: 10})
			require.NoError(t, err)
			assert.Equal(t, "invoices that are stored", len(s.kept.Invoices), tt.want)
		})
	}
}

func TestAnotherSubscriptionBeginsOnlyWithoutADebt(t *testing.T) {
	debt := payment.Invoice{ID: "in_1", Status: payment.Open, AmountDue: 300, Subscription: "sub_0", CreatedAt: now}
	c := customer("pm_1")
	c.UsageSince, c.InvoicesAt = now.AddDate(0, -2, 0), now.Add(-time.Hour)
	s := mockedWith(t, c)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	s.subscriptions.Invoices(any, any, any).AnyTimes().Return([]payment.Invoice{debt}, nil)
	s.payments.EXPECT().Invoices(any, any, any, payment.Open, any).AnyTimes().Return(
		payment.InvoicePage{Items: []payment.Invoice{debt}}, nil)
	s.terms.Returns.Loopback = true
	_, err := s.Subscribe(s.ctx, owner, "k", payment.SubscribeRequest{Plan: "basic", Quantity: 1})
	require.ErrorIs(t, err, payment.ErrInvoiceUnpaid)
	_, err = s.Checkout(s.ctx, owner, payments.CheckoutRequest{
		Plan: "basic", Quantity: 1, SuccessURL: "http://localhost/yes", CancelURL: "http://localhost/no",
	})
	require.ErrorIs(t, err, payment.ErrInvoiceUnpaid)
	assert.That(t, s.kept.Pending == nil && s.kept.CheckoutUntil.IsZero(), "%+v", s.kept)
}
