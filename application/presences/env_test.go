package presences_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	ann      = person("ann")
	bob      = person("bob")
	eve      = person("eve") // shares no workspace with anyone
	operator = func() identity.Actor { a := person("opa"); a.Operator = true; return a }()
	viewing  = func() identity.Actor { a := person("ann"); a.Ceiling = identity.Viewer; return a }()

	errOutage = errors.New("the store is away")
)

func person(user identity.UserID) identity.Actor {
	return identity.Actor{Org: "org", User: user, Ceiling: identity.Owner}
}

// env is a store on mocked ports, which keeps what it is given, and the nodes that share it.
type env struct {
	*mocks.MockPresences
	t *testing.T

	mu      sync.Mutex
	records map[identity.UserID]*presence.Record
	seq     int64
	saved   int   // records that were written
	asked   int   // reads of the members of workspaces
	apart   bool  // no one shares a workspace
	fails   error // the error of every call, if any
	mute    bool  // signals get lost
	heard   []func(identity.OrgID)
	then    func() // what happens after the next update, before its caller knows of it
}

func newEnv(t *testing.T) *env {
	s := &env{MockPresences: mocks.NewMockPresences(gomock.NewController(t)), t: t,
		records: map[identity.UserID]*presence.Record{}}
	at := s.EXPECT()
	at.ByUser(gomock.Any(), identity.OrgID("org"), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
		_ identity.OrgID, user identity.UserID) (*presence.Record, error) {
		return s.find(func(r *presence.Record) bool { return r.User == user })
	})
	at.Get(gomock.Any(), identity.OrgID("org"), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
		_ identity.OrgID, id presence.ID) (*presence.Record, error) {
		return s.find(func(r *presence.Record) bool { return r.ID == id })
	})
	at.Update(gomock.Any(), identity.OrgID("org"), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, users []identity.UserID,
			change func(*presence.Record) error) ([]*presence.Record, error) {
			out, err := s.update(users, change)
			s.mu.Lock()
			then := s.then
			s.then = nil
			s.mu.Unlock()
			if then != nil {
				then()
			}
			return out, err
		})
	at.List(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(s.list)
	at.Counts(gomock.Any(), identity.OrgID("org"), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
		_ identity.OrgID, reader identity.UserID) (presence.Counts, int64, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		counts := presence.Counts{}
		for _, r := range s.records {
			if !r.Deleted {
				counts[r.Shown]++
			}
		}
		seq := s.seq
		if reader != "" {
			seq = 0
			for _, r := range s.records {
				if r.Mask != nil && r.User != reader {
					seq = max(seq, r.Mask.Seq)
					continue
				}
				seq = max(seq, r.Seq)
			}
		}
		return counts, seq, s.fails
	})
	at.Due(gomock.Any(), identity.OrgID("org"), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, by time.Time, after presence.DueEntry,
			limit int) (out []presence.DueEntry, err error) {
			due := s.sorted(func(r *presence.Record) bool {
				return !r.Due.IsZero() && !r.Due.After(by) &&
					(r.Due.After(after.Due) || (r.Due.Equal(after.Due) && r.User > after.User))
			}, func(a, b *presence.Record) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.User, b.User)) })
			for _, r := range due[:min(len(due), limit)] {
				out = append(out, presence.DueEntry{User: r.User, Due: r.Due})
			}
			return out, s.failing()
		})
	at.Changes(gomock.Any(), identity.OrgID("org"), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, above int64, users []identity.UserID,
			limit int) (out []presence.Record, err error) {
			changed := s.sorted(func(r *presence.Record) bool {
				return r.Seq > above && (users == nil || slices.Contains(users, r.User))
			}, func(a, b *presence.Record) int { return cmp.Compare(a.Seq, b.Seq) })
			for _, r := range changed[:min(len(changed), limit)] {
				out = append(out, *r)
			}
			return out, s.failing()
		})
	at.Workspaces(gomock.Any(), identity.OrgID("org"), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, users []identity.UserID) (map[identity.UserID][]identity.WorkspaceID,
			error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.asked++
			out := map[identity.UserID][]identity.WorkspaceID{}
			for _, u := range users {
				if !s.apart && u != "eve" {
					out[u] = []identity.WorkspaceID{"shared"}
				}
			}
			return out, s.fails
		})
	return s
}

func (s *env) find(is func(*presence.Record) bool) (*presence.Record, error) {
	for _, r := range s.sorted(is, func(a, b *presence.Record) int { return cmp.Compare(a.User, b.User) }) {
		return r, s.failing()
	}
	return nil, cmp.Or(s.failing(), error(presence.ErrNotFound))
}

// fail makes every call return an error, or none.
func (s *env) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// lose makes signals get lost, or arrive.
func (s *env) lose(signals bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = signals
}

// once lets something happen after the next update is stored, and before its caller knows that.
func (s *env) once(then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.then = then
}

func (s *env) failing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fails
}

// record returns the stored record of a user.
func (s *env) record(user identity.UserID) *presence.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.records[user]; r != nil {
		return r.Copy()
	}
	return nil
}

// writes returns how many records were written.
func (s *env) writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved
}

// sorted copies the records for which is holds, in an order.
func (s *env) sorted(
	is func(*presence.Record) bool, by func(a, b *presence.Record) int,
) (out []*presence.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		if is(r) {
			out = append(out, r.Copy())
		}
	}
	slices.SortFunc(out, by)
	return out
}

// update runs a change twice, as stores do after a conflict.
func (s *env) update(users []identity.UserID, change func(*presence.Record) error) (out []*presence.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return nil, s.fails
	}
	var changed map[identity.UserID]*presence.Record
	for range 2 {
		out, changed = nil, map[identity.UserID]*presence.Record{}
		for _, user := range users {
			previous := s.records[user]
			if previous == nil {
				previous = presence.New("org", user, presence.ID("prs_"+user))
			}
			r := previous.Copy()
			if err := change(r); err != nil {
				return nil, err
			}
			if !r.Equal(previous) {
				changed[user] = r
			}
			out = append(out, r)
		}
	}
	for _, r := range out {
		previous, exists := s.records[r.User]
		if changed[r.User] == nil {
			continue
		}
		if !exists {
			previous = presence.New("org", r.User, r.ID)
		}
		s.seq = r.Number(previous, s.seq)
		s.saved++
	}
	for user, r := range changed {
		s.records[user] = r.Copy()
	}
	return out, nil
}

func (s *env) list(_ context.Context, by identity.Actor, f presence.Filter, q page.Query) (presence.Page, error) {
	var out []presence.Record
	for _, r := range s.sorted(func(r *presence.Record) bool {
		return !r.Deleted && (f.User == "" || r.User == f.User) &&
			(f.Status == "" || r.Shown == f.Status || r.User == by.User) && r.Seq > f.SinceSeq &&
			(q.After == "" || string(r.ID) < q.After)
	}, func(a, b *presence.Record) int { return cmp.Compare(b.ID, a.ID) }) {
		out = append(out, *r)
	}
	return page.Cut(out[:min(len(out), q.Limit+1)], q.Limit, func(r presence.Record) string { return string(r.ID) }),
		s.failing()
}

// Announce implements ports.PresenceSignals: every node hears it.
func (s *env) Announce(_ context.Context, org identity.OrgID) error {
	s.mu.Lock()
	heard := slices.Clone(s.heard)
	if s.mute {
		heard = nil
	}
	s.mu.Unlock()
	for _, h := range heard {
		h(org)
	}
	return nil
}

// Listen implements ports.PresenceSignals.
func (s *env) Listen(ctx context.Context, heard func(identity.OrgID)) error {
	s.mu.Lock()
	s.heard = append(s.heard, heard)
	s.mu.Unlock()
	<-ctx.Done()
	return nil
}

// node is a Service that keeps running until it is killed, or the test ends.
type node struct {
	*presences.Service
	kill func()
}

// now is the clock of every node: that of the test's bubble.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// start starts a node; alone, or with others that share the store.
func (s *env) start(shared bool) *node {
	var signals ports.PresenceSignals
	if shared {
		signals = s
	}
	n := &node{Service: presences.NewService(s, now, signals)}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Run(ctx, func() []identity.OrgID { return []identity.OrgID{"org"} }, func(error) {})
	}()
	n.kill = sync.OnceFunc(func() { cancel(); <-ended })
	s.t.Cleanup(n.kill)
	return n
}

func beat(device string) presence.Heartbeat {
	return presence.Heartbeat{Device: device, Kind: presence.Web, TTL: presence.DefaultTTL}
}

func claim(status presence.Manual) presence.Heartbeat {
	h := beat("web")
	h.Status = &status
	return h
}

// statuses returns what a node shows of everyone.
func (n *node) statuses(t testing.TB) map[identity.UserID]presence.Status {
	t.Helper()
	found, err := n.List(t.Context(), operator, presence.Filter{}, page.Query{Limit: 100})
	require.NoError(t, err)
	out := map[identity.UserID]presence.Status{}
	for _, v := range found.Items {
		out[v.User] = v.Status
	}
	counts := presence.Counts{}
	for _, s := range out {
		counts[s]++
	}
	if !maps.Equal(counts, found.Counts) {
		out["counts differ"] = ""
	}
	return out
}
