package presences

import (
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

// changes are the changes of one user's record that this node is making in the store.
//
// What another change stores in the meantime may become known first. A user without an entry has nothing that it could
// replace, so it is remembered here; the entry that begins with an older record would otherwise keep that.
type changes struct {
	n      int              // how many are being made
	newest *presence.Record // the newest that became known and that no entry holds; may be nil
}

// expect announces that the records of users are about to be changed in the store, until done is called.
func (g *registry) expect(org identity.OrgID, users []identity.UserID) (release func()) {
	for _, user := range users {
		k := key{org, user}
		g.withEntry(k, func(s *shard, _ *entry) {
			if s.changes[k] == nil {
				s.changes[k] = &changes{}
			}
			s.changes[k].n++
		})
	}
	return func() {
		for _, user := range users {
			k := key{org, user}
			g.withEntry(k, func(s *shard, _ *entry) {
				if s.changes[k].n--; s.changes[k].n == 0 {
					delete(s.changes, k)
				}
			})
		}
	}
}

// remember keeps a stored record that no entry holds for the changes that are being made. The caller must hold the
// lock.
func (s *shard) remember(k key, current *presence.Record) {
	if c := s.changes[k]; c != nil && (c.newest == nil || current.IsNewerThan(c.newest)) {
		c.newest = current
	}
}
