package payments_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

func TestManagersSeeTheActionOfARenewal(t *testing.T) {
	s := newMocked(t)
	s.kept = subscribed("pm_1")
	s.kept.Subscription.Status = payment.PastDue
	h := held(payment.PastDue)
	h.Action = &payment.Action{Type: payment.ConfirmPayment, ClientSecret: secret.New("s")}
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscriptions(any, payment.CustomerID("cus_1")).
		Return([]payment.GatewaySubscription{h}, nil)
	v, err := s.Subscription(s.ctx, owner)
	if wantErr(t, err, nil); v.Action != h.Action || v.Status != payment.PastDue {
		t.Errorf("%+v", v)
	}
	v, err = s.Subscription(s.ctx, member)
	if wantErr(t, err, nil); v.Action != nil {
		t.Errorf("a member sees %+v", v.Action)
	}
}
