package db

import (
	"hash/maphash"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// changes counts the transactions of this process that changed a workspace. Several workspaces share a counter: then a
// change of one counts for the others too, which is safe.
type changes struct {
	seed       maphash.Seed
	workspaces [1024]changeCount
	all        changeCount // of transactions that do not say which workspace they change
}

// changeCount counts the transactions that may have committed a change, and those that are about to.
type changeCount struct {
	pending atomic.Int64
	ended   atomic.Uint64
}

var _ ports.Changes = (*DB)(nil)

func newChanges() *changes { return &changes{seed: maphash.MakeSeed()} }

// counter returns the counter of a workspace.
func (c *changes) counter(ws identity.WorkspaceID) *changeCount {
	return &c.workspaces[maphash.String(c.seed, string(ws))%uint64(len(c.workspaces))]
}

// Generation implements ports.Changes.
func (db *DB) Generation(ws identity.WorkspaceID) (generation uint64, isSettled bool) {
	count, all := db.changes.counter(ws), &db.changes.all
	// The pending count is read first: a change that is no longer pending has been counted.
	isSettled = count.pending.Load() == 0 && all.pending.Load() == 0
	return count.ended.Load() + all.ended.Load(), isSettled
}

// begin counts a change as pending until the transaction ends, however it ends.
func (t *transaction) begin(count *changeCount) {
	for _, start := range t.changing {
		if start == count {
			return
		}
	}
	count.pending.Add(1)
	t.changing = append(t.changing, count)
}

// end counts the pending changes of a transaction that has ended. Those of a failed commit count too, because it may
// have succeeded all the same.
func (c *changes) end(t *transaction) {
	for _, count := range t.changing {
		count.ended.Add(1)
		count.pending.Add(-1)
	}
	t.changing = nil
}

// DeclareChange notes that the transaction changes a workspace. Recording an event calls it, which nearly every change
// does. Changes that may record no event call it themselves: updates from the payment gateway, and usage reports. So
// does an update that finds nothing to change. It returns what it has read, which another process may have written;
// later reads of this process must not return anything older.
func (db *DB) DeclareChange(ws identity.WorkspaceID) {
	if db.Tx != nil && ws != "" {
		db.Tx.begin(db.changes.counter(ws))
	}
}

// DeclareWideChange notes that the transaction changes people or their credentials, which can affect every workspace.
func (db *DB) DeclareWideChange() {
	if db.Tx == nil {
		db.changes.all.ended.Add(1)
		return
	}
	db.Tx.begin(&db.changes.all)
}

// readWidely matches statements that change tables on which cached responses depend. Child processes do not compile it.
var readWidely = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(INSERT INTO|UPDATE|DELETE FROM)\s+(prompt_\w+|chat_templates|chat_members|` +
		`connections|sources|memberships|user_groups|group_people|users|workspaces)\b`)
})

// beforeCommit notes the changes of a transaction that has not declared any.
func (db *DB) beforeCommit(t *transaction) {
	if t.readWidely && len(t.changing) == 0 {
		t.begin(&db.changes.all)
	}
}
