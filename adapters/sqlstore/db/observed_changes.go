package db

import (
	"context"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	// lookedFor is how long cached data counts as current after a look at the changes of all nodes. So a change on
	// another node takes effect within that time.
	lookedFor = time.Second

	// endedShares is how long each look counts a share that has ended as a change. It is longer than any read takes
	// whose result is cached for longer than lookedFor.
	endedShares = 5 * time.Second

	// changesKept is how long the rows are kept that record what a transaction has changed. If the last look is longer
	// ago than changesMissed, the next one may not find all of them.
	changesKept   = time.Minute
	changesMissed = 30 * time.Second

	// maxLooked is how many changes one look reads. If there are more, everything counts as changed.
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
	ended    time.Time      // until when the last look has found the shares that ended
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

// ObservedGeneration implements ports.Changes.
func (db *DB) ObservedGeneration(ws identity.WorkspaceID) (generation uint64, current bool) {
	return db.observed.generation(ws)
}

// lookAtChanges reads the changes of all transactions that have ended since the last look: those that it sees and that
// had not ended then are not below the horizon of that look. One statement reads both by one snapshot.
const lookAtChanges = `
	SELECT pg_postmaster_start_time()::text AS server,
		(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS clock,
		pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
		COALESCE((SELECT string_agg(c.xid || ' ' || c.workspace_id, ',') FROM
			(SELECT xid, workspace_id FROM workspace_changes WHERE xid >= ? LIMIT ?) c), '') AS changed, ` + endedIn

// lookAtTime is lookAtChanges on SQLite, where the data version tells whether another process has changed anything.
const lookAtTime = `SELECT ` + endedIn

const endedIn = `COALESCE((SELECT string_agg(workspace_id, ',') FROM (
	SELECT workspace_id FROM prompt_shares WHERE expires_at > ? AND expires_at <= ? AND expires_at > 0
	UNION SELECT workspace_id FROM prompt_folder_shares WHERE expires_at > ? AND expires_at <= ? AND
		expires_at > 0) e), '') AS ended`

// LookForChanges observes the changes of all nodes, on SQLite of other processes, and the shares that have ended at now.
// For a second afterwards, cached data that has not changed is current. On SQLite it does nothing while no one reads.
func (db *DB) LookForChanges(ctx context.Context, now time.Time) error {
	e := db.observed
	e.mu.Lock()
	defer e.mu.Unlock()
	if db.connector == nil && !e.asked.Swap(false) {
		return nil
	}
	age, from := time.Since(e.begun), e.last.Horizon
	if e.last.Server == "" {
		from = math.MaxInt64
	}
	earlier := now.Add(-endedShares)
	if !e.ended.IsZero() && e.ended.Before(earlier) {
		earlier = e.ended
	}
	start, end := Micros(earlier), Micros(now)
	query, args := lookAtTime, []any{start, end, start, end}
	if db.connector != nil {
		query, args = lookAtChanges, append([]any{from, maxLooked + 1}, args...)
	}
	var found look
	if db.groups != nil {
		version, err := db.groups.dataVersion(ctx)
		if err != nil {
			return err
		}
		found.Server = version
	}
	if _, err := db.ForCredentials().Get(ctx, &found, query, args...); err != nil {
		return err
	}
	e.ended = now
	e.count(&found)
	e.looked.Store(max(int64(age), 1))
	return db.removeChanges(ctx)
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

// removeChanges removes old rows, once in changesKept: in two turns after a change, since the first one leaves those
// that are not old yet. The caller holds e.mu.
func (db *DB) removeChanges(ctx context.Context) error {
	e := db.observed
	if e.removals == 0 || time.Duration(e.last.Clock-e.old.Clock)*time.Microsecond < changesKept {
		return nil
	}
	if _, err := db.Exec(ctx, `DELETE FROM workspace_changes WHERE xid < ?`, e.old.Horizon); err != nil {
		return err
	}
	e.old = e.last
	e.removals--
	return nil
}

// fields returns the parts of a text between commas; none for an empty text.
func fields(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
