package presences

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

const (
	maxWatches = 20    // per user and node
	maxPending = 5_000 // changes that a reader may be behind
)

// Errors that end a watch or prevent it from starting.
var (
	ErrTooManyWatches = &fault.Error{Kind: fault.Conflict, Code: "stream_limit_reached",
		Detail: "You have 20 open streams, which is the most that a user can have. Close one first."}
	ErrTooSlow = &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "The reader is too far behind."}
)

// Watch follows the presences that one caller sees: their own and the presences of some users who share a
// workspace with them, or all of the org for an operator. It must be used by one goroutine.
type Watch struct {
	service   *Service
	by        identity.Actor
	requested []identity.UserID // the users that the caller asked for
	users     []identity.UserID // the users whose records they see; unused for operators
	readerSeq int64             // the Seq up to which the reader knows everything
	behind    bool              // the store has more than the reader knows, below the pending ones
	resumed   bool              // the reader continued from an earlier Seq
	resumedAt int64             // that Seq

	// Ready has a value when Next would return something.
	Ready chan struct{}

	// Regrouped has a value when by may share workspaces with other users than before: call Recheck.
	Regrouped chan struct{}

	mu        sync.Mutex
	pending   map[identity.UserID]*presence.Record // the latest record of each user
	truncated bool
}

// Batch is what a reader receives at once.
type Batch struct {
	Views []presence.View
	Gone  []presence.ID // records that were deleted
	Seq   int64         // the reader knows everything up to this

	// Snapshot reports that the batch is part of the current state, and not a change. Last means that the current state
	// is complete.
	Snapshot, Last bool
}

// Watch starts to follow, for by, the presences of users and by's own. Users who share no workspace
// with by are left out. newest is the Seq of the last Batch that the reader has received for the same
// users; 0 for none. reset reports that this Seq is not valid, and that the reader starts from the
// beginning. The watch must be closed.
func (s *Service) Watch(
	ctx context.Context, by identity.Actor, users []identity.UserID, newest int64,
) (w *Watch, reset bool, err error) {
	w = &Watch{
		service: s, by: by, requested: users, readerSeq: newest, behind: true,
		pending: map[identity.UserID]*presence.Record{},
	}
	w.Ready, w.Regrouped = make(chan struct{}, 1), make(chan struct{}, 1)
	if w.users, err = w.visible(ctx); err != nil {
		return nil, false, err
	}
	last, isKnown, err := s.feed.join(w)
	if err != nil {
		return nil, false, err
	}
	if !isKnown {
		if err := s.beginFollowing(ctx, by.Org); err != nil {
			w.Close()
			return nil, false, err
		}
		s.feed.mu.Lock()
		last = s.feed.orgFeed(by.Org).last
		s.feed.mu.Unlock()
	}
	if reset = newest > last && !s.hasAssigned(ctx, by.Org, newest); reset {
		w.readerSeq = 0
	}
	w.resumed, w.resumedAt = w.readerSeq > 0, w.readerSeq
	w.ready()
	return w, reset, nil
}

// hasAssigned reports whether the store has assigned a Seq, which this node may not know yet.
func (s *Service) hasAssigned(ctx context.Context, org identity.OrgID, seq int64) bool {
	_, last, err := s.store.Counts(ctx, org, "")
	return err == nil && seq <= last
}

// visible returns the users whose records by sees.
func (w *Watch) visible(ctx context.Context) ([]identity.UserID, error) {
	if w.by.Operator {
		return nil, nil
	}
	users, err := w.service.colleagues(ctx, w.by, w.requested)
	if err != nil {
		return nil, err
	}
	users = append(users, w.by.User)
	slices.Sort(users)
	return slices.Compact(users), nil
}

// Close ends the watch.
func (w *Watch) Close() { w.service.feed.leave(w) }

// Recheck reads which users now share a workspace with by. changed reports that this set has changed; then
// the watch starts from the beginning. After an error, Regrouped signals again.
func (w *Watch) Recheck(ctx context.Context) (isChanged bool, err error) {
	f := w.service.feed
	users, err := w.visible(ctx)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.orgFeed(w.by.Org).due[w] = true
		return false, err
	}
	if w.by.Operator || slices.Equal(users, w.users) {
		return false, nil
	}
	f.mu.Lock()
	o := f.orgFeed(w.by.Org)
	f.unindex(o, w)
	w.users = users
	f.index(o, w)
	f.mu.Unlock()
	w.mu.Lock()
	clear(w.pending)
	w.mu.Unlock()
	w.readerSeq, w.behind, w.resumed, w.resumedAt = 0, true, false, 0
	w.ready()
	return true, nil
}

func (w *Watch) ready() { signal(w.Ready) }

// signal sends to a channel of capacity one without blocking.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add records a change. A reader who is too far behind gets no more.
func (w *Watch) add(r *presence.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.truncated = w.truncated || len(w.pending) >= maxPending; w.truncated {
		clear(w.pending)
	} else {
		w.pending[r.User] = r
	}
	w.ready()
}

// Next returns what the reader does not know yet; nil if there is nothing. ErrTooSlow means that there
// was more than is stored for the reader.
func (w *Watch) Next(ctx context.Context) (*Batch, error) {
	if w.behind {
		return w.read(ctx)
	}
	w.mu.Lock()
	if w.truncated {
		w.mu.Unlock()
		return nil, ErrTooSlow
	}
	records := make([]*presence.Record, 0, len(w.pending))
	for _, r := range w.pending {
		if r.Seq > w.readerSeq {
			records = append(records, r)
		}
	}
	clear(w.pending)
	w.mu.Unlock()
	if len(records) == 0 {
		return nil, nil
	}
	slices.SortFunc(records, func(a, b *presence.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	b := &Batch{Seq: records[len(records)-1].Seq}
	for _, r := range records {
		w.show(b, r, w.readerSeq)
	}
	w.readerSeq = b.Seq
	return b, nil
}

// read catches up from the store, one page at a time. Changes in the meantime have a higher Seq, and
// are pending or read with a later page.
func (w *Watch) read(ctx context.Context) (*Batch, error) {
	w.ready()
	records, err := w.service.store.Changes(ctx, w.by.Org, w.readerSeq, w.users, changesPage)
	if err != nil {
		return nil, err
	}
	b := &Batch{Seq: w.readerSeq, Snapshot: !w.resumed}
	for i := range records {
		b.Seq = records[i].Seq
		if w.resumed || !records[i].Deleted {
			w.show(b, &records[i], w.resumedAt)
		}
	}
	w.readerSeq = b.Seq
	if len(records) < changesPage {
		w.behind, b.Last = false, true
	}
	return b, nil
}

// show adds what by sees in a record, if it has a change that by can see after the Seq above. Others see an invisible
// user as offline, and nothing of what the user does until they are visible again.
func (w *Watch) show(b *Batch, r *presence.Record, newest int64) {
	now := w.service.now()
	if !r.IsNewFor(w.by, newest, now) {
		return
	}
	if r.Deleted {
		b.Gone = append(b.Gone, r.ID)
		return
	}
	view := r.Copy()
	w.service.registry.mergeDevices(view, now)
	b.Views = append(b.Views, view.View(r.Access(w.by, true), now))
}
