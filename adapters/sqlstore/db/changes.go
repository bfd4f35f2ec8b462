package db

import (
	"hash/maphash"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atrium-hq/atrium/domain/identity"
)

// changes counts the transactions of this process that changed a workspace. Several workspaces share a counter: then a
// change of one counts for the others too, which is safe.
type changes struct {
	seed       maphash.Seed
	workspaces [1024]changeCount
	all        changeCount // of transactions that do not name a workspace
}

// changeCount counts the transactions that may have committed a change, and those that are about to.
type changeCount struct {
	pending atomic.Int64
	ended   atomic.Uint64
}

func newChanges() *changes { return &changes{seed: maphash.MakeSeed()} }

// counter returns the counter of a workspace.
func (c *changes) counter(ws identity.WorkspaceID) *changeCount {
	return &c.workspaces[maphash.String(c.seed, string(ws))%uint64(len(c.workspaces))]
}

// readWidely matches statements that change tables on which cached responses depend. Child processes do not compile it.
var readWidely = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(INSERT INTO|UPDATE|DELETE FROM)\s+(prompt_\w+|chat_templates|chat_members|` +
		`connections|sources|memberships|user_groups|group_people|users|workspaces)\b`)
})

// pendingChanges are the counts of the changes that a transaction may commit.
type pendingChanges []*changeCount

// begin counts a change as pending until end.
func (p *pendingChanges) begin(count *changeCount) {
	if !slices.Contains(*p, count) {
		count.pending.Add(1)
		*p = append(*p, count)
	}
}

// end counts the pending changes of a transaction that has ended. Those of a failed commit count too, because it may
// have succeeded all the same.
func (p *pendingChanges) end() {
	for _, count := range *p {
		count.ended.Add(1)
		count.pending.Add(-1)
	}
	*p = nil
}
