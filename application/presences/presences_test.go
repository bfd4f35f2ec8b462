package presences_test

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// staged runs a test in a bubble with its own time, on a single node.
func staged(t *testing.T, test func(t *testing.T, s *env, n *node)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newEnv(t)
		test(t, s, s.start(false))
	})
}

// part runs a part of a test in the same bubble.
func part(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Log(name)
	test(t)
}

func send(t *testing.T, n *node, by identity.Actor, h presence.Heartbeat) presence.View {
	t.Helper()
	v, _, err := n.Beat(t.Context(), by, h)
	require.NoError(t, err)
	return v
}

func TestAHeartbeatBeginsAPresenceOnce(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		for i, want := range []bool{true, false, false} {
			v, isNew, err := n.Beat(t.Context(), ann, beat("web"))
			require.NoError(t, err)
			if isNew != want || v.Status != presence.Online || v.ID != "prs_ann" {
				t.Errorf("heartbeat %d: created %v, %+v", i, isNew, v)
			}
		}
		require.NoError(t, n.DeleteMine(t.Context(), ann))
		if _, isNew, err := n.Beat(t.Context(), ann, beat("web")); err != nil || !isNew {
			t.Errorf("after it was deleted: created %v, %v", isNew, err)
		}
	})
}

func TestSignsOfLifeStayInMemory(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		for range 9 {
			time.Sleep(30 * time.Second)
			send(t, n, ann, beat("web"))
		}
		assert.Equal(t, "writes for one change", s.writes(), 1)
		if v, err := n.Mine(t.Context(), ann); err != nil || v.Status != presence.Online || !v.SeenAt.Equal(now()) {
			t.Errorf("%+v, %v", v, err)
		}
		time.Sleep(62 * time.Second) // five minutes after the first that was not stored
		assert.Equal(t, "writes", s.writes(), 2)
	})
}

func TestAClaimIsStoredBeforeItIsAcknowledged(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		send(t, n, ann, claim(presence.ManualDND))
		if r := s.record("ann"); r.Default.Status != presence.ManualDND || r.Shown != presence.DND {
			t.Errorf("%+v", r)
		}
		s.fail(errOutage)
		_, _, err := n.Beat(t.Context(), ann, claim(presence.ManualAway))
		require.ErrorIs(t, err, errOutage)
		s.fail(nil)
		if v, err := n.Mine(t.Context(), ann); err != nil || v.Status != presence.DND {
			t.Errorf("what was refused counts: %+v, %v", v, err)
		}
	})
}

func TestWhoFallsSilentIsOfflineInTime(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		time.Sleep(89 * time.Second)
		if got := n.statuses(t); !maps.Equal(got, map[identity.UserID]presence.Status{"ann": presence.Online}) {
			t.Errorf("before: %v", got)
		}
		time.Sleep(2500 * time.Millisecond)
		if got := n.statuses(t); !maps.Equal(got, map[identity.UserID]presence.Status{"ann": presence.Offline}) {
			t.Errorf("after: %v", got)
		}
		if s.record("ann").Shown != presence.Offline {
			t.Errorf("stored: %+v", s.record("ann"))
		}
	})
}

func TestWhatEndsDuringAnOutageIsSettledAfterIt(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		s.fail(errOutage)
		time.Sleep(5 * time.Minute)
		s.fail(nil)
		time.Sleep(2 * time.Second)
		if got := n.statuses(t)["ann"]; got != presence.Offline || s.record("ann").Shown != presence.Offline {
			t.Errorf("%s, stored as %s", got, s.record("ann").Shown)
		}
	})
}

func TestAClaimEndsByItself(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		h := claim(presence.ManualAway)
		h.Until = new(now().Add(10 * time.Second))
		send(t, n, ann, h)
		previous := s.record("ann").Seq
		time.Sleep(11500 * time.Millisecond)
		if r := s.record("ann"); r.Shown != presence.Online || r.Seq <= previous {
			t.Errorf("%+v", r)
		}
	})
	t.Run("also of somebody who is offline", func(t *testing.T) {
		staged(t, func(t *testing.T, s *env, n *node) {
			h := claim(presence.ManualAway)
			h.Until = new(now().Add(time.Hour))
			send(t, n, ann, h)
			time.Sleep(time.Hour + 2*time.Second)
			if r := s.record("ann"); r.Temporary != nil || !r.Due.IsZero() {
				t.Errorf("%+v", r)
			}
		})
	})
}

func TestANodeSettlesWhatItFindsAtItsStart(t *testing.T) {
	for name, isShared := range map[string]bool{"alone": false, "with others": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnv(t)
				previous := s.start(isShared)
				for i := range 500 { // more than are read at once
					send(t, previous, person(identity.UserID(fmt.Sprintf("u%03d", i))), beat("web"))
				}
				previous.kill()
				time.Sleep(45 * time.Second)
				n := s.start(isShared)
				send(t, n, ann, beat("web"))
				time.Sleep(47500 * time.Millisecond)
				counts, _, err := s.Counts(t.Context(), "org", "")
				require.NoError(t, err)
				if counts[presence.Online] != 1 || counts[presence.Offline] != 500 {
					t.Errorf("%v", counts)
				}
			})
		})
	}
}

func TestFlushStoresWhatWasHeard(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		time.Sleep(30 * time.Second)
		send(t, n, ann, beat("web"))
		n.kill()
		require.NoError(t, n.Flush(t.Context()))
		if !s.record("ann").SeenAt.Equal(now()) {
			t.Errorf("%+v", s.record("ann"))
		}
		savedCount := s.writes()
		require.NoError(t, n.Flush(t.Context()))
		if s.writes() != savedCount {
			t.Error("what is stored was stored again")
		}
		s.fail(errOutage)
		time.Sleep(time.Second)
		send(t, n, ann, beat("web"))
		require.ErrorIs(t, n.Flush(t.Context()), errOutage)
	})
}

func TestWhoMayReadAndDelete(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		for name, tt := range map[string]struct {
			by     identity.Actor
			access presence.Access
			read   error
			delete error
		}{
			"a stranger":       {eve, 0, presence.ErrNotFound, presence.ErrNotFound},
			"a co-member":      {bob, presence.Public, nil, presence.ErrNotFound},
			"by a key to view": {viewing, presence.Own, nil, identity.ErrForbidden},
			"an operator":      {operator, presence.Whole, nil, nil},
			"its user":         {ann, presence.Own, nil, nil},
		} {
			part(t, name, func(t *testing.T) {
				send(t, n, ann, beat("web"))
				v, err := n.Get(t.Context(), tt.by, "prs_ann")
				require.ErrorIs(t, err, tt.read)
				if err == nil && v.Access != tt.access {
					t.Errorf("access = %v", v.Access)
				}
				require.ErrorIs(t, n.Delete(t.Context(), tt.by, "prs_ann"), tt.delete)
			})
		}
		part(t, "what is deleted is nowhere", func(t *testing.T) {
			send(t, n, ann, beat("web"))
			require.NoError(t, n.DeleteMine(t.Context(), ann))
			for _, by := range []identity.Actor{ann, operator, bob} {
				_, err := n.Get(t.Context(), by, "prs_ann")
				require.ErrorIs(t, err, presence.ErrNotFound)
				require.ErrorIs(t, n.Delete(t.Context(), by, "prs_ann"), presence.ErrNotFound)
			}
			_, err := n.Mine(t.Context(), ann)
			require.ErrorIs(t, err, presence.ErrNotFound)
		})
		part(t, "nor is what never was", func(t *testing.T) {
			_, err := n.Get(t.Context(), operator, "prs_x")
			require.ErrorIs(t, err, presence.ErrNotFound)
			require.ErrorIs(t, n.Delete(t.Context(), operator, "prs_x"), presence.ErrNotFound)
		})
	})
}

func TestHeartbeatsThatMayNot(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		h := beat("web")
		h.User = "bob"
		_, _, err := n.Beat(t.Context(), ann, h)
		require.ErrorIs(t, err, presence.ErrNotOwn)
		_, _, err = n.Beat(t.Context(), viewing, beat("web"))
		require.ErrorIs(t, err, identity.ErrForbidden)
		assert.Equal(t, "records were stored", s.writes(), 0)
	})
}

func TestLists(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		send(t, n, bob, claim(presence.ManualInvisible))
		list := func(by identity.Actor, f presence.Filter) (users []identity.UserID, isCounted bool) {
			found, err := n.List(t.Context(), by, f, page.Query{Limit: 10})
			require.NoError(t, err)
			for _, v := range found.Items {
				users = append(users, v.User)
			}
			return users, found.Counts != nil
		}
		for name, tt := range map[string]struct {
			by      identity.Actor
			f       presence.Filter
			want    string
			counted bool
		}{
			"operators see all":              {operator, presence.Filter{}, "[bob ann]", true},
			"others themselves":              {ann, presence.Filter{}, "[ann]", false},
			"and no one else":                {ann, presence.Filter{User: "bob"}, "[]", false},
			"by what they see of themselves": {bob, presence.Filter{Status: presence.Online}, "[bob]", false},
			"and not by what others see":     {bob, presence.Filter{Status: presence.Offline}, "[]", false},
			"operators by what they see":     {operator, presence.Filter{Status: presence.Offline}, "[bob]", true},
		} {
			part(t, name, func(t *testing.T) {
				if users, isCounted := list(tt.by, tt.f); fmt.Sprint(users) != tt.want || isCounted != tt.counted {
					t.Errorf("%v, counted %v", users, isCounted)
				}
			})
		}
		s.fail(errOutage)
		for _, by := range []identity.Actor{ann, operator} {
			_, err := n.List(t.Context(), by, presence.Filter{}, page.Query{Limit: 10})
			require.ErrorIs(t, err, errOutage)
		}
	})
}

func TestAnOpenStreamAttends(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		require.NoError(t, n.Attend(t.Context(), ann, "tab", true))
		for range 10 {
			time.Sleep(30 * time.Second)
			require.NoError(t, n.Attend(t.Context(), ann, "tab", false))
		}
		assert.Equal(t, "ann", n.statuses(t)["ann"], presence.Online)
		part(t, "a device that is idle stays so", func(t *testing.T) {
			h := beat("tab")
			h.Idle = true
			send(t, n, ann, h)
			require.NoError(t, n.Attend(t.Context(), ann, "tab", false))
			assert.Equal(t, "ann", n.statuses(t)["ann"], presence.Away)
		})
		part(t, "what was deleted it leaves alone", func(t *testing.T) {
			require.NoError(t, n.DeleteMine(t.Context(), ann))
			require.NoError(t, n.Attend(t.Context(), ann, "tab", false))
			if !s.record("ann").Deleted {
				t.Errorf("%+v", s.record("ann"))
			}
		})
		part(t, "by a key for viewing it does nothing", func(t *testing.T) {
			require.NoError(t, n.Attend(t.Context(), viewing, "tab", true))
			if !s.record("ann").Deleted {
				t.Errorf("%+v", s.record("ann"))
			}
		})
		s.fail(errOutage)
		require.ErrorIs(t, n.Attend(t.Context(), ann, "tab", true), errOutage)
	})
}
