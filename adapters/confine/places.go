package confine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Tenant says on whose share of the places a job runs.
type Tenant struct {
	Org identity.OrgID

	// Person is who made the workspace of the job, so that no one gets more places by making more workspaces.
	// Where that tells no tenants apart, it is the workspace.
	Person string
}

const (
	// mostWaiting is how many jobs of one tenant may wait for a place; for one org it is four times as many.
	// More are refused: retrying later is better than a long wait.
	mostWaiting    = 8
	mostWaitingOrg = 4 * mostWaiting

	// patience is how long a job keeps its place while one of another tenant, who has fewer, waits for it.
	// Hosts that answer do so earlier; a silent host could hold the place much longer.
	patience = 5 * time.Second

	// hurryEvery is how often a waiting job looks for one that has outlasted patience.
	hurryEvery = 500 * time.Millisecond
)

// places are what jobs run in, and the queue for them. A tenant has at most half of the places and an org at most
// three quarters, so that there is always one for others at once. Of those who wait, the next is of the org and
// tenant with the fewest running jobs, then of the tenant who was served least recently.
type places struct {
	most, perOrg, perTenant int

	mu      sync.Mutex
	running []*place
	waiting []*place // in the order in which they came
	served  map[Tenant]uint64
	turn    uint64

	refused, evicted uint64
}

// place is the place that one job has, or waits for.
type place struct {
	tenant  Tenant
	granted chan struct{} // closed when the job may run
	begun   time.Time
	evict   context.CancelCauseFunc
	evicted bool
	victim  *place // was evicted so that this one may run
}

func newPlaces(most int) *places {
	return &places{most: most, perOrg: max(1, most-most/4), perTenant: max(1, most/2), served: map[Tenant]uint64{}}
}

// take waits until a job of t may run. The job ends with the context that take returns, which ends with
// ports.ErrJobTimeout if the place is taken away, and then calls release. ports.ErrJobRefused if too many of t's or
// its org's wait already, or if wait is false and there is no place at once.
func (s *places) take(ctx context.Context, t Tenant, wait bool) (held context.Context, release func(), err error) {
	held, cancel := context.WithCancelCause(ctx)
	p := &place{tenant: t, granted: make(chan struct{}), evict: cancel}
	if !s.enter(p, wait) {
		cancel(nil)
		return nil, nil, ports.ErrJobRefused
	}
	tick := time.NewTicker(hurryEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.granted:
			return held, func() { s.leave(p); cancel(nil) }, nil
		case <-ctx.Done():
			s.leave(p)
			cancel(nil)
			return nil, nil, ctx.Err()
		case <-tick.C:
			s.hurry(p)
		}
	}
}

// enter gives p a place, or lets it wait for one; false if it may not wait.
func (s *places) enter(p *place, wait bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, p)
	s.grant()
	if !slices.Contains(s.waiting, p) {
		return true
	}
	if wait && count(s.waiting, ofTenant(p.tenant)) <= mostWaiting && count(s.waiting, ofOrg(p.tenant)) <= mostWaitingOrg {
		return true
	}
	s.refused++
	s.remove(p)
	return false
}

// leave ends p's place, or its waiting.
func (s *places) leave(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(p)
	s.grant()
}

func (s *places) remove(p *place) {
	is := func(other *place) bool { return other == p }
	s.running, s.waiting = slices.DeleteFunc(s.running, is), slices.DeleteFunc(s.waiting, is)
	if count(s.running, ofTenant(p.tenant))+count(s.waiting, ofTenant(p.tenant)) == 0 {
		delete(s.served, p.tenant)
	}
}

// grant gives the free places to those who wait.
func (s *places) grant() {
	for {
		var next *place
		for _, p := range s.waiting {
			if s.fits(p.tenant) && (next == nil || s.before(p.tenant, next.tenant)) {
				next = p
			}
		}
		if next == nil {
			return
		}
		s.waiting = slices.DeleteFunc(s.waiting, func(p *place) bool { return p == next })
		s.running = append(s.running, next)
		s.turn++
		s.served[next.tenant], next.begun = s.turn, time.Now()
		close(next.granted)
	}
}

// fits reports whether one more job of t may run.
func (s *places) fits(t Tenant) bool {
	return len(s.running) < s.most && count(s.running, ofOrg(t)) < s.perOrg && count(s.running, ofTenant(t)) < s.perTenant
}

// before reports whether a is to be served before b, who came earlier.
func (s *places) before(a, b Tenant) bool {
	if x, y := count(s.running, ofOrg(a)), count(s.running, ofOrg(b)); x != y {
		return x < y
	}
	if x, y := count(s.running, ofTenant(a)), count(s.running, ofTenant(b)); x != y {
		return x < y
	}
	return s.served[a] < s.served[b]
}

// hurry evicts a job that has outlasted patience, if p waits only because of other tenants: the oldest such job of
// the org and tenant with the most running jobs.
func (s *places) hurry(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := count(s.running, ofTenant(p.tenant))
	if own >= s.perTenant || !slices.Contains(s.waiting, p) || p.victim != nil && slices.Contains(s.running, p.victim) {
		return
	}
	orgFull := count(s.running, ofOrg(p.tenant)) >= s.perOrg
	var victim *place
	for _, r := range s.running { // the oldest first
		if r.evicted || time.Since(r.begun) < patience || orgFull && r.tenant.Org != p.tenant.Org || count(s.running, ofTenant(r.tenant)) <= own {
			continue
		}
		if victim == nil || s.before(victim.tenant, r.tenant) {
			victim = r
		}
	}
	if victim == nil {
		return
	}
	s.evicted++
	victim.evicted, p.victim = true, victim
	victim.evict(ports.ErrJobTimeout)
}

func count(all []*place, which func(*place) bool) (n int) {
	for _, p := range all {
		if which(p) {
			n++
		}
	}
	return n
}

func ofTenant(t Tenant) func(*place) bool { return func(p *place) bool { return p.tenant == t } }

func ofOrg(t Tenant) func(*place) bool { return func(p *place) bool { return p.tenant.Org == t.Org } }
