package node

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// shop is a gateway that only has prices.
type shop struct {
	ports.Gateway
	fails, sells atomic.Bool
	looks        atomic.Int32
}

func (s *shop) Prices(_ context.Context, plans payment.Plans) (payment.Plans, error) {
	s.looks.Add(1)
	if s.fails.Load() {
		return nil, errors.New("no response")
	}
	plans = slices.Clone(plans)
	for i := range plans {
		plans[i].Unavailable = !s.sells.Load()
	}
	return plans, nil
}

func TestPricesAreVerifiedPeriodically(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := new(shop)
		s.fails.Store(true)
		g := &Gateways{slugs: map[identity.OrgID]string{"org": "acme"}}
		g.verify(ctx, map[identity.OrgID]payments.Terms{
			"org": {Gateway: s, Plans: payment.Plans{{ID: "basic", Unavailable: true}}},
		})
		go g.runPrices(ctx)
		available := func(want bool) {
			t.Helper()
			synctest.Wait()
			assert.Equal(t, "available", !g.Terms("org").Plans[0].Unavailable, want)
		}
		available(false) // what was never verified cannot be bought
		s.fails.Store(false)
		s.sells.Store(true)
		time.Sleep(pricesAgain)
		available(true) // soon after the gateway answers again
		s.sells.Store(false)
		time.Sleep(pricesEvery)
		available(false)
		looks := s.looks.Load()
		time.Sleep(pricesEvery)
		synctest.Wait()
		if s.looks.Load() != looks+1 {
			t.Errorf("%d looks within a period", s.looks.Load()-looks)
		}
		cancel()
	})
}
