// Package presences holds the use cases of presences. Heartbeats stay in memory. Every visible change
// is stored before it is acknowledged.
package presences

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
)

// Clock returns the time, with a precision of microseconds. It must not jump: a step of the system's clock would end
// every presence. Service.Correct follows such steps.
type Clock func() time.Time

// Service holds the use cases, one method each, and the records of the users who are connected to this
// node.
type Service struct {
	store      ports.Presences
	clock      Clock
	correction atomic.Int64          // of the clock, in nanoseconds
	signals    ports.PresenceSignals // nil if no other node shares the store
	registry   *registry
	feed       *feed
}

// NewService returns the use cases on a store. If other nodes share the store, records that they read
// must not end too early, and signals say when to read. For a single node, signals is nil.
func NewService(store ports.Presences, now Clock, signals ports.PresenceSignals) *Service {
	return &Service{store: store, clock: now, signals: signals, registry: newRegistry(now(), signals != nil),
		feed: newFeed()}
}

// Beat applies a heartbeat of by. created reports that it started the presence. Claims and all other
// visible changes are durable when it returns.
func (s *Service) Beat(
	ctx context.Context, by identity.Actor, h presence.Heartbeat,
) (v presence.View, isNew bool, err error) {
	now := s.now()
	if err := h.Check(by, now); err != nil {
		return presence.View{}, false, err
	}
	if !h.Claims() {
		if v, ok := s.registry.heartbeat(by, &h, now); ok {
			return v, false, nil
		}
	}
	return s.storeBeat(ctx, by, h, now)
}

// storeBeat applies a heartbeat that changes what others see.
func (s *Service) storeBeat(
	ctx context.Context, by identity.Actor, h presence.Heartbeat, now time.Time,
) (v presence.View, isNew bool, err error) {
	records, err := s.update(ctx, by.Org, []identity.UserID{by.User}, func(r *presence.Record) error {
		isNew = r.Deleted
		s.registry.mergeDevices(r, s.now())
		return r.Beat(by, h, now)
	})
	if err != nil {
		return presence.View{}, false, err
	}
	return records[0].View(presence.Own, now), isNew, nil
}

// Attend is an open stream's heartbeat for by: first when it opens, which may start the presence; then every
// StreamEvery, which does not revive a deleted presence. A caller who may not report, or has too many devices, has a
// stream without a presence.
func (s *Service) Attend(ctx context.Context, by identity.Actor, device string, first bool) error {
	h := presence.Heartbeat{Device: device, Kind: presence.Web, TTL: presence.DefaultTTL, KeepActivity: true}
	if _, ok := s.registry.heartbeat(by, &h, s.now()); ok || by.ReadOnly() {
		return nil
	}
	_, err := s.update(ctx, by.Org, []identity.UserID{by.User}, func(r *presence.Record) error {
		if r.Deleted && !first {
			return presence.ErrNotFound
		}
		s.registry.mergeDevices(r, s.now())
		return r.Beat(by, h, s.now())
	})
	if errors.Is(err, presence.ErrNotFound) || errors.Is(err, presence.ErrDeviceLimit) {
		return nil
	}
	return err
}

// StreamEvery is the interval at which an open stream calls Attend: two calls may fail.
const StreamEvery = presence.DefaultTTL / 3

// Mine returns by's own presence.
func (s *Service) Mine(ctx context.Context, by identity.Actor) (presence.View, error) {
	r, err := s.store.ByUser(ctx, by.Org, by.User)
	return s.view(ctx, by, r, err)
}

// Get returns what by sees in a presence.
func (s *Service) Get(ctx context.Context, by identity.Actor, id presence.ID) (presence.View, error) {
	r, err := s.store.Get(ctx, by.Org, id)
	return s.view(ctx, by, r, err)
}

// view returns what by may see of a record that was loaded with err. presence.ErrNotFound for nothing.
func (s *Service) view(ctx context.Context, by identity.Actor, r *presence.Record, err error) (presence.View, error) {
	if err != nil {
		return presence.View{}, err
	}
	access := r.Access(by, false)
	if access == presence.None {
		visible, err := s.colleagues(ctx, by, []identity.UserID{r.User})
		if err != nil {
			return presence.View{}, err
		}
		access = r.Access(by, len(visible) > 0)
	}
	if access == presence.None || r.Deleted {
		return presence.View{}, presence.ErrNotFound
	}
	s.registry.mergeDevices(r, s.now())
	return r.View(access, s.now()), nil
}

// colleagues returns the users among users who share a workspace with by.
func (s *Service) colleagues(
	ctx context.Context, by identity.Actor, users []identity.UserID,
) ([]identity.UserID, error) {
	if len(users) == 0 {
		return nil, nil
	}
	in, err := s.store.Workspaces(ctx, by.Org, append(slices.Clone(users), by.User))
	if err != nil {
		return nil, err
	}
	return presence.Together(by, users, in), nil
}

// Listed is one page of presences. For an operator it has the counts of the whole org, and the highest
// Seq of a change that the operator can see, before the page was read.
type Listed struct {
	page.Of[presence.View]
	Counts presence.Counts
	Seq    int64
}

// List returns the presences that by may list: all of the org for an operator, else their own.
func (s *Service) List(ctx context.Context, by identity.Actor, f presence.Filter, q page.Query) (Listed, error) {
	var out Listed
	var err error
	if by.Operator {
		if out.Counts, out.Seq, err = s.store.Counts(ctx, by.Org, by.User); err != nil {
			return Listed{}, err
		}
	} else {
		if f.User != "" && f.User != by.User {
			return out, nil
		}
		f.User = by.User
	}
	found, err := s.store.List(ctx, by, f, q)
	if err != nil {
		return Listed{}, err
	}
	now := s.now()
	out.Next = found.Next
	for i := range found.Items {
		r := &found.Items[i]
		if !r.IsNewFor(by, f.SinceSeq, now) {
			continue // the change was made while invisible
		}
		s.registry.mergeDevices(r, s.now())
		v := r.View(r.Access(by, false), now)
		if f.Status == "" || v.Status == f.Status { // the store's record may be slightly old
			out.Items = append(out.Items, v)
		}
	}
	return out, nil
}

// Delete ends a presence until its user's next heartbeat.
func (s *Service) Delete(ctx context.Context, by identity.Actor, id presence.ID) error {
	r, err := s.store.Get(ctx, by.Org, id)
	if err != nil {
		return err
	}
	return s.end(ctx, by, r.User)
}

// DeleteMine ends by's own presence.
func (s *Service) DeleteMine(ctx context.Context, by identity.Actor) error {
	return s.end(ctx, by, by.User)
}

func (s *Service) end(ctx context.Context, by identity.Actor, user identity.UserID) error {
	now := s.now()
	_, err := s.update(ctx, by.Org, []identity.UserID{user}, func(r *presence.Record) error {
		s.registry.mergeDevices(r, s.now()) // it may have been revived after a deletion already
		return r.Delete(by, now)
	})
	return err
}

// update changes records in the store, and then in memory.
func (s *Service) update(ctx context.Context, org identity.OrgID, users []identity.UserID,
	change func(*presence.Record) error) ([]*presence.Record, error) {
	if s.registry.shared { // before the transaction locks anything that others may change
		if err := s.beginFollowing(ctx, org); err != nil {
			return nil, err
		}
	}
	defer s.registry.expect(org, users)()
	var versions map[identity.UserID]int64
	records, err := s.store.Update(ctx, org, users, func(r *presence.Record) error {
		if versions == nil {
			versions = make(map[identity.UserID]int64, len(users))
		}
		versions[r.User] = r.Seq
		s.registry.correctTimes(r, s.now())
		return change(r)
	})
	visible := false
	for _, r := range records {
		s.registry.put(r, s.now)
		visible = visible || r.Seq != versions[r.User]
	}
	if visible {
		s.feed.changed(org, true)
	}
	return records, err
}
