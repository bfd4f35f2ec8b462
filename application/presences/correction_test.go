package presences_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestACorrectionOfTheClockEndsNoPresenceAndExtendsNone corrects the clock of a single node, whose devices have 90
// seconds to live.
func TestACorrectionOfTheClockEndsNoPresenceAndExtendsNone(t *testing.T) {
	for name, by := range map[string]time.Duration{
		"an hour back": -time.Hour, "an hour forward": time.Hour, "two days forward": 48 * time.Hour,
		"half a second back": -500 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			staged(t, func(t *testing.T, s *env, n *node) {
				send(t, n, ann, beat("web"))
				time.Sleep(30 * time.Second)
				n.Correct(by)
				assert.Equal(t, "the time is corrected by", n.Now().Sub(now()), by)
				v, err := n.Mine(t.Context(), ann)
				require.NoError(t, err)
				assert.Equal(t, "the correction made them", v.Status, presence.Online)
				if by.Abs() > time.Second {
					if seen := n.Now().Sub(v.SeenAt); seen != 30*time.Second {
						t.Errorf("they were seen %s ago", seen)
					}
				}
				time.Sleep(58 * time.Second)
				assert.Equal(t, "before the device ends", n.statuses(t)["ann"], presence.Online)
				time.Sleep(5 * time.Second)
				assert.Equal(t, "after the device has ended", n.statuses(t)["ann"], presence.Offline)
			})
		})
	}
}

func TestHeartbeatsCountAfterACorrection(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			staged(t, func(t *testing.T, s *env, n *node) {
				send(t, n, ann, beat("web"))
				n.Correct(by)
				for range 20 {
					time.Sleep(30 * time.Second)
					if v := send(t, n, ann, beat("web")); !v.SeenAt.Equal(n.Now()) || v.Status != presence.Online {
						t.Fatalf("%s, seen %s ago", v.Status, n.Now().Sub(v.SeenAt))
					}
				}
			})
		})
	}
}

// TestNodesAgreeOnceAClockIsCorrected lets one of two nodes begin with a wrong clock.
func TestNodesAgreeOnceAClockIsCorrected(t *testing.T) {
	for name, invalidTime := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnv(t)
				good, bad := s.start(true), s.start(true)
				bad.Correct(invalidTime)
				send(t, bad, ann, beat("web"))
				send(t, good, bob, beat("web"))
				time.Sleep(10 * time.Second)
				bad.Correct(-invalidTime)
				time.Sleep(3 * time.Second)
				for _, n := range []*node{good, bad} {
					if got := n.statuses(t); got["ann"] != presence.Online || got["bob"] != presence.Online {
						t.Errorf("a node shows %v", got)
					}
				}
				time.Sleep(90 * time.Second)
				for _, n := range []*node{good, bad} {
					if got := n.statuses(t); got["ann"] != presence.Offline || got["bob"] != presence.Offline {
						t.Errorf("without heartbeats a node shows %v", got)
					}
				}
			})
		})
	}
}
