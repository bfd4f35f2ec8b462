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
	margin = 5 * time.Second // how long before its stored end a newer record is stored
	lag    = 5 * time.Minute // how far the store may lag behind if no other node reads it
)

// registry holds the records of users who are connected to this node, and a timing wheel of when they
// are due. Its records are at least as fresh as the store's. It has no records of users who stay
// offline.
type registry struct {
	shared bool // other nodes read the store
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu      sync.Mutex
	entries map[identity.OrgID]map[identity.UserID]*entry
	changes map[key]*changes
	wheel   timerWheel
}

// key identifies a record. The org is always set.
type key struct {
	org  identity.OrgID
	user identity.UserID
}

// entry is a record as this node knows it. There may be a million entries, so times are numbers, and
// the order of fields avoids padding.
type entry struct {
	record     presence.Record
	expires    int64  // when the stored record ends, in microseconds since 1970; 0 if it must be replaced at once
	dirtySince uint32 // the second since 1970 from which it is fresher than the store; 0 if it is not

	// Its place on the wheel of its shard.
	second         uint32 // when it is due, since 1970; 0 if it is on no wheel
	previous, next *entry
}

func newRegistry(now time.Time, isShared bool) *registry {
	g := &registry{shared: isShared, seed: maphash.MakeSeed()}
	for i := range g.shards {
		g.shards[i].entries = map[identity.OrgID]map[identity.UserID]*entry{}
		g.shards[i].changes = map[key]*changes{}
		g.shards[i].wheel.at = now.Unix()
	}
	return g
}

// shardOf returns a record's shard. Users of different orgs have different ids too, so the org can be left out.
func (g *registry) shardOf(k key) *shard {
	return &g.shards[maphash.String(g.seed, string(k.user))%shards]
}

// withEntry calls f with a user's entry, nil if not found, while it holds the shard's lock.
func (g *registry) withEntry(k key, f func(*shard, *entry)) {
	s := g.shardOf(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s, s.entries[k.org][k.user])
}

// heartbeat applies a heartbeat without a visible change: it only extends the device's life.
func (g *registry) heartbeat(by identity.Actor, h *presence.Heartbeat, now time.Time) (v presence.View, ok bool) {
	s := g.shardOf(key{by.Org, by.User})
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[by.Org][by.User]
	if e == nil || !e.record.Refresh(by, h, now) {
		return presence.View{}, false
	}
	if e.dirtySince == 0 {
		e.dirtySince = uint32(now.Unix()) //nolint:gosec // until 2106
	}
	s.wheel.put(e, g.dueAt(e))
	return e.record.View(presence.Own, now), true
}

// mergeDevices copies this node's newer data about devices into a record that was loaded.
func (g *registry) mergeDevices(r *presence.Record, now time.Time) {
	g.correctTimes(r, now)
	g.withEntry(key{r.Org, r.User}, func(_ *shard, e *entry) {
		if e != nil {
			r.MergeDevices(&e.record)
		}
	})
}

// put adopts a record that a change has stored (expect). It calls clock while no correction of the time is being made.
func (g *registry) put(current *presence.Record, clock func() time.Time) {
	k := key{current.Org, current.User}
	g.withEntry(k, func(s *shard, e *entry) {
		now := clock()
		s.adopt(g, k, e, current, now)
		if c := s.changes[k]; c != nil && c.newest != nil && c.newest.IsNewerThan(current) {
			s.adopt(g, k, s.entries[k.org][k.user], c.newest, now)
		}
	})
}

// adopt replaces e, which may be nil, by a stored record. It keeps heartbeats that arrived in the meantime, and a
// later change whose notice arrived first.
func (s *shard) adopt(g *registry, k key, e *entry, current *presence.Record, now time.Time) {
	if e == nil {
		e = &entry{record: *current.Copy()}
	} else if s.renew(g, e, current, now) {
		return
	}
	// A record that has ended is not kept: it would be due forever.
	e.record.Settle(now)
	if e.record.Next().IsZero() && e.record.EqualVisible(current) {
		s.wheel.remove(e)
		delete(s.entries[k.org], k.user)
		s.remember(k, current)
		return
	}
	e.expires, e.dirtySince = current.Due.UnixMicro(), 0
	if !e.record.Equal(current) {
		e.dirtySince = uint32(now.Unix()) //nolint:gosec // until 2106
	}
	if !e.record.EqualVisible(current) {
		e.expires = 0
	}
	if s.entries[k.org] == nil {
		s.entries[k.org] = map[identity.UserID]*entry{}
	}
	s.entries[k.org][e.record.User] = e
	s.wheel.put(e, g.dueAt(e))
}

// renew replaces an entry by the stored record or, if the entry has a later change, copies only what is
// fresher (done). A heartbeat that was acknowledged after a deletion, which this node learns of only
// now, revives the presence.
func (s *shard) renew(g *registry, e *entry, current *presence.Record, now time.Time) (isDone bool) {
	if e.record.IsNewerThan(current) {
		e.record.MergeDevices(current)
		s.wheel.put(e, g.dueAt(e))
		return true
	}
	e.record.Rectify(current, now) // another node may have been ahead
	r := e.record.Revive(current, now)
	if r == nil {
		r = current.Copy()
		r.MergeDevices(&e.record)
	}
	e.record = *r
	return false
}

// follow adopts a record that another node stored, for a user who is also on this node.
func (g *registry) follow(current *presence.Record, clock func() time.Time) {
	k := key{current.Org, current.User}
	g.withEntry(k, func(s *shard, e *entry) {
		if e == nil {
			s.remember(k, current)
		} else if current.IsNewerThan(&e.record) {
			s.adopt(g, k, e, current, clock())
		}
	})
}

// dueAt returns when an entry needs work: something ends, or it must be stored.
func (g *registry) dueAt(e *entry) time.Time {
	next := e.record.Next()
	if e.dirtySince == 0 {
		return next
	}
	if e.expires == 0 {
		return time.Time{}
	}
	store := time.Unix(int64(e.dirtySince), 0).Add(lag)
	if g.shared {
		store = time.UnixMicro(e.expires).Add(-margin)
	}
	if store.Before(next) {
		return store
	}
	return next
}

// due removes the entries that need work from the wheel.
func (g *registry) due(now time.Time) map[identity.OrgID][]identity.UserID {
	out := map[identity.OrgID][]identity.UserID{}
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for _, e := range s.wheel.advance(now) {
			out[e.record.Org] = append(out[e.record.Org], e.record.User)
		}
		s.mu.Unlock()
	}
	return out
}

// retry puts entries back whose work failed.
func (g *registry) retry(org identity.OrgID, users []identity.UserID, now time.Time) {
	for _, user := range users {
		g.withEntry(key{org, user}, func(s *shard, e *entry) {
			if e != nil {
				s.wheel.put(e, now.Add(time.Second))
			}
		})
	}
}

// unstored returns the users whose entries are fresher than the store.
func (g *registry) unstored() map[identity.OrgID][]identity.UserID {
	out := map[identity.OrgID][]identity.UserID{}
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for org, entries := range s.entries {
			for user, e := range entries {
				if e.dirtySince != 0 {
					out[org] = append(out[org], user)
				}
			}
		}
		s.mu.Unlock()
	}
	return out
}
