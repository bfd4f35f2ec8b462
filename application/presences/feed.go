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
	debounce    = 20 * time.Millisecond // several changes within this time are sent as one
)

// feed follows the store's changes, in order. Only the store decides what is sent: a signal, from this
// node or another, only means that it is time to read, so that a lost signal costs one second.
type feed struct {
	wake chan struct{}

	mu    sync.Mutex
	orgs  map[identity.OrgID]*orgFeed
	dirty map[identity.OrgID]bool // orgs to read; true if other nodes must be notified
}

// orgFeed is the position up to which an org has been followed, and its watches.
type orgFeed struct {
	last    int64 // the highest Seq up to which all changes were sent
	known   bool  // whether last is known
	all     map[*Watch]bool
	byUser  watchIndex
	watches map[identity.UserID]int // number of watches per caller

	depending watchIndex      // watches that name other users, by those users and by their callers
	due       map[*Watch]bool // those whose visible users may have changed
}

// watchIndex holds watches by the users that concern them.
type watchIndex map[identity.UserID][]*Watch

func (s watchIndex) add(user identity.UserID, w *Watch) { s[user] = append(s[user], w) }

func (s watchIndex) remove(user identity.UserID, w *Watch) {
	if rest := slices.DeleteFunc(s[user], func(other *Watch) bool { return other == w }); len(rest) > 0 {
		s[user] = rest
	} else {
		delete(s, user)
	}
}

func newFeed() *feed {
	return &feed{wake: make(chan struct{}, 1), orgs: map[identity.OrgID]*orgFeed{}, dirty: map[identity.OrgID]bool{}}
}

// orgFeed returns an org's state. The caller must hold the lock.
func (f *feed) orgFeed(org identity.OrgID) *orgFeed {
	o := f.orgs[org]
	if o == nil {
		o = &orgFeed{all: map[*Watch]bool{}, byUser: watchIndex{}, watches: map[identity.UserID]int{},
			depending: watchIndex{}, due: map[*Watch]bool{}}
		f.orgs[org] = o
	}
	return o
}

// changed announces that an org's records have changed, on this node or another. An empty org means all orgs.
func (f *feed) changed(org identity.OrgID, isLocal bool) {
	f.mu.Lock()
	if org != "" {
		f.dirty[org] = f.dirty[org] || isLocal
	} else {
		for org := range f.orgs {
			f.dirty[org] = f.dirty[org] || isLocal
		}
	}
	f.mu.Unlock()
	signal(f.wake)
}

// take returns the orgs to read, and clears the list.
func (f *feed) take() map[identity.OrgID]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	orgs := f.dirty
	f.dirty = map[identity.OrgID]bool{}
	return orgs
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
			var announceErr error
			if announce && s.signals != nil {
				announceErr = s.signals.Announce(ctx, org)
			}
			err := s.catchUp(ctx, org)
			report(errors.Join(announceErr, err))
			if err != nil { // retried with the next signal or tick; other nodes poll by themselves
				s.feed.mu.Lock()
				s.feed.dirty[org] = s.feed.dirty[org] || false
				s.feed.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(debounce):
		}
	}
}

// catchUp sends what changed in an org since the last read. A single node without readers has nothing
// to send.
func (s *Service) catchUp(ctx context.Context, org identity.OrgID) error {
	s.feed.mu.Lock()
	o := s.feed.orgFeed(org)
	newest, isKnown := o.last, o.known
	if idle := !s.registry.shared && len(o.watches) == 0; idle {
		o.known = false
		s.feed.mu.Unlock()
		return nil
	}
	s.feed.mu.Unlock()
	if !isKnown {
		return s.beginFollowing(ctx, org)
	}
	for {
		records, err := s.store.Changes(ctx, org, newest, nil, changesPage)
		if err != nil {
			return err
		}
		for i := range records {
			s.registry.follow(&records[i], s.now)
		}
		if len(records) > 0 {
			newest = records[len(records)-1].Seq
			s.feed.deliver(org, records, newest)
		}
		if len(records) < changesPage {
			return nil
		}
	}
}

// beginFollowing sets the Seq from which an org is followed, unless it is set already.
func (s *Service) beginFollowing(ctx context.Context, org identity.OrgID) error {
	s.feed.mu.Lock()
	isKnown := s.feed.orgFeed(org).known
	s.feed.mu.Unlock()
	if isKnown {
		return nil
	}
	_, seq, err := s.store.Counts(ctx, org, "")
	if err != nil {
		return err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	if o := s.feed.orgFeed(org); !o.known {
		o.last, o.known = seq, true
	}
	return nil
}

// deliver sends changes to the watches, and records how far it went.
func (f *feed) deliver(org identity.OrgID, records []presence.Record, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orgFeed(org)
	o.last = last
	for i := range records {
		r := &records[i]
		for w := range o.all {
			w.add(r)
		}
		for _, w := range o.byUser[r.User] {
			w.add(r)
		}
	}
}

// join adds w to the watches that get changes from now on, and returns the Seq up to which all earlier
// changes were sent.
func (f *feed) join(w *Watch) (last int64, isKnown bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orgFeed(w.by.Org)
	if o.watches[w.by.User] >= maxWatches {
		return 0, false, ErrTooManyWatches
	}
	o.watches[w.by.User]++
	f.index(o, w)
	for user := range w.names() {
		o.depending.add(user, w)
		o.due[w] = true // for changes since w read which users it sees
	}
	return o.last, o.known, nil
}

func (f *feed) index(o *orgFeed, w *Watch) {
	if w.by.Operator {
		o.all[w] = true
		return
	}
	for _, user := range w.users {
		o.byUser.add(user, w)
	}
}

func (f *feed) unindex(o *orgFeed, w *Watch) {
	delete(o.all, w)
	for _, user := range w.users {
		o.byUser.remove(user, w)
	}
}

func (f *feed) leave(w *Watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orgFeed(w.by.Org)
	f.unindex(o, w)
	for user := range w.names() {
		o.depending.remove(user, w)
	}
	delete(o.due, w)
	if o.watches[w.by.User]--; o.watches[w.by.User] <= 0 {
		delete(o.watches, w.by.User)
	}
}
