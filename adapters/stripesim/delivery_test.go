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
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestACallReturnsAfterTheDeliveryOfItsEvents makes calls in parallel while the webhook is slow. A call that returned
// earlier could be repeated before anyone has counted what it did.
func TestACallReturnsAfterTheDeliveryOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var deliveries []string
		g, _ := newGateway(t, stripesim.Config{Deliver: func(_ context.Context, body []byte, _ string) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			deliveries = append(deliveries, string(body))
			return nil
		}})
		c, err := g.CreateCustomer(t.Context(), "key", payment.Details{})
		require.NoError(t, err)
		var calls sync.WaitGroup
		for _, key := range []string{"a", "b", "c"} {
			calls.Go(func() {
				i, err := g.CreateSetupIntent(t.Context(), key, c, payment.OffSession)
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				assert.That(t, slices.ContainsFunc(deliveries, func(body string) bool {
					return strings.Contains(body, string(i.ID))
				}), "a call has returned before its event was delivered")
			})
		}
		calls.Wait()
		assert.Equal(t, "delivered events", len(deliveries), 4)
	})
}
