package stripesim_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestACallReturnsAfterTheDeliveryOfItsEvents makes calls in parallel while the webhook is slow. A call that returned
// earlier could be repeated before anyone has counted what it did.
func TestACallReturnsAfterTheDeliveryOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var delivered []string
		g, _ := newGateway(t, stripesim.Config{Deliver: func(_ context.Context, body []byte, _ string) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			delivered = append(delivered, string(body))
			return nil
		}})
		c, err := g.CreateCustomer(t.Context(), "key", payment.Details{})
		require.NoError(t, err)
		var calls sync.WaitGroup
		for _, key := range []string{"a", "b", "c"} {
			calls.Go(func() {
				i, err := g.CreateSetupIntent(t.Context(), key, c, payment.OffSession)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if !slices.ContainsFunc(delivered,
					func(body string) bool { return strings.Contains(body, string(i.ID)) }) {
					t.Errorf("a call has returned before its event was delivered")
				}
			})
		}
		calls.Wait()
		if len(delivered) != 4 {
			t.Errorf("%d of 4 events are delivered", len(delivered))
		}
	})
}
