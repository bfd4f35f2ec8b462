package presences_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

// history is all that was acknowledged of somebody, by which their presence is told without a record.
type history struct {
	devices          map[string][]*sign // the latest last
	lasting, passing presence.Manual
	until            time.Time
}

// sign is a sign of life of a device.
type sign struct {
	at   time.Time
	ttl  time.Duration
	idle bool
	node *node // that heard it
	lost bool  // that node was killed since, and may have told nobody: then the ones before count
}

// status is what others are to be shown, if of each device that sign counts.
func (h *history) status(at time.Time, signs []*sign) presence.Status {
	claimed := h.lasting
	if at.Before(h.until) {
		claimed = h.passing
	}
	live, active := false, false
	for _, d := range signs {
		if at.Before(d.at.Add(d.ttl)) {
			live, active = true, active || !d.idle
		}
	}
	switch {
	case !live, claimed == presence.ManualInvisible:
		return presence.Offline
	case claimed != presence.Auto:
		return presence.Status(claimed)
	case active:
		return presence.Online
	}
	return presence.Away
}

// possible is what others may be shown: one thing alone, unless nodes were killed.
func (h *history) possible(at time.Time) map[presence.Status]bool {
	choices := [][]*sign{nil}
	for _, heard := range h.devices {
		var next [][]*sign
		for _, chosen := range choices {
			for _, d := range slices.Backward(heard) {
				next = append(next, append(slices.Clone(chosen), d))
				if !d.lost {
					break
				}
			}
		}
		choices = next
	}
	out := map[presence.Status]bool{}
	for _, signs := range choices {
		out[h.status(at, signs)] = true
	}
	return out
}

// TestNodesAgreeWithHistory lets people report to three nodes, which are killed at random, and compares
// what every node shows of everybody with their history.
func TestNodesAgreeWithHistory(t *testing.T) {
	seeds := uint64(10)
	if os.Getenv("ATRIUM_PROVE") != "" {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compareNodes(t, rand.New(rand.NewPCG(seed, 8))) })
		})
	}
}

func compareNodes(t *testing.T, random *rand.Rand) {
	s := newStage(t)
	nodes := []*node{s.start(true), s.start(true), s.start(true)}
	users := []identity.UserID{"ann", "bob", "carl", "dora"}
	histories := map[identity.UserID]*history{}
	for _, u := range users {
		histories[u] = &history{devices: map[string][]*sign{}}
	}
	claims := []presence.Manual{presence.Auto, presence.ManualOnline, presence.ManualAway, presence.ManualDND, presence.ManualInvisible}
	for step := range 80 {
		user := users[random.IntN(len(users))]
		h, by, n := histories[user], person(user), nodes[random.IntN(len(nodes))]
		switch action := random.IntN(12); action {
		case 0:
			err := n.DeleteMine(t.Context(), by)
			if err != nil && len(h.devices) > 0 {
				t.Fatalf("step %d: %v", step, err)
			}
			*h = history{devices: map[string][]*sign{}}
		case 1:
			i := random.IntN(len(nodes))
			nodes[i].kill()
			for _, h := range histories {
				for _, heard := range h.devices {
					for _, d := range heard[1:] { // the first one could be seen, and was stored
						d.lost = d.lost || d.node == nodes[i]
					}
				}
			}
			nodes[i] = s.start(true)
		default:
			b := beat([]string{"a", "b"}[random.IntN(2)])
			b.Idle, b.TTL = random.IntN(3) == 0, time.Duration(30+random.IntN(271))*time.Second
			if action < 5 {
				b.Status = &claims[random.IntN(len(claims))]
				h.lasting, h.until = *b.Status, time.Time{}
			}
			if action == 5 {
				b.Status, b.Until = &claims[random.IntN(len(claims))], new(now().Add(time.Duration(1+random.IntN(100))*time.Second))
				h.passing, h.until = *b.Status, *b.Until
			}
			send(t, n, by, b)
			h.devices[b.Device] = append(h.devices[b.Device], &sign{at: now(), ttl: b.TTL, idle: b.Idle, node: n})
		}
		time.Sleep(time.Duration(random.IntN(40_000)) * time.Millisecond / time.Duration(1+random.IntN(10)))
		last := now()
		time.Sleep(2 * time.Second)
		for i, n := range nodes {
			shown := n.statuses(t)
			if _, differ := shown["counts differ"]; differ {
				continue // something ended this moment
			}
			for _, u := range users {
				h, got := histories[u], shown[u]
				if got == "" {
					got = presence.Offline
				}
				if possible := h.possible(now()); !possible[got] && maps.Equal(possible, h.possible(last)) {
					t.Fatalf("step %d: node %d shows %s as %s, want %v\nstored: %+v", step, i, u, got, possible, s.record(u))
				}
			}
		}
	}
}

func TestNodesHearOfOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		here, there := s.start(true), s.start(true)
		send(t, here, ann, beat("a"))
		send(t, there, ann, beat("b"))
		time.Sleep(100 * time.Millisecond)
		if v := send(t, here, ann, beat("a")); len(v.Devices) != 2 {
			t.Errorf("here: %+v", v)
		}
		send(t, there, ann, claim(presence.ManualDND))
		time.Sleep(100 * time.Millisecond)
		if v := send(t, here, ann, beat("a")); v.Status != presence.DND {
			t.Errorf("here: %+v", v)
		}
		must(t, there.DeleteMine(t.Context(), ann))
		time.Sleep(100 * time.Millisecond)
		if _, created, err := here.Beat(t.Context(), ann, beat("a")); err != nil || !created {
			t.Errorf("what was deleted there is here still: created %v, %v", created, err)
		}
	})
}

func TestASignalThatIsLostCostsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		here, there := s.start(true), s.start(true)
		send(t, here, ann, beat("a"))
		time.Sleep(100 * time.Millisecond)
		s.mu.Lock()
		s.heard = nil
		s.mu.Unlock()
		send(t, there, ann, claim(presence.ManualDND))
		time.Sleep(1100 * time.Millisecond)
		if v := send(t, here, ann, beat("a")); v.Status != presence.DND {
			t.Errorf("here: %+v", v)
		}
	})
}

func TestADeviceOfAnotherNodeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		here, there := s.start(true), s.start(true)
		for range 20 { // ten minutes, in which each node hears of one of them alone
			send(t, here, ann, beat("a"))
			send(t, there, ann, beat("b"))
			time.Sleep(30 * time.Second)
		}
		for i, n := range []*node{here, there} {
			if v, err := n.Mine(t.Context(), ann); err != nil || len(v.Devices) != 2 {
				t.Errorf("node %d: %+v, %v", i, v, err)
			}
		}
		if changes := s.record("ann").Seq; changes != 2 {
			t.Errorf("%d changes could be seen, want that of each device", changes)
		}
		if s.writes() > 30 {
			t.Errorf("%d writes in ten minutes", s.writes())
		}
	})
}
