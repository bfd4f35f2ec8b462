package payments_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
)

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
