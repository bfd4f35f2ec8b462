package presences_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

// asks returns how often the store is asked for members of workspaces, in a time.
func (s *env) asks(runningTime time.Duration) int {
	s.mu.Lock()
	previous := s.asked
	s.mu.Unlock()
	time.Sleep(runningTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked - previous
}

// signalled reports whether w must be rechecked.
func signalled(w *presences.Watch) bool {
	select {
	case <-w.Regrouped:
		return true
	default:
		return false
	}
}

func TestWhomWatchesNameIsAskedForOnceForAllOfThem(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		var open []*presences.Watch
		begin := func(user, of string) {
			w, _, err := n.Watch(t.Context(), person(identity.UserID(user)), []identity.UserID{identity.UserID(of)}, 0)
			require.NoError(t, err)
			t.Cleanup(w.Close)
			open = append(open, w)
		}
		begin("ann", "bob")
		time.Sleep(2500 * time.Millisecond) // so that counting neither starts nor ends during a query
		small := s.asks(10 * time.Second)
		for i := range 500 {
			begin(fmt.Sprint("u", i), fmt.Sprint("u", i+1))
		}
		time.Sleep(2 * time.Second)
		if count := s.asks(10 * time.Second); small == 0 || count > small {
			t.Errorf("the store is asked %d times for one, %d times for 501", small, count)
		}
		for i, w := range open {
			if !signalled(w) {
				t.Errorf("watch %d was not signalled what changed before it began", i)
			}
		}
		time.Sleep(5 * time.Second)
		for i, w := range open {
			if signalled(w) {
				t.Errorf("watch %d is signalled without a change", i)
			}
		}
	})
}

func TestAWatchIsToldWithinTwoSecondsThatSomebodyMoved(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		ownWatch, _, err := n.Watch(t.Context(), ann, []identity.UserID{"bob"}, 0)
		require.NoError(t, err)
		defer ownWatch.Close()
		solo, _, err := n.Watch(t.Context(), bob, nil, 0)
		require.NoError(t, err)
		defer solo.Close()
		all, _, err := n.Watch(t.Context(), operator, []identity.UserID{"bob"}, 0)
		require.NoError(t, err)
		defer all.Close()
		time.Sleep(2 * time.Second)
		signalled(ownWatch)
		move := func(isApart bool) {
			s.mu.Lock()
			s.apart = isApart
			s.mu.Unlock()
			time.Sleep(2 * time.Second)
		}
		if move(true); !signalled(ownWatch) || signalled(solo) || signalled(all) {
			t.Error("the wrong watches were signalled")
		}
		s.fail(errOutage)
		_, err = ownWatch.Recheck(t.Context())
		require.ErrorIs(t, err, errOutage)
		time.Sleep(2 * time.Second)
		s.fail(nil)
		if time.Sleep(2 * time.Second); !signalled(ownWatch) {
			t.Error("what could not be found out is not tried again")
		}
		isChanged, err := ownWatch.Recheck(t.Context())
		if require.NoError(t, err); !isChanged {
			t.Error("nothing has changed")
		}
		if move(false); !signalled(ownWatch) {
			t.Error("it is not signalled that they share a workspace again")
		}
	})
}
