package stripesim_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestACallDoesNotBecomeSlowerWithTheNumberOfCallsBefore(t *testing.T) {
	objects := fixture.NewSandboxObjects()
	g, _ := newGateway(t, stripesim.Config{Objects: objects})
	c, err := g.CreateCustomer(t.Context(), "c", payment.Details{})
	require.NoError(t, err)
	size := func(calls int) int {
		for range calls {
			_, err := g.CreateSetupIntent(t.Context(), time.Now().String(), c, payment.OffSession)
			require.NoError(t, err)
		}
		rows, err := objects.Read(t.Context(), "org", string(c))
		require.NoError(t, err)
		return len(rows)
	}
	if after120, after240 := size(120), size(120); after240 > after120 {
		t.Errorf("the customer has %d objects after 120 calls and %d after 240", after120, after240)
	}
}
