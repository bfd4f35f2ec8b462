package payments_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/secret"
)

func TestManagersSeeTheActionOfARenewal(t *testing.T) {
	s := newMocked(t)
	s.kept = subscribed("pm_1")
	s.kept.Subscription.Status = billing.PastDue
	h := held(billing.PastDue)
	h.Action = &billing.Action{Type: billing.ConfirmPayment, ClientSecret: secret.New("s")}
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscriptions(any, billing.CustomerID("cus_1")).
		Return([]billing.GatewaySubscription{h}, nil)
	v, err := s.Subscription(s.ctx, owner)
	if wantErr(t, err, nil); v.Action != h.Action || v.Status != billing.PastDue {
		t.Errorf("%+v", v)
	}
	v, err = s.Subscription(s.ctx, member)
	if wantErr(t, err, nil); v.Action != nil {
		t.Errorf("a member sees %+v", v.Action)
	}
}
