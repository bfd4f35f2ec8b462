package presences_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestNodesAgreeWithHistory lets people report to three nodes, which are killed at random, and compares
// what each node shows of everyone with their history.
func TestNodesAgreeWithHistory(t *testing.T) {
	seeds := proof.Sample(uint64(3), 200)
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compareNodes(t, rand.New(rand.NewPCG(seed, 8))) })
		})
	}
}

func compareNodes(t *testing.T, random *rand.Rand) {
	s := newEnv(t)
	nodes := []*node{s.start(true), s.start(true), s.start(true)}
	users := []identity.UserID{"ann", "bob", "carl", "dora"}
	histories := map[identity.UserID]*fixture.PresenceHistory{}
	for _, u := range users {
		histories[u] = &fixture.PresenceHistory{}
	}
	claims := []presence.Manual{presence.Auto, presence.ManualOnline, presence.ManualAway, presence.ManualDND,
		presence.ManualInvisible}
	for step := range 80 {
		s.lose(random.IntN(2) == 0)
		user := users[random.IntN(len(users))]
		h, by, n := histories[user], person(user), nodes[random.IntN(len(nodes))]
		switch action := random.IntN(12); action {
		case 0:
			err := n.DeleteMine(t.Context(), by)
			if err != nil && h.Heard() {
				t.Fatalf("step %d: %v", step, err)
			}
			*h = fixture.PresenceHistory{}
		case 1:
			i := random.IntN(len(nodes))
			nodes[i].kill()
			for _, h := range histories {
				h.Lose(nodes[i])
			}
			nodes[i] = s.start(true)
		default:
			b := beat([]string{"a", "b"}[random.IntN(2)])
			b.Idle, b.TTL = random.IntN(3) == 0, time.Duration(30+random.IntN(271))*time.Second
			if action < 6 {
				b.Status = &claims[random.IntN(len(claims))]
			}
			if action == 5 {
				b.Until = new(now().Add(time.Duration(1+random.IntN(100)) * time.Second))
			}
			send(t, n, by, b)
			h.Beat(n, b, now(), now())
		}
		if random.IntN(3) == 0 { // the next one comes before any node has heard of this
			time.Sleep(time.Duration(1+random.IntN(500)) * time.Millisecond)
			continue
		}
		time.Sleep(time.Duration(random.IntN(40_000)) * time.Millisecond / time.Duration(1+random.IntN(10)))
		time.Sleep(2 * time.Second)
		for i, n := range nodes {
			views := n.statuses(t)
			if _, differ := views["counts differ"]; differ {
				continue // something ended at this moment
			}
			for _, u := range users {
				got := cmp.Or(views[u], presence.Offline)
				if possible := histories[u].Possible(now(), now(), 2*time.Second); !possible[got] {
					t.Fatalf("step %d: node %d shows %s as %s, want %v\nstored: %+v", step, i, u, got, possible,
						s.record(u))
				}
			}
		}
	}
}

func TestNodesHearOfOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnv(t)
		local, other := s.start(true), s.start(true)
		send(t, local, ann, beat("a"))
		send(t, other, ann, beat("b"))
		time.Sleep(100 * time.Millisecond)
		if v := send(t, local, ann, beat("a")); len(v.Devices) != 2 {
			t.Errorf("here: %+v", v)
		}
		send(t, other, ann, claim(presence.ManualDND))
		time.Sleep(100 * time.Millisecond)
		if v := send(t, local, ann, beat("a")); v.Status != presence.DND {
			t.Errorf("here: %+v", v)
		}
		require.NoError(t, other.DeleteMine(t.Context(), ann))
		time.Sleep(100 * time.Millisecond)
		if _, isNew, err := local.Beat(t.Context(), ann, beat("a")); err != nil || !isNew {
			t.Errorf("what was deleted there is here still: created %v, %v", isNew, err)
		}
	})
}

func TestASignalThatIsLostCostsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnv(t)
		local, other := s.start(true), s.start(true)
		send(t, local, ann, beat("a"))
		time.Sleep(100 * time.Millisecond)
		s.lose(true)
		send(t, other, ann, claim(presence.ManualDND))
		time.Sleep(1100 * time.Millisecond)
		if v := send(t, local, ann, beat("a")); v.Status != presence.DND {
			t.Errorf("here: %+v", v)
		}
	})
}

func TestADeviceOfAnotherNodeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnv(t)
		local, other := s.start(true), s.start(true)
		for range 20 { // ten minutes, in which each node hears from only one of them
			send(t, local, ann, beat("a"))
			send(t, other, ann, beat("b"))
			time.Sleep(30 * time.Second)
		}
		for i, n := range []*node{local, other} {
			if v, err := n.Mine(t.Context(), ann); err != nil || len(v.Devices) != 2 {
				t.Errorf("node %d: %+v, %v", i, v, err)
			}
		}
		assert.Equal(t, "changes could be seen", s.record("ann").Seq, 2)
		if s.writes() > 30 {
			t.Errorf("%d writes in ten minutes", s.writes())
		}
	})
}

func TestAHeartbeatAfterADeletionThatItsNodeHasNotHeardOfCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newEnv(t)
		local, other := s.start(true), s.start(true)
		send(t, other, ann, claim(presence.ManualDND))
		send(t, other, ann, beat("a"))
		send(t, local, ann, beat("b"))
		time.Sleep(time.Second)
		s.lose(true)
		require.NoError(t, local.DeleteMine(t.Context(), ann))
		time.Sleep(time.Millisecond)
		send(t, other, ann, beat("a"))
		time.Sleep(2 * time.Second)
		for i, n := range []*node{local, other} {
			v, err := n.Mine(t.Context(), ann)
			if err != nil || v.Status != presence.Online || len(v.Devices) != 1 || v.Devices[0].ID != "a" {
				t.Errorf("node %d: %+v, %v", i, v, err)
			}
		}
		require.NoError(t, local.DeleteMine(t.Context(), ann))
		time.Sleep(2 * time.Second)
		if v, err := other.Mine(t.Context(), ann); err == nil {
			t.Errorf("what was heard before counts again: %+v", v)
		}
	})
}
