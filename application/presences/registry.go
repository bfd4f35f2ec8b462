package presences

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

const (
	shards = 64
	margin = 5 * time.Second // before what is stored ends, something fresher is stored
	lag    = 5 * time.Minute // behind which a store is kept that nobody else reads
)

// registry holds the records of who is there through this node. What it holds is at least as fresh
// as the store. Who is offline is not in it.
type registry struct {
	shared bool // other nodes read the store
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu      sync.Mutex
	entries map[who]*entry
	wheel   wheel
}

// who names a record. It always holds the org.
type who struct {
	org  identity.OrgID
	user identity.UserID
}

type entry struct {
	record *presence.Record
	until  time.Time // when what is stored of it ends
	ahead  time.Time // since when it is fresher than the store; zero if it is not
	place
}

func newRegistry(now time.Time, shared bool) *registry {
	g := &registry{shared: shared, seed: maphash.MakeSeed()}
	for i := range g.shards {
		g.shards[i].entries = map[who]*entry{}
		g.shards[i].wheel.at = now.Unix()
	}
	return g
}

func (g *registry) of(w who) *shard { return &g.shards[maphash.Comparable(g.seed, w)%shards] }

// beat takes in a heartbeat that nobody can see: all it does is to keep alive what is there.
func (g *registry) beat(by identity.Actor, h presence.Heartbeat, now time.Time) (*presence.Record, bool) {
	w := who{by.Org, by.User}
	s := g.of(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[w]
	if e == nil {
		return nil, false
	}
	r := e.record.Copy()
	if r.Beat(by, h, now) != nil || !r.Same(e.record) {
		return nil, false
	}
	e.record = r
	if e.ahead.IsZero() {
		e.ahead = now
	}
	s.wheel.put(e, g.moment(e))
	return r, true
}

// freshen gives a record that was loaded what this node knows of its devices.
func (g *registry) freshen(r *presence.Record) {
	w := who{r.Org, r.User}
	s := g.of(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[w]; e != nil {
		r.Freshen(e.record)
	}
}

// put takes over a record that was stored. It keeps what was heard meanwhile, and what a later
// change made, which may have arrived before.
func (g *registry) put(stored *presence.Record, now time.Time) {
	w := who{stored.Org, stored.User}
	s := g.of(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[w]
	r := stored.Copy()
	switch {
	case e == nil:
		e = &entry{}
	case e.record.Life > r.Life || e.record.Life == r.Life && e.record.Seq > r.Seq:
		e.record.Freshen(stored)
		s.wheel.put(e, g.moment(e))
		return
	default:
		r.Freshen(e.record)
	}
	if len(r.Devices) == 0 {
		s.wheel.remove(e)
		delete(s.entries, w)
		return
	}
	e.record, e.until, e.ahead = r, stored.Due, time.Time{}
	if !r.As(stored) {
		e.ahead = now
	}
	s.entries[w] = e
	s.wheel.put(e, g.moment(e))
}

// moment is when an entry has to be seen to: something ends, or the store has to hear of it.
func (g *registry) moment(e *entry) time.Time {
	next := e.record.Next()
	if e.ahead.IsZero() {
		return next
	}
	store := e.ahead.Add(lag)
	if g.shared {
		store = e.until.Add(-margin)
	}
	if store.Before(next) {
		return store
	}
	return next
}

// due takes the entries off the wheel whose moment has come.
func (g *registry) due(now time.Time) map[identity.OrgID][]identity.UserID {
	out := map[identity.OrgID][]identity.UserID{}
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for _, e := range s.wheel.turn(now) {
			out[e.record.Org] = append(out[e.record.Org], e.record.User)
		}
		s.mu.Unlock()
	}
	return out
}

// retry puts entries back that could not be seen to.
func (g *registry) retry(org identity.OrgID, users []identity.UserID, now time.Time) {
	for _, user := range users {
		w := who{org, user}
		s := g.of(w)
		s.mu.Lock()
		if e := s.entries[w]; e != nil {
			s.wheel.put(e, now.Add(time.Second))
		}
		s.mu.Unlock()
	}
}

// unstored names the entries that are fresher than the store.
func (g *registry) unstored() map[identity.OrgID][]identity.UserID {
	out := map[identity.OrgID][]identity.UserID{}
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for w, e := range s.entries {
			if !e.ahead.IsZero() {
				out[w.org] = append(out[w.org], w.user)
			}
		}
		s.mu.Unlock()
	}
	return out
}
