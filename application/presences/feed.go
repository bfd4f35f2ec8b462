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
	changesPage = 500                   // changes that are read at once
	calm        = 20 * time.Millisecond // what changes again within it is told once
)

// feed follows the store's changes, in their order. The store is what tells them: a signal, whether
// from here or from another node, only says that it is time to ask, so that one that is lost costs a
// second and nothing else.
type feed struct {
	wake chan struct{}

	mu    sync.Mutex
	orgs  map[identity.OrgID]*following
	dirty map[identity.OrgID]bool // to be looked at; true if that has to be announced
}

// following is how far an org has been followed, and for whom.
type following struct {
	last    int64 // the highest number of which everything below was told
	known   bool  // whether last is
	all     map[*Watch]bool
	of      seats
	watches map[identity.UserID]int // by whose they are

	named seats           // those that name others, by them and by whose they are
	due   map[*Watch]bool // those of them that may see others than before
}

// seats are watches by a user who concerns them.
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

// in answers how an org is followed. It must be called with the lock.
func (f *feed) in(org identity.OrgID) *following {
	o := f.orgs[org]
	if o == nil {
		o = &following{all: map[*Watch]bool{}, of: seats{}, watches: map[identity.UserID]int{}, named: seats{}, due: map[*Watch]bool{}}
		f.orgs[org] = o
	}
	return o
}

// changed says that an org's records have, by this node or another; an empty org stands for all of them.
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

// take answers which orgs to look at, and begins anew.
func (f *feed) take() map[identity.OrgID]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.dirty
	f.dirty = map[identity.OrgID]bool{}
	return taken
}

// follow tells what changed, until ctx ends.
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
			if err != nil { // with the next signal, or the next tick; others ask by themselves
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

// catchUp tells what changed in an org since it was looked at last. Alone and without readers there is
// nobody to tell.
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

// beginFollowing finds out from where on an org is to be followed, unless it is already.
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

// tell hands changes to those who watch, and notes how far it went.
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

// join lets w hear what is told from now on, and answers the number up to which everything was told
// before.
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
		o.due[w] = true // for what changed since it was looked whom it sees
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
