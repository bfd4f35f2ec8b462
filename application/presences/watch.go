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
	maxWatches = 20    // of one user, on one node
	maxPending = 5_000 // changes that one reader may be behind by
)

// What ends a watch, or keeps it from beginning.
var (
	ErrTooManyWatches = &fault.Error{Kind: fault.Conflict, Code: "stream_limit_reached", Detail: "You have 20 open streams, which is the most that a user can have. Close one first."}
	ErrTooSlow        = &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Detail: "The reader is too far behind."}
)

// Watch follows the presences that one caller sees: their own and those of some they share a workspace
// with, or all of the org for an operator. It belongs to one goroutine.
type Watch struct {
	service *Service
	by      identity.Actor
	asked   []identity.UserID // whom the caller asked for
	users   []identity.UserID // whose records they see; unused for operators
	told    int64             // the number up to which the reader knows everything
	behind  bool              // the store knows more than the reader, below what is pending
	resumed bool              // the reader knew something before
	hidden  map[identity.UserID]bool

	// Ready has something in it when Next would answer something.
	Ready chan struct{}

	// Regrouped has something in it when by may share workspaces with others than before: Recheck tells.
	Regrouped chan struct{}

	mu      sync.Mutex
	pending map[identity.UserID]*presence.Record // the latest of each
	cut     bool
}

// Batch is what a reader is told at once.
type Batch struct {
	Views []presence.View
	Gone  []presence.ID // records that were deleted
	Seq   int64         // the reader knows everything up to it

	// Snapshot says that the batch is part of what there is, and not a change; Last that everything there
	// is has been told.
	Snapshot, Last bool
}

// Watch begins to follow, for by, the presences of users beside their own; those with whom by shares no
// workspace are left out. above is the Seq of the last Batch that the reader has seen of the same; 0 for
// none. reset says that there is no such number: the reader begins anew. The watch must be closed.
func (s *Service) Watch(ctx context.Context, by identity.Actor, users []identity.UserID, above int64) (w *Watch, reset bool, err error) {
	w = &Watch{service: s, by: by, asked: users, told: above, behind: true, hidden: map[identity.UserID]bool{}, pending: map[identity.UserID]*presence.Record{}}
	w.Ready, w.Regrouped = make(chan struct{}, 1), make(chan struct{}, 1)
	if w.users, err = w.visible(ctx); err != nil {
		return nil, false, err
	}
	last, known, err := s.feed.join(w)
	if err != nil {
		return nil, false, err
	}
	if !known {
		if err := s.beginFollowing(ctx, by.Org); err != nil {
			w.Close()
			return nil, false, err
		}
		s.feed.mu.Lock()
		last = s.feed.in(by.Org).last
		s.feed.mu.Unlock()
	}
	if reset = above > last && !s.gave(ctx, by.Org, above); reset {
		w.told = 0
	}
	w.resumed = w.told > 0
	w.ready()
	return w, reset, nil
}

// gave reports whether the store has given a number, of which this node may not have heard yet.
func (s *Service) gave(ctx context.Context, org identity.OrgID, seq int64) bool {
	_, last, err := s.store.Counts(ctx, org)
	return err == nil && seq <= last
}

// visible are the users whose records by sees.
func (w *Watch) visible(ctx context.Context) ([]identity.UserID, error) {
	if w.by.Operator {
		return nil, nil
	}
	users, err := w.service.together(ctx, w.by, w.asked)
	if err != nil {
		return nil, err
	}
	users = append(users, w.by.User)
	slices.Sort(users)
	return slices.Compact(users), nil
}

// Close ends the watch.
func (w *Watch) Close() { w.service.feed.leave(w) }

// Recheck finds out whom by shares a workspace with now. changed says that it is not as before: the
// watch begins anew. After an error, Regrouped says again that it is due.
func (w *Watch) Recheck(ctx context.Context) (changed bool, err error) {
	f := w.service.feed
	users, err := w.visible(ctx)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.in(w.by.Org).due[w] = true
		return false, err
	}
	if w.by.Operator || slices.Equal(users, w.users) {
		return false, nil
	}
	f.mu.Lock()
	o := f.in(w.by.Org)
	f.unseat(o, w)
	w.users = users
	f.seat(o, w)
	f.mu.Unlock()
	w.mu.Lock()
	clear(w.pending)
	w.mu.Unlock()
	w.told, w.behind, w.resumed = 0, true, false
	w.ready()
	return true, nil
}

func (w *Watch) ready() { signal(w.Ready) }

// signal says something that somebody may not have heard yet.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add notes a change. A reader who is too far behind is told nothing more.
func (w *Watch) add(r *presence.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut = w.cut || len(w.pending) >= maxPending; w.cut {
		clear(w.pending)
	} else {
		w.pending[r.User] = r
	}
	w.ready()
}

// Next answers what the reader does not know yet; nothing, if it knows everything. ErrTooSlow says that
// there was more than is kept for it.
func (w *Watch) Next(ctx context.Context) (*Batch, error) {
	if w.behind {
		return w.read(ctx)
	}
	w.mu.Lock()
	if w.cut {
		w.mu.Unlock()
		return nil, ErrTooSlow
	}
	records := make([]*presence.Record, 0, len(w.pending))
	for _, r := range w.pending {
		if r.Seq > w.told {
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
		w.show(b, r)
	}
	w.told = b.Seq
	return b, nil
}

// read catches up from the store, a page at a time. What changes meanwhile has a higher number, and is
// pending or read with a later page.
func (w *Watch) read(ctx context.Context) (*Batch, error) {
	w.ready()
	records, err := w.service.store.Changes(ctx, w.by.Org, w.told, w.users, changesPage)
	if err != nil {
		return nil, err
	}
	b := &Batch{Seq: w.told, Snapshot: !w.resumed}
	for i := range records {
		b.Seq = records[i].Seq
		if w.resumed || !records[i].Deleted {
			w.show(b, &records[i])
		}
	}
	w.told = b.Seq
	if len(records) < changesPage {
		w.behind, b.Last = false, true
	}
	return b, nil
}

// show adds what by sees of a record. Of somebody invisible others see that they left, and nothing of
// what they do until they are back.
func (w *Watch) show(b *Batch, r *presence.Record) {
	now := w.service.now()
	access := r.Access(w.by, true)
	if access != presence.Own {
		hides := !r.Deleted && r.Claim(now).Status == presence.ManualInvisible
		if hides && w.hidden[r.User] {
			return
		}
		if hides {
			w.hidden[r.User] = true
		} else {
			delete(w.hidden, r.User)
		}
	}
	if r.Deleted {
		b.Gone = append(b.Gone, r.ID)
		return
	}
	seen := r.Copy()
	w.service.registry.freshen(seen)
	b.Views = append(b.Views, seen.View(access, now))
}
