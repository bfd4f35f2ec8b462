package payments_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestACancellationAfterAChangeStillEndsAllLiveSubscriptions(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.Surplus = []payment.SubscriptionID{"sub_2"}
	ends := true
	changed := held(payment.Active)
	changed.CancelAtPeriodEnd = true
	s.subscriptions.Amend(any, "change", any, changed.ID, any).Return(changed, nil)
	surplus := held(payment.Active)
	surplus.ID, surplus.CreatedAt = "sub_2", now.Add(time.Minute)
	s.has(changed, surplus)
	_, err := s.ChangeSubscription(s.ctx, owner, "change", nil, payment.Changes{CancelAtPeriodEnd: &ends})
	require.NoError(t, err)
	for id, key := range map[payment.SubscriptionID]string{"sub_1": "end", "sub_2": "end_sub_2"} {
		s.subscriptions.Cancel(any, key, payment.CustomerID("cus_1"), id, any).Return(nil)
	}
	require.NoError(t, s.CancelSubscription(s.ctx, owner, "end", nil, payment.Cancellation{}))
}

// TestARepeatedPurchaseIsMirroredAsItIsNow has the payer confirm the first payment before the job repeats the purchase:
// the gateway repeats its response of the first call, which is older.
func TestARepeatedPurchaseIsMirroredAsItIsNow(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	s.kept.Pending = &payment.Operation{Kind: payment.Subscribe, Key: "k", At: now, Plan: "basic", Quantity: 1}
	s.subscriptions.Subscribe(any, "k", any, any).Return(held(payment.Incomplete), nil)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return([]payment.GatewaySubscription{held(payment.Active)}, nil)
	by := system
	by.At = now.Add(time.Minute)
	require.NoError(t, s.Reconcile(s.ctx, by))
	sub := s.kept.Subscription
	assert.That(t, sub != nil && sub.Status == payment.Active, "%+v", sub)
}

func TestInvoicesThatWereReadBeforeAPaymentDoNotUndoIt(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.InvoicesAt = time.Time{}
	s.payments.EXPECT().Invoices(any, any, any, any, any).Return(payment.InvoicePage{}, nil)
	before := s.subscriptions.Invoices(any, any, any).DoAndReturn(
		func(context.Context, payment.CustomerID, payment.InvoiceID) ([]payment.Invoice, error) {
			_, err := s.update(s.ctx, owner, "", func(c *payment.Customer) error { // a payment, meanwhile
				c.Pending = &payment.Operation{Kind: payment.Pay, Key: "pay", Invoice: "in_1"}
				c.SettlePayment(owner, "pay", c.Look(), payment.InvoicePayment{
					Invoice: payment.Invoice{ID: "in_1", Status: payment.Paid},
				}, []payment.GatewaySubscription{held(payment.Active)}, plans)
				return nil
			})
			return []payment.Invoice{{ID: "in_1", Status: payment.Open}}, err
		})
	s.subscriptions.Invoices(any, any, any).After(before).Return([]payment.Invoice{{ID: "in_1", Status: payment.Paid}},
		nil)
	_, err := s.Invoices(s.ctx, owner, "", page.Query{Limit: 10})
	require.NoError(t, err)
	if i := s.kept.Invoices; len(i) != 1 || i[0].Status != payment.Paid || s.kept.InvoicesAt != now {
		t.Errorf("%+v, read at %s", i, s.kept.InvoicesAt)
	}
}

// TestEventsOfAPausedCustomerThatWasDeletedAreProcessed expects no call that cancels setup intents: there is no
// customer whose they could be.
func TestEventsOfAPausedCustomerThatWasDeletedAreProcessed(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	s.kept.PausedAt = now
	deleted := payment.Event{ID: "evt_1", Customer: "cus_1", Type: "customer.deleted", State: payment.Received}
	waiting := []payment.Event{deleted}
	s.inbox.EXPECT().Waiting(any, any, any, any).AnyTimes().DoAndReturn(
		func(context.Context, identity.OrgID, string, payment.CustomerID) ([]payment.Event, error) {
			return waiting, nil
		})
	s.inbox.EXPECT().Save(any, any, any).DoAndReturn(
		func(_ context.Context, _ identity.OrgID, events ...payment.Event) error {
			waiting = nil
			if events[0].State != payment.Done {
				t.Errorf("%+v", events[0])
			}
			return nil
		})
	s.customers.Wallet(any, any).Return(payment.Wallet{}, payment.ErrCustomerGone)
	require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
}

func TestAWalletThatIsReadWhileItsDefaultIsRemovedKeepsTheReplacement(t *testing.T) {
	s := mockedWith(t, customer("pm_1", "pm_2"))
	later := owner
	later.At = now.Add(payment.Fresh)
	old := payment.Wallet{Methods: []payment.Method{method("pm_1"), method("pm_2")}, Default: "pm_1"}
	s.customers.Wallet(any, any).AnyTimes().Return(old, nil)
	reads := func() {
		w, err := s.Methods(s.ctx, later)
		assert.That(t, err == nil && w.Default == "pm_2" && len(w.Methods) == 1, "%+v, %v", w, err)
	}
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).DoAndReturn(
		func(context.Context, string, payment.CustomerID, payment.MethodID) error { reads(); return nil })
	s.customers.Detach(any, any, any, payment.MethodID("pm_1")).DoAndReturn(
		func(context.Context, string, payment.CustomerID, payment.MethodID) error { reads(); return nil })
	require.NoError(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""))
	m := s.kept.DefaultMethod()
	assert.That(t, m != nil && m.ID == "pm_2", "%+v of %+v", m, s.kept.Methods)
}

func TestADefaultThatIsChosenDuringARemovalIsTheGatewaysInTheEnd(t *testing.T) {
	s := mockedWith(t, customer("pm_1", "pm_2", "pm_3"))
	atGateway := payment.MethodID("pm_1")
	s.customers.SetDefault(any, any, any, any).AnyTimes().DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, m payment.MethodID) error {
			if m == "pm_2" {
				_, _, err := s.SetDefault(s.ctx, owner, "pm_3")
				require.NoError(t, err)
			}
			atGateway = m
			return nil
		})
	s.customers.Detach(any, any, any, payment.MethodID("pm_1")).Return(nil)
	require.NoError(t, s.RemoveMethod(s.ctx, owner, "pm_1", "pm_2"))
	assert.That(t, s.kept.Default == "pm_3" && atGateway == "pm_3",
		"default %s, at the gateway %s", s.kept.Default, atGateway)
}

func TestTwoCallsThatChooseADefaultMakeTheNextReadAskTheGateway(t *testing.T) {
	s := mockedWith(t, customer("pm_1", "pm_2", "pm_3"))
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_3")).Return(nil)
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).DoAndReturn(
		func(context.Context, string, payment.CustomerID, payment.MethodID) error {
			_, _, err := s.SetDefault(s.ctx, owner, "pm_3") // which may be first or last at the gateway
			return err
		})
	_, _, err := s.SetDefault(s.ctx, owner, "pm_2")
	require.NoError(t, err)
	s.customers.Wallet(any, any).Return(payment.Wallet{
		Methods: []payment.Method{method("pm_1"), method("pm_2"), method("pm_3")}, Default: "pm_3"}, nil)
	w, err := s.Methods(s.ctx, owner)
	assert.That(t, err == nil && w.Default == "pm_3", "%+v, %v", w, err)
}

// TestWhatIsReadDuringAPurchaseIsNotUndoneByItsResponse has the payer confirm the payment, and the gateway tell of it,
// before the response of the purchase is stored, which says that the payment waits.
func TestWhatIsReadDuringAPurchaseIsNotUndoneByItsResponse(t *testing.T) {
	s := mockedWith(t, customer("pm_1"))
	later := owner
	later.At = now.Add(payment.Fresh)
	s.hasThen(nil, held(payment.Active))
	s.customers.SetDefault(any, any, any, any).AnyTimes().Return(nil)
	s.subscriptions.Subscribe(any, "k", any, any).DoAndReturn(
		func(context.Context, string, payment.CustomerID, payment.Order) (payment.GatewaySubscription, error) {
			v, err := s.Subscription(s.ctx, later)
			require.NoError(t, err)
			assert.That(t, v.Status == payment.Active, "%+v", v)
			return held(payment.Incomplete), nil
		})
	v, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.NoError(t, err)
	assert.That(t, v.Status == payment.Active && s.kept.Subscription.Status == payment.Active &&
		s.kept.Pending == nil, "%+v, kept %+v", v, s.kept.Subscription)
}

// TestWhatCouldNotBeStoredDecidesNothing has the customer change during each read: what was read is not stored, and so
// not what is known.
func TestWhatCouldNotBeStoredDecidesNothing(t *testing.T) {
	for name, call := range map[string]func(*mockedService) error{
		"a purchase beside the subscription of a checkout page": func(s *mockedService) error {
			s.has(held(payment.Active))
			_, err := s.Subscribe(s.ctx, owner, "k", payment.SubscribeRequest{Plan: "basic", Quantity: 1})
			return err
		},
		"a trial with a card that has had one": func(s *mockedService) error {
			s.terms.Trials = payment.TrialRules{OncePerCard: true}
			s.has()
			s.kept.SubscriptionAt = now.Add(-time.Hour)
			s.customers.Wallet(any, any).AnyTimes().Return(payment.Wallet{}, nil)
			_, err := s.Subscribe(s.ctx, owner, "k", payment.SubscribeRequest{Plan: "basic", Quantity: 1})
			return err
		},
		"a change of what someone may have changed at the gateway": func(s *mockedService) error {
			s.kept = subscribed("pm_1")
			s.kept.SubscriptionAt = now.Add(-time.Hour)
			s.has(held(payment.Active))
			more := 2
			_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, payment.Changes{Quantity: &more})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := mockedWith(t, customer("pm_1"))
			s.between = func() { s.kept.Revision++ }
			err := call(s)
			require.ErrorIs(t, err, payment.ErrPending)
			f, ok := errors.AsType[*fault.Error](err)
			assert.That(t, ok && f.RetryAfter != 0, "it does not say when to repeat the call: %v", err)
			assert.That(t, s.kept.Pending == nil, "it has begun: %+v", s.kept.Pending)
		})
	}
}
