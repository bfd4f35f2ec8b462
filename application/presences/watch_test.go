package presences_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// reader is a client of watches: everything that it received, and the last Seq.
type reader struct {
	by    identity.Actor
	asked []identity.UserID
	watch *presences.Watch
	seen  map[presence.ID]presence.Status
	texts map[presence.ID]string
	seq   int64
	told  int // events
}

func newReader(by identity.Actor, requests ...identity.UserID) *reader {
	return &reader{by: by, asked: requests, seen: map[presence.ID]presence.Status{}, texts: map[presence.ID]string{}}
}

// open resumes from the last Seq.
func (r *reader) open(t *testing.T, n *node) (reset bool) {
	t.Helper()
	w, reset, err := n.Watch(t.Context(), r.by, r.asked, r.seq)
	require.NoError(t, err)
	if r.watch = w; reset {
		r.forget()
	}
	return reset
}

func (r *reader) forget() {
	clear(r.seen)
	clear(r.texts)
	r.seq = 0
}

// read reads at most so many events.
func (r *reader) read(t *testing.T, maximum int) {
	t.Helper()
	for range maximum {
		select {
		case <-r.watch.Ready:
		default:
			return
		}
		b, err := r.watch.Next(t.Context())
		require.NoError(t, err)
		if b == nil {
			continue
		}
		if b.Seq < r.seq {
			t.Fatalf("seq went back from %d to %d", r.seq, b.Seq)
		}
		r.seq = b.Seq
		r.told++
		for _, v := range b.Views {
			r.seen[v.ID], r.texts[v.ID] = v.Status, v.Claim.Text
		}
		for _, id := range b.Gone {
			delete(r.seen, id)
			delete(r.texts, id)
		}
	}
}

func saying(text string) presence.Heartbeat {
	h := beat("web")
	h.Text = &text
	return h
}

func TestAWatchTellsWhatThereIsAndThenWhatChanges(t *testing.T) {
	for name, isShared := range map[string]bool{"alone": false, "with others": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newEnv(t)
				local, other := s.start(isShared), (*node)(nil)
				if other = local; isShared {
					other = s.start(isShared)
				}
				send(t, other, bob, saying("before"))
				send(t, other, eve, beat("web"))
				ownReader, all := newReader(ann, "bob", "eve"), newReader(operator)
				ownReader.open(t, local)
				all.open(t, local)
				defer ownReader.watch.Close()
				defer all.watch.Close()
				ownReader.read(t, 10)
				all.read(t, 10)
				want := func(r *reader, seen map[presence.ID]presence.Status) {
					t.Helper()
					if time.Sleep(100 * time.Millisecond); true {
						r.read(t, 10)
					}
					if !maps.Equal(r.seen, seen) {
						t.Errorf("%s sees %v, want %v", r.by.User, r.seen, seen)
					}
				}
				want(ownReader, map[presence.ID]presence.Status{"prs_bob": presence.Online})
				want(all, map[presence.ID]presence.Status{"prs_bob": presence.Online, "prs_eve": presence.Online})
				send(t, other, bob, claim(presence.ManualDND))
				send(t, other, ann, beat("web"))
				want(ownReader, map[presence.ID]presence.Status{"prs_bob": presence.DND, "prs_ann": presence.Online})
				require.NoError(t, other.DeleteMine(t.Context(), bob))
				want(ownReader, map[presence.ID]presence.Status{"prs_ann": presence.Online})
				want(all, map[presence.ID]presence.Status{"prs_eve": presence.Online, "prs_ann": presence.Online})
				time.Sleep(93 * time.Second)
				want(all, map[presence.ID]presence.Status{"prs_eve": presence.Offline, "prs_ann": presence.Offline})
			})
		})
	}
}

func TestChangesAtOnceAreToldOnce(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		r := newReader(operator)
		r.open(t, n)
		defer r.watch.Close()
		r.read(t, 1)
		count := r.told
		for i := range 100 {
			send(t, n, ann, saying(fmt.Sprint(i)))
		}
		time.Sleep(100 * time.Millisecond)
		r.read(t, 10)
		if r.texts["prs_ann"] != "99" || r.told > count+2 {
			t.Errorf("%q after %d events", r.texts["prs_ann"], r.told-count)
		}
	})
}

func TestWhoIsInvisibleIsNotHeardOf(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		for _, r := range []*reader{newReader(ann, "bob"), newReader(operator)} {
			send(t, n, bob, claim(presence.Auto))
			r.open(t, n)
			defer r.watch.Close()
			r.read(t, 10)
			send(t, n, bob, claim(presence.ManualInvisible))
			time.Sleep(100 * time.Millisecond)
			r.read(t, 10)
			if r.seen["prs_bob"] != presence.Offline {
				t.Errorf("%s sees %v", r.by.User, r.seen)
			}
			for i := range 5 {
				send(t, n, bob, beat(fmt.Sprint("device", i)))
				send(t, n, bob, saying(fmt.Sprint(i)))
				time.Sleep(100 * time.Millisecond)
				if b, err := r.watch.Next(t.Context()); err != nil || (b != nil && len(b.Views)+len(b.Gone) > 0) {
					t.Errorf("%s hears %+v, %v", r.by.User, b, err)
				}
			}
			send(t, n, bob, claim(presence.ManualDND))
			time.Sleep(100 * time.Millisecond)
			if r.read(t, 10); r.seen["prs_bob"] != presence.DND {
				t.Errorf("%s sees %v", r.by.User, r.seen)
			}
		}
	})
}

// TestAReaderThatIsCutMissesNothing compares readers that are disconnected at random, and resume on
// either of two nodes, with one that never was.
func TestAReaderThatIsCutMissesNothing(t *testing.T) {
	for seed := range proof.Sample(uint64(2), 20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 8))
				s := newEnv(t)
				nodes := []*node{s.start(true), s.start(true)}
				users := make([]identity.UserID, 30)
				for i := range users {
					users[i] = identity.UserID(fmt.Sprintf("u%02d", i))
				}
				steady, cut := newReader(operator), newReader(operator)
				subset, cutSome := newReader(ann, users[:9]...), newReader(ann, users[:9]...)
				all := []*reader{steady, cut, subset, cutSome}
				for _, r := range all {
					r.open(t, nodes[0])
				}
				for range 300 {
					n, by := nodes[random.IntN(2)], person(users[random.IntN(len(users))])
					if random.IntN(10) == 0 {
						if err := n.DeleteMine(t.Context(), by); err != nil && !errors.Is(err, presence.ErrNotFound) {
							t.Fatal(err)
						}
					} else {
						send(t, n, by, saying(fmt.Sprint(random.IntN(1000))))
					}
					if random.IntN(3) == 0 {
						time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
					}
					steady.read(t, 10)
					subset.read(t, 10)
					for _, r := range []*reader{cut, cutSome} {
						r.read(t, random.IntN(3))
						if random.IntN(8) == 0 {
							r.watch.Close()
							if r.open(t, nodes[random.IntN(2)]) {
								t.Error("it was reset")
							}
						}
					}
				}
				time.Sleep(2 * time.Second)
				for _, r := range all {
					r.read(t, 100)
					r.watch.Close()
				}
				if !maps.Equal(steady.texts, cut.texts) || !maps.Equal(subset.texts, cutSome.texts) ||
					len(steady.texts) == 0 || len(subset.texts) == 0 {
					t.Errorf("never cut: %v\ncut: %v\nsome, never cut: %v\ncut: %v", steady.texts, cut.texts,
						subset.texts, cutSome.texts)
				}
			})
		})
	}
}

func TestANumberOfAnotherLifeBeginsAnew(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, ann, beat("web"))
		r := newReader(ann)
		r.seq = 1_000_000
		if !r.open(t, n) {
			t.Error("it was not reset")
		}
		defer r.watch.Close()
		if r.read(t, 10); r.seen["prs_ann"] != presence.Online {
			t.Errorf("seen: %v", r.seen)
		}
	})
}

func TestALongSnapshotComesInParts(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		for i := range 1200 {
			send(t, n, person(identity.UserID(fmt.Sprintf("u%04d", i))), beat("web"))
		}
		r := newReader(operator)
		r.open(t, n)
		defer r.watch.Close()
		r.read(t, 2)
		if len(r.seen) != 1000 {
			t.Errorf("after two parts %d are known", len(r.seen))
		}
		send(t, n, person("u0000"), saying("meanwhile"))
		time.Sleep(100 * time.Millisecond)
		if r.read(t, 10); len(r.seen) != 1200 || r.texts["prs_u0000"] != "meanwhile" {
			t.Errorf("%d are known, and %q", len(r.seen), r.texts["prs_u0000"])
		}
	})
}

func TestWhoNoLongerSharesAWorkspaceIsForgotten(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		send(t, n, bob, beat("web"))
		r := newReader(ann, "bob")
		r.open(t, n)
		defer r.watch.Close()
		if r.read(t, 10); len(r.seen) != 1 {
			t.Fatalf("seen: %v", r.seen)
		}
		isChanged, err := r.watch.Recheck(t.Context())
		if require.NoError(t, err); isChanged {
			t.Error("nothing has changed")
		}
		s.mu.Lock()
		s.apart = true
		s.mu.Unlock()
		isChanged, err = r.watch.Recheck(t.Context())
		if require.NoError(t, err); !isChanged {
			t.Error("it goes on")
		}
		r.forget()
		send(t, n, bob, claim(presence.ManualDND))
		time.Sleep(100 * time.Millisecond)
		if r.read(t, 10); len(r.seen) != 0 {
			t.Errorf("seen: %v", r.seen)
		}
	})
}

func TestNobodyWatchesWithoutBound(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		var open []*presences.Watch
		for range 20 {
			w, _, err := n.Watch(t.Context(), ann, nil, 0)
			require.NoError(t, err)
			open = append(open, w)
		}
		_, _, err := n.Watch(t.Context(), ann, nil, 0)
		require.ErrorIs(t, err, presences.ErrTooManyWatches)
		other, _, err := n.Watch(t.Context(), bob, nil, 0)
		require.NoError(t, err)
		other.Close()
		for _, w := range slices.Backward(open) {
			w.Close()
		}
		second, _, err := n.Watch(t.Context(), ann, nil, 0)
		require.NoError(t, err)
		second.Close()
		s.fail(errOutage)
		_, _, err = n.Watch(t.Context(), ann, []identity.UserID{"bob"}, 0)
		require.ErrorIs(t, err, errOutage)
	})
}

func TestWhoReadsNothingIsCut(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		r := newReader(operator)
		r.open(t, n)
		defer r.watch.Close()
		r.read(t, 10)
		for i := range 5_001 {
			send(t, n, person(identity.UserID(fmt.Sprintf("u%04d", i))), beat("web"))
			if i%500 == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(time.Second)
		_, err := r.watch.Next(t.Context())
		require.ErrorIs(t, err, presences.ErrTooSlow)
	})
}
