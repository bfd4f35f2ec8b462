package contract

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// PresenceSignals is the suite for ports.PresenceSignals; node opens the same signals as another node.
func PresenceSignals(t *testing.T, node func() ports.PresenceSignals) {
	sender := node()
	heard := make([]chan identity.OrgID, 2)
	ends := make([]chan error, 2)
	ctx, stop := context.WithCancel(t.Context())
	for i := range heard {
		heard[i], ends[i] = make(chan identity.OrgID, 100), make(chan error, 1)
		listener := sender // a node receives its own signals
		if i > 0 {
			listener = node()
		}
		go func() { ends[i] <- listener.Listen(ctx, func(org identity.OrgID) { heard[i] <- org }) }()
	}
	await := func(t *testing.T, i int, org identity.OrgID) {
		t.Helper()
		for late := time.After(proof.Patience); ; {
			select {
			case got := <-heard[i]:
				if got == org {
					return
				}
			case err := <-ends[i]:
				t.Fatalf("listener %d ended: %v", i, err)
			case <-late:
				t.Fatalf("listener %d has not heard of %q", i, org)
			}
		}
	}
	t.Run("a new listener is told that signals may have been lost", func(t *testing.T) {
		await(t, 0, "")
		await(t, 1, "")
	})
	t.Run("every node receives the org of a signal", func(t *testing.T) {
		for _, org := range []identity.OrgID{"org_one", "org_two"} {
			must(t, sender.Announce(ctx, org))
			await(t, 0, org)
			await(t, 1, org)
		}
	})
	t.Run("listening ends with its context, without an error", func(t *testing.T) {
		stop()
		for i := range ends {
			select {
			case err := <-ends[i]:
				must(t, err)
			case <-time.After(proof.Patience):
				t.Fatal("it has not ended")
			}
		}
	})
}
