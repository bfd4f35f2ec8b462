package presences

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
)

const (
	changesPage = 500                   // changes per read
	calm        = 20 * time.Millisecond // several changes within this time are sent as one
)

// feed follows the store's changes, in order. Only the store decides what is sent: a signal, from this
// node or another, only says that it is time to read, so that a lost signal costs one second.
type feed struct {
	wake chan struct{}

	mu    sync.Mutex
	orgs  map[identity.OrgID]*following
	dirty map[identity.OrgID]bool // orgs to read; true if other nodes must be told
}

// following is how far an org has been followed, and its watches.
type following struct {
	last    int64 // the highest Seq up to which all changes were sent
	known   bool  // whether last is known
	all     map[*Watch]bool
	of      seats
	watches map[identity.UserID]int // number of watches per caller

	named seats           // watches that name other users, by those users and by their callers
	due   map[*Watch]bool // those whose visible users may have changed
}

// seats holds watches by the users that concern them.
type seats map[identity.UserID][]*Watch

func (s seats) add(user identity.UserID, w *Watch) { s[user] = append(s[user], w) }

func (s seats) remove(user identity.UserID, w *Watch) {
	if rest := slices.DeleteFunc(s[user], func(other *Watch) bool { return other == w }); len(rest) > 0 {
		s[user] = rest
	} else {
		delete(s, user)
	}
}

func newFeed() *feed {
	return &feed{wake: make(chan struct{}, 1), orgs: map[identity.OrgID]*following{}, dirty: map[identity.OrgID]bool{}}
}

// in returns the state of an org. The caller must hold the lock.
func (f *feed) in(org identity.OrgID) *following {
	o := f.orgs[org]
	if o == nil {
		o = &following{all: map[*Watch]bool{}, of: seats{}, watches: map[identity.UserID]int{}, named: seats{}, due: map[*Watch]bool{}}
		f.orgs[org] = o
	}
	return o
}

// changed says that records of an org have changed, on this node or another. An empty org means all
// orgs.
func (f *feed) changed(org identity.OrgID, here bool) {
	f.mu.Lock()
	if org != "" {
		f.dirty[org] = f.dirty[org] || here
	} else {
		for org := range f.orgs {
			f.dirty[org] = f.dirty[org] || here
		}
	}
	f.mu.Unlock()
	signal(f.wake)
}

// take returns the orgs to read, and clears the list.
func (f *feed) take() map[identity.OrgID]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.dirty
	f.dirty = map[identity.OrgID]bool{}
	return taken
}

// follow sends changes to the watches until ctx ends.
func (s *Service) follow(ctx context.Context, report func(error)) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.registry.shared {
				s.feed.changed("", false)
			}
		case <-s.feed.wake:
		}
		for org, announce := range s.feed.take() {
			var told error
			if announce && s.signals != nil {
				told = s.signals.Announce(ctx, org)
			}
			err := s.catchUp(ctx, org)
			report(errors.Join(told, err))
			if err != nil { // retried with the next signal or tick; other nodes poll by themselves
				s.feed.mu.Lock()
				s.feed.dirty[org] = s.feed.dirty[org] || false
				s.feed.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(calm):
		}
	}
}

// catchUp sends what changed in an org since the last read. A single node without readers has nothing
// to send.
func (s *Service) catchUp(ctx context.Context, org identity.OrgID) error {
	s.feed.mu.Lock()
	o := s.feed.in(org)
	above, known := o.last, o.known
	if idle := !s.registry.shared && len(o.watches) == 0; idle {
		o.known = false
		s.feed.mu.Unlock()
		return nil
	}
	s.feed.mu.Unlock()
	if !known {
		return s.beginFollowing(ctx, org)
	}
	for {
		records, err := s.store.Changes(ctx, org, above, nil, changesPage)
		if err != nil {
			return err
		}
		now := s.now()
		for i := range records {
			s.registry.follow(&records[i], now)
		}
		if len(records) > 0 {
			above = records[len(records)-1].Seq
			s.feed.tell(org, records, above)
		}
		if len(records) < changesPage {
			return nil
		}
	}
}

// beginFollowing sets the Seq from which an org is followed, unless it is set already.
func (s *Service) beginFollowing(ctx context.Context, org identity.OrgID) error {
	s.feed.mu.Lock()
	known := s.feed.in(org).known
	s.feed.mu.Unlock()
	if known {
		return nil
	}
	_, seq, err := s.store.Counts(ctx, org)
	if err != nil {
		return err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if o := s.feed.in(org); !o.known {
		o.last, o.known = seq, true
	}
	return nil
}

// tell sends changes to the watches, and records how far it went.
func (f *feed) tell(org identity.OrgID, records []presence.Record, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.in(org)
	o.last = last
	for i := range records {
		r := &records[i]
		for w := range o.all {
			w.add(r)
		}
		for _, w := range o.of[r.User] {
			w.add(r)
		}
	}
}

// join adds w to the watches that get changes from now on, and returns the Seq up to which all earlier
// changes were sent.
func (f *feed) join(w *Watch) (last int64, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.in(w.by.Org)
	if o.watches[w.by.User] >= maxWatches {
		return 0, false, ErrTooManyWatches
	}
	o.watches[w.by.User]++
	f.seat(o, w)
	for user := range w.names() {
		o.named.add(user, w)
		o.due[w] = true // for changes since w read which users it sees
	}
	return o.last, o.known, nil
}

func (f *feed) seat(o *following, w *Watch) {
	if w.by.Operator {
		o.all[w] = true
		return
	}
	for _, user := range w.users {
		o.of.add(user, w)
	}
}

func (f *feed) unseat(o *following, w *Watch) {
	delete(o.all, w)
	for _, user := range w.users {
		o.of.remove(user, w)
	}
}

func (f *feed) leave(w *Watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.in(w.by.Org)
	f.unseat(o, w)
	for user := range w.names() {
		o.named.remove(user, w)
	}
	delete(o.due, w)
	if o.watches[w.by.User]--; o.watches[w.by.User] <= 0 {
		delete(o.watches, w.by.User)
	}
}
