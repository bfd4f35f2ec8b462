package payments_test

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

func TestACancellationAfterAChangeStillEndsAllLiveSubscriptions(t *testing.T) {
	s := newMocked(t)
	s.kept = subscribed("pm_1")
	s.kept.Surplus = []billing.SubscriptionID{"sub_2"}
	ends := true
	changed := held(billing.Active)
	changed.CancelAtPeriodEnd = true
	s.gateway.MockGatewaySubscriptions.EXPECT().Amend(any, "change", any, changed.ID, any).Return(changed, nil)
	surplus := held(billing.Active)
	surplus.ID, surplus.CreatedAt = "sub_2", now.Add(time.Minute)
	s.has(changed, surplus)
	_, err := s.ChangeSubscription(s.ctx, owner, "change", nil, billing.Changes{CancelAtPeriodEnd: &ends})
	wantErr(t, err, nil)
	for id, key := range map[billing.SubscriptionID]string{"sub_1": "end", "sub_2": "end_sub_2"} {
		s.gateway.MockGatewaySubscriptions.EXPECT().Cancel(any, key, billing.CustomerID("cus_1"), id, any).Return(nil)
	}
	wantErr(t, s.CancelSubscription(s.ctx, owner, "end", nil, billing.Cancellation{}), nil)
}

// TestARepeatedPurchaseIsMirroredAsItIsNow has the payer confirm the first payment before the job repeats the purchase:
// the gateway repeats its response of the first call, which is older.
func TestARepeatedPurchaseIsMirroredAsItIsNow(t *testing.T) {
	s := newMocked(t)
	s.kept = customer("pm_1")
	s.kept.Pending = &billing.Operation{Kind: billing.Subscribe, Key: "k", At: now, Plan: "basic", Quantity: 1}
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscribe(any, "k", any, any).Return(held(billing.Incomplete), nil)
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscriptions(any, any).AnyTimes().Return(
		[]billing.GatewaySubscription{held(billing.Active)}, nil)
	by := system
	by.At = now.Add(time.Minute)
	wantErr(t, s.Reconcile(s.ctx, by), nil)
	if sub := s.kept.Subscription; sub == nil || sub.Status != billing.Active {
		t.Errorf("%+v", sub)
	}
}

func TestInvoicesThatWereReadBeforeAPaymentDoNotUndoIt(t *testing.T) {
	s := newMocked(t)
	s.kept = subscribed("pm_1")
	s.kept.InvoicesAt = time.Time{}
	s.payments.EXPECT().Invoices(any, any, any, any, any).Return(billing.InvoicePage{}, nil)
	s.gateway.MockGatewaySubscriptions.EXPECT().Invoices(any, any).DoAndReturn(
		func(context.Context, billing.CustomerID) ([]billing.Invoice, error) {
			_, err := s.update(s.ctx, owner, "", func(c *billing.Customer) error { // a payment, meanwhile
				c.Pending = &billing.Operation{Kind: billing.Pay, Key: "pay", Invoice: "in_1"}
				c.SettlePayment(owner, "pay", billing.InvoicePayment{
					Invoice: billing.Invoice{ID: "in_1", Status: billing.Paid},
				}, []billing.GatewaySubscription{held(billing.Active)}, plans)
				return nil
			})
			return []billing.Invoice{{ID: "in_1", Status: billing.Open}}, err
		})
	_, err := s.Invoices(s.ctx, owner, "", page.Query{Limit: 10})
	wantErr(t, err, nil)
	if i := s.kept.Invoices; len(i) != 1 || i[0].Status != billing.Paid || !s.kept.InvoicesAt.IsZero() {
		t.Errorf("%+v, read at %s", i, s.kept.InvoicesAt)
	}
}

// TestEventsOfAPausedCustomerThatWasDeletedAreProcessed expects no call that cancels setup intents: there is no
// customer whose they could be.
func TestEventsOfAPausedCustomerThatWasDeletedAreProcessed(t *testing.T) {
	s := newMocked(t)
	s.kept = customer("pm_1")
	s.kept.PausedAt = now
	deleted := billing.Event{ID: "evt_1", Customer: "cus_1", Type: "customer.deleted", State: billing.Received}
	waiting := []billing.Event{deleted}
	s.inbox.EXPECT().Waiting(any, any, any, any).AnyTimes().DoAndReturn(
		func(context.Context, identity.OrgID, string, billing.CustomerID) ([]billing.Event, error) {
			return waiting, nil
		})
	s.inbox.EXPECT().Save(any, any, any).DoAndReturn(
		func(_ context.Context, _ identity.OrgID, events ...billing.Event) error {
			waiting = nil
			if events[0].State != billing.Done {
				t.Errorf("%+v", events[0])
			}
			return nil
		})
	s.gateway.MockGatewayCustomers.EXPECT().Wallet(any, any).Return(billing.Wallet{}, billing.ErrCustomerGone)
	wantErr(t, s.ProcessEvents(s.ctx, system, "cus_1"), nil)
}
