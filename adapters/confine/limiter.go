package confine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Tenant is on whose share of the slots a job runs.
type Tenant struct {
	Org identity.OrgID

	// Person is the user who created the workspace of the job, so that no one gets more slots by creating more
	// workspaces. For workspaces that the system or an operator created, it is the workspace.
	Person string
}

const (
	// maxWaiting is how many jobs of one tenant may wait for a slot; for one org it is four times as many.
	// More are refused: retrying later is better than a long wait.
	maxWaiting    = 8
	maxWaitingOrg = 4 * maxWaiting

	// maxWait is how long a job waits for a slot. Then it is refused: who reads learns why nothing arrives.
	maxWait = 10 * time.Second

	// evictAfter is how long a job keeps its slot while one of another tenant, who has fewer, waits for it. Hosts that
	// respond do so earlier; an unresponsive host could hold the slot much longer.
	evictAfter = 5 * time.Second

	// evictInterval is how often a waiting job looks for one that has outlasted evictAfter.
	evictInterval = 500 * time.Millisecond
)

// slots are what jobs run in, and the queue for them. A tenant has at most half of the slots and an org at most three
// quarters, so that there is always one for others at once. The next waiting job is of the org and tenant with the
// fewest running jobs, then of the tenant who was served least recently.
type tenantLimiter struct {
	most, perOrg, perTenant int

	mu      sync.Mutex
	running []*slot
	waiting []*slot // in the order in which they came
	served  map[Tenant]uint64
	turn    uint64

	refused, evicted uint64
}

// slot is the slot that one job has, or waits for.
type slot struct {
	tenant  Tenant
	granted chan struct{} // closed when the job may run
	begun   time.Time
	evict   context.CancelCauseFunc
	evicted bool
	victim  *slot // was evicted so that this one may run
}

func newTenantLimiter(limit int) *tenantLimiter {
	return &tenantLimiter{most: limit, perOrg: max(1, limit-limit/4), perTenant: max(1, limit/2),
		served: map[Tenant]uint64{}}
}

// acquire waits until a job of t may run. The job ends with the context that acquire returns, which ends with
// ports.ErrJobTimeout if the slot is taken away, and then calls release. It returns ports.ErrJobRefused if too many
// jobs of t or its org are waiting, if the job has waited for maxWait, or if wait is false and no slot is free.
func (s *tenantLimiter) acquire(
	ctx context.Context, t Tenant, wait bool,
) (holding context.Context, release func(), err error) {
	holding, cancel := context.WithCancelCause(ctx)
	p := &slot{tenant: t, granted: make(chan struct{}), evict: cancel}
	if !s.enqueue(p, wait) {
		cancel(nil)
		return nil, nil, ports.ErrJobRefused
	}
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	tick := time.NewTicker(evictInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.granted:
			return holding, func() { s.free(p); cancel(nil) }, nil
		case <-ctx.Done():
			s.free(p)
			cancel(nil)
			return nil, nil, ctx.Err()
		case <-patience.C:
			s.refuse(p)
			cancel(nil)
			return nil, nil, ports.ErrJobRefused
		case <-tick.C:
			s.evictFor(p)
		}
	}
}

// enqueue gives p a slot, or lets it wait for one; false if it may not wait.
func (s *tenantLimiter) enqueue(p *slot, wait bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, p)
	s.grant()
	if !slices.Contains(s.waiting, p) {
		return true
	}
	if wait && count(s.waiting, isTenant(p.tenant)) <= maxWaiting &&
		count(s.waiting, isOrg(p.tenant)) <= maxWaitingOrg {
		return true
	}
	s.refused++
	s.remove(p)
	return false
}

// free ends p's slot, or its waiting.
func (s *tenantLimiter) free(p *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(p)
	s.grant()
}

// refuse ends p's waiting.
func (s *tenantLimiter) refuse(p *slot) {
	s.free(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
}

func (s *tenantLimiter) remove(p *slot) {
	isSame := func(other *slot) bool { return other == p }
	s.running, s.waiting = slices.DeleteFunc(s.running, isSame), slices.DeleteFunc(s.waiting, isSame)
	if count(s.running, isTenant(p.tenant))+count(s.waiting, isTenant(p.tenant)) == 0 {
		delete(s.served, p.tenant)
	}
}

// grant gives the free slots to waiting jobs.
func (s *tenantLimiter) grant() {
	for {
		var next *slot
		for _, p := range s.waiting {
			if s.hasRoom(p.tenant) && (next == nil || s.isServedBefore(p.tenant, next.tenant)) {
				next = p
			}
		}
		if next == nil {
			return
		}
		s.waiting = slices.DeleteFunc(s.waiting, func(p *slot) bool { return p == next })
		s.running = append(s.running, next)
		s.turn++
		s.served[next.tenant], next.begun = s.turn, time.Now()
		close(next.granted)
	}
}

// hasRoom reports whether one more job of t may run.
func (s *tenantLimiter) hasRoom(t Tenant) bool {
	return len(s.running) < s.most && count(s.running, isOrg(t)) < s.perOrg &&
		count(s.running, isTenant(t)) < s.perTenant
}

// isServedBefore reports whether a is to be served before b, who came earlier.
func (s *tenantLimiter) isServedBefore(a, b Tenant) bool {
	if x, y := count(s.running, isOrg(a)), count(s.running, isOrg(b)); x != y {
		return x < y
	}
	if x, y := count(s.running, isTenant(a)), count(s.running, isTenant(b)); x != y {
		return x < y
	}
	return s.served[a] < s.served[b]
}

// evictFor evicts a job that has outlasted evictAfter, if p waits only because of other tenants: the oldest such job of
// the org and tenant with the most running jobs.
func (s *tenantLimiter) evictFor(p *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := count(s.running, isTenant(p.tenant))
	if running >= s.perTenant || !slices.Contains(s.waiting, p) || (p.victim != nil && slices.Contains(s.running,
		p.victim)) {
		return
	}
	orgFull := count(s.running, isOrg(p.tenant)) >= s.perOrg
	var victim *slot
	for _, r := range s.running { // the oldest first
		if r.evicted || time.Since(r.begun) < evictAfter || (orgFull && r.tenant.Org != p.tenant.Org) ||
			count(s.running, isTenant(r.tenant)) <= running {
			continue
		}
		if victim == nil || s.isServedBefore(victim.tenant, r.tenant) {
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

func count(all []*slot, matches func(*slot) bool) (n int) {
	for _, p := range all {
		if matches(p) {
			n++
		}
	}
	return n
}

func isTenant(t Tenant) func(*slot) bool { return func(p *slot) bool { return p.tenant == t } }

func isOrg(t Tenant) func(*slot) bool { return func(p *slot) bool { return p.tenant.Org == t.Org } }
