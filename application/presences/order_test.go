package presences_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
)

// TestADeletionWhileTheFirstHeartbeatIsStoredIsNotMissed deletes a presence between the moments at which the store and
// the memory of its node have the first heartbeat.
func TestADeletionWhileTheFirstHeartbeatIsStoredIsNotMissed(t *testing.T) {
	for name, isShared := range map[string]bool{"on another node": true, "on the same node": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnv(t)
				local := s.start(isShared)
				other := local
				if isShared {
					other = s.start(true)
				}
				time.Sleep(2 * time.Second)
				s.once(func() {
					require.NoError(t, other.DeleteMine(t.Context(), ann))
					time.Sleep(100 * time.Millisecond) // in which here hears of it
				})
				send(t, local, ann, beat("web"))
				time.Sleep(time.Second)
				if _, isNew, err := local.Beat(t.Context(), ann, beat("web")); err != nil || !isNew {
					t.Errorf("a heartbeat counts for the presence that was deleted: created %v, %v", isNew, err)
				}
			})
		})
	}
}

// TestAHeartbeatDoesNotDelayWhatTheStoreLacks stops a node with a wrong clock after it has ended a device of another
// node, which still has heartbeats.
func TestAHeartbeatDoesNotDelayWhatTheStoreLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnv(t)
		good, ahead := s.start(true), s.start(true)
		time.Sleep(2*time.Second + 10*time.Millisecond)
		s.lose(true)
		ahead.Correct(time.Hour)
		send(t, good, ann, beat("a"))
		send(t, ahead, ann, beat("b"))
		time.Sleep(100 * time.Millisecond)
		ahead.kill()
		if got := len(s.record("ann").Devices); got != 1 {
			t.Fatalf("the store has %d devices, want only that of the wrong clock", got)
		}
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			send(t, good, ann, beat("a"))
		}
		if got := len(s.record("ann").Devices); got != 2 {
			t.Errorf("the store has %d devices after five seconds of heartbeats", got)
		}
	})
}
