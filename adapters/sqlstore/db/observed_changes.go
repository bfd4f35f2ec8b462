package db

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	// lookedFor is the time for which cached data counts as current after a look at all nodes' changes. So a change on
	// another node takes effect within that time.
	lookedFor = time.Second

	// endedShares is the time for which each look counts an expired share as a change. It is longer than any read takes
	// whose result is cached for longer than lookedFor.
	endedShares = 5 * time.Second

	// changesKept is the time for which the rows are kept that record a transaction's changes. If the last look is
	// longer ago than changesMissed, the next one may not find all of them.
	changesKept   = time.Minute
	changesMissed = 30 * time.Second

	// maxLooked limits the changes that one look reads. If there are more, everything counts as changed.
	maxLooked = 1000
)

// observedChanges counts the changes that this process has observed by looking at the database, including the changes
// of other nodes and commands. Several workspaces share a counter, as in changes.
type observedChanges struct {
	seed       maphash.Seed
	begun      time.Time
	asked      atomic.Bool  // since the last look
	looked     atomic.Int64 // when the last look began, after begun; 0 for never
	workspaces [1024]atomic.Uint64
	all        atomic.Uint64

	mu       sync.Mutex // held during a look
	last     look
	ended    time.Time      // the last look has found the shares that expired until then
	seen     map[int64]bool // transactions at or above the last horizon whose changes were counted
	old      look           // rows below its horizon will be removed
	removals int            // how often to remove rows
}

// look is what a look at the changes found.
type look struct {
	Server  string `db:"server"`  // when it was started: another one may have lost transactions; or see dataVersion
	Clock   int64  `db:"clock"`   // of the server, in microseconds since 1970
	Horizon int64  `db:"horizon"` // all transactions with a lower id have ended
	Changed string `db:"changed"` // transactions and workspaces, with commas between them
	Ended   string `db:"ended"`   // workspaces in which shares have ended
}

func newObservedChanges() *observedChanges {
	return &observedChanges{seed: maphash.MakeSeed(), begun: time.Now(), seen: map[int64]bool{}}
}

// generation returns a number that grows when this process observes a change of a workspace, and whether it has
// observed all changes that were stored more than lookedFor ago.
func (e *observedChanges) generation(ws identity.WorkspaceID) (generation uint64, current bool) {
	if !e.asked.Load() { // most of the time it is set, and nothing has to be written
		e.asked.Store(true)
	}
	lookedAt := e.looked.Load() // first: a look counts what it finds before it counts as done
	current = lookedAt > 0 && time.Since(e.begun)-time.Duration(lookedAt) < lookedFor
	generation = e.all.Load()
	if ws != "" {
		generation += e.counter(ws).Load()
	}
	return generation, current
}

// counter returns the counter of a workspace; an empty workspace means all.
func (e *observedChanges) counter(ws identity.WorkspaceID) *atomic.Uint64 {
	if ws == "" {
		return &e.all
	}
	return &e.workspaces[maphash.String(e.seed, string(ws))%uint64(len(e.workspaces))]
}

// changed counts a change of a workspace, or of all.
func (e *observedChanges) changed(ws identity.WorkspaceID) {
	e.counter(ws).Add(1)
}

// count counts what a look found. The caller holds e.mu.
func (e *observedChanges) count(found *look) {
	names := fields(found.Changed)
	gap := time.Duration(found.Clock-e.last.Clock) * time.Microsecond
	if found.Server != e.last.Server || found.Horizon < e.last.Horizon || gap < 0 || gap > changesMissed ||
		len(names) > maxLooked {
		e.changed("")
	}
	seen := map[int64]bool{}
	for _, one := range names {
		number, ws, _ := strings.Cut(one, " ")
		xid, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !e.seen[xid] { // all rows of a transaction appear at once
			e.changed(identity.WorkspaceID(ws))
		}
		seen[xid] = true
	}
	for _, ws := range fields(found.Ended) {
		e.changed(identity.WorkspaceID(ws))
	}
	if len(names) > 0 {
		e.removals = 2
	}
	e.last, e.seen = *found, seen
}

// fields returns the parts of a string between commas, or nil if it is empty.
func fields(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
