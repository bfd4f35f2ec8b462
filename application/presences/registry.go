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

// registry holds the records of who is there through this node, and what they are due for on a timing
// wheel. What it holds is at least as fresh as the store. Who is offline, and stays so by themselves,
// is not in it.
type registry struct {
	shared bool // other nodes read the store
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu      sync.Mutex
	entries map[identity.OrgID]map[identity.UserID]*entry
	wheel   wheel
}

// who names a record. It always holds the org.
type who struct {
	org  identity.OrgID
	user identity.UserID
}

// entry is a record as this node knows it. There may be a million of them: times are numbers, and
// nothing lies idle between the fields.
type entry struct {
	record presence.Record
	until  int64  // when what is stored of it ends, in microseconds since 1970
	ahead  uint32 // the second since 1970 since which it is fresher than the store; 0 if it is not

	// Where it stands on the wheel of its shard.
	second         uint32 // when it is due, since 1970; 0 while it stands on no wheel
	previous, next *entry
}

func newRegistry(now time.Time, shared bool) *registry {
	g := &registry{shared: shared, seed: maphash.MakeSeed()}
	for i := range g.shards {
		g.shards[i].entries = map[identity.OrgID]map[identity.UserID]*entry{}
		g.shards[i].wheel.at = now.Unix()
	}
	return g
}

func (g *registry) of(w who) *shard { return &g.shards[maphash.Comparable(g.seed, w)%shards] }

// with calls f with the entry of somebody, nil if there is none, while nobody else touches it.
func (g *registry) with(w who, f func(*shard, *entry)) {
	s := g.of(w)
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s, s.entries[w.org][w.user])
}

// beat takes in a heartbeat that nobody can tell from the one before: all it does is to keep alive what
// is there.
func (g *registry) beat(by identity.Actor, h *presence.Heartbeat, now time.Time) (v presence.View, ok bool) {
	g.with(who{by.Org, by.User}, func(s *shard, e *entry) {
		if e == nil || !e.record.Refresh(by, h, now) {
			return
		}
		if e.ahead == 0 {
			e.ahead = uint32(now.Unix()) //nolint:gosec // until 2106
		}
		s.wheel.put(e, g.moment(e))
		v, ok = e.record.View(presence.Own, now), true
	})
	return v, ok
}

// freshen gives a record that was loaded what this node knows of its devices.
func (g *registry) freshen(r *presence.Record) {
	g.with(who{r.Org, r.User}, func(_ *shard, e *entry) {
		if e != nil {
			r.Freshen(&e.record)
		}
	})
}

// put takes over a record that is stored so. It keeps what was heard meanwhile, and what a later change
// made, of which word may have come first.
func (g *registry) put(stored *presence.Record, now time.Time) {
	w := who{stored.Org, stored.User}
	g.with(w, func(s *shard, e *entry) {
		if e == nil {
			e = &entry{record: *stored.Copy()}
		} else if s.renew(g, e, stored, now) {
			return
		}
		// What has ended is not kept, whoever heard of it: it would be due for ever.
		e.record.Settle(now)
		if e.record.Next().IsZero() && e.record.Same(stored) {
			s.wheel.remove(e)
			delete(s.entries[w.org], w.user)
			return
		}
		e.until, e.ahead = stored.Due.UnixMicro(), 0
		if !e.record.As(stored) {
			e.ahead = uint32(now.Unix()) //nolint:gosec // until 2106
		}
		if s.entries[w.org] == nil {
			s.entries[w.org] = map[identity.UserID]*entry{}
		}
		s.entries[w.org][e.record.User] = e
		moment := g.moment(e)
		if !e.record.Same(stored) { // it has to be stored at once
			moment = now
		}
		s.wheel.put(e, moment)
	})
}

// renew gives an entry what is stored, or, if the entry is of a later change, what is fresher in it
// alone (done). A heartbeat that was acknowledged after a deletion, of which this node hears only now,
// begins the presence anew.
func (s *shard) renew(g *registry, e *entry, stored *presence.Record, now time.Time) (done bool) {
	if e.record.Life > stored.Life || e.record.Life == stored.Life && e.record.Seq > stored.Seq {
		e.record.Freshen(stored)
		s.wheel.put(e, g.moment(e))
		return true
	}
	r := e.record.Outlive(stored, now)
	if r == nil {
		r = stored.Copy()
		r.Freshen(&e.record)
	}
	e.record = *r
	return false
}

// follow takes over what another node stored, of somebody who is here too.
func (g *registry) follow(stored *presence.Record, now time.Time) {
	here := false
	g.with(who{stored.Org, stored.User}, func(_ *shard, e *entry) {
		here = e != nil && (e.record.Seq < stored.Seq || e.record.Life < stored.Life)
	})
	if here {
		g.put(stored, now)
	}
}

// moment is when an entry has to be seen to: something ends, or the store has to hear of it.
func (g *registry) moment(e *entry) time.Time {
	next := e.record.Next()
	if e.ahead == 0 {
		return next
	}
	store := time.Unix(int64(e.ahead), 0).Add(lag)
	if g.shared {
		store = time.UnixMicro(e.until).Add(-margin)
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
		g.with(who{org, user}, func(s *shard, e *entry) {
			if e != nil {
				s.wheel.put(e, now.Add(time.Second))
			}
		})
	}
}

// unstored names the entries that are fresher than the store.
func (g *registry) unstored() map[identity.OrgID][]identity.UserID {
	out := map[identity.OrgID][]identity.UserID{}
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for org, entries := range s.entries {
			for user, e := range entries {
				if e.ahead != 0 {
					out[org] = append(out[org], user)
				}
			}
		}
		s.mu.Unlock()
	}
	return out
}
