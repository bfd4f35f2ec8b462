package payments_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
)

func TestPagesEndForTheDeletionOfTheirWorkspace(t *testing.T) {
	begin := func(t *testing.T, until time.Time) *mockedService {
		s := newMocked(t)
		s.kept = customer("pm_1")
		s.kept.CheckoutUntil = until
		return s
	}
	ends := func(t *testing.T, s *mockedService, want bool) {
		t.Helper()
		ended, err := s.EndCheckouts(s.ctx, system)
		if wantErr(t, err, nil); ended != want || s.kept.CheckoutUntil.IsZero() != want {
			t.Errorf("ended %t, open until %s", ended, s.kept.CheckoutUntil)
		}
	}
	t.Run("one that is open", func(t *testing.T) {
		s := begin(t, now.Add(time.Hour))
		s.gateway.MockGatewayPages.EXPECT().EndCheckouts(any, billing.CustomerID("cus_1")).Return(nil)
		s.has()
		ends(t, s, true)
	})
	t.Run("one whose time is over", func(t *testing.T) {
		s := begin(t, now)
		s.has()
		ends(t, s, true)
	})
	t.Run("but not one on which a payer has subscribed", func(t *testing.T) {
		s := begin(t, now.Add(time.Hour))
		s.gateway.MockGatewayPages.EXPECT().EndCheckouts(any, billing.CustomerID("cus_1")).Return(nil)
		s.has(held(billing.Active))
		ends(t, s, false)
		if s.kept.Subscription == nil {
			t.Error("the subscription is not mirrored")
		}
	})
	t.Run("without a page no call is made", func(t *testing.T) {
		s := begin(t, time.Time{})
		if ended, err := s.EndCheckouts(s.ctx, system); ended || err != nil {
			t.Errorf("ended %t, %v", ended, err)
		}
		s.kept = nil
		if ended, err := s.EndCheckouts(s.ctx, system); ended || err != nil {
			t.Errorf("ended %t, %v", ended, err)
		}
	})
}
