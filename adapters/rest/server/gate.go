package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

var (
	errCallerBusy = &fault.Error{
		Kind:       fault.RateLimited,
		Code:       "rate_limited",
		RetryAfter: time.Second,
		Detail:     "Too many of your requests are running at the same time. Wait until some have ended.",
	}
	errWorkspaceBusy = &fault.Error{
		Kind:       fault.RateLimited,
		Code:       "rate_limited",
		RetryAfter: time.Second,
		Detail:     "Too many requests are running in this workspace at the same time. Wait until some have ended.",
	}
)

const (
	// waitersPerSlot is how many requests may wait for each slot.
	waitersPerSlot = 32

	// outboundFactor is how many times higher the limits are for operations that reach another system: most of
	// the time they wait for that system, and hold no database connection.
	outboundFactor = 4
)

// Gate lets at most limit requests of each key run at the same time. The others wait in the order of their arrival.
// If no request waits, entering takes one lock and no allocation.
type Gate struct {
	limit int

	mu      sync.Mutex
	running map[string]int
	waiting map[string][]chan struct{}
}

// NewGate returns a gate for so many requests of each key.
func NewGate(limit int) *Gate {
	return &Gate{limit: limit, running: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Enter waits for at most wait and reports whether the request may run. If so, the caller must call leave.
func (g *Gate) Enter(ctx context.Context, key string, wait time.Duration) bool {
	g.mu.Lock()
	if n := g.running[key]; n < g.limit { // then no one waits
		g.running[key] = n + 1
		g.mu.Unlock()
		return true
	}
	if wait <= 0 || len(g.waiting[key]) >= g.limit*waitersPerSlot {
		g.mu.Unlock()
		return false
	}
	turn := make(chan struct{})
	g.waiting[key] = append(g.waiting[key], turn)
	g.mu.Unlock()

	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-turn:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting[key], turn)
	if i < 0 { // its turn has just come
		return true
	}
	g.setQueue(key, slices.Delete(g.waiting[key], i, i+1))
	return false
}

// Leave gives the slot to the next waiting request.
func (g *Gate) Leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if queue := g.waiting[key]; len(queue) > 0 {
		close(queue[0])
		g.setQueue(key, queue[1:])
		return
	}
	if n := g.running[key]; n > 1 {
		g.running[key] = n - 1
	} else {
		delete(g.running, key)
	}
}

func (g *Gate) setQueue(key string, queue []chan struct{}) {
	if len(queue) == 0 {
		delete(g.waiting, key)
		return
	}
	g.waiting[key] = queue
}

// Gates limit the concurrent requests of one caller and of one workspace.
type Gates struct {
	callers, workspaces *Gate
	wait                time.Duration
}

func newGates(c Concurrency, factor int) *Gates {
	return &Gates{callers: NewGate(c.PerCaller * factor), workspaces: NewGate(c.PerWorkspace * factor), wait: c.Wait}
}

// Enter waits until the request of by may run, for at most g.wait in both gates together. If it returns no error,
// the caller must call leave. A request without a workspace counts only for its caller.
func (g *Gates) Enter(ctx context.Context, by identity.Actor) error {
	remaining := g.wait
	if !g.callers.Enter(ctx, string(by.User), 0) { // most enter at once, without reading the clock
		start := time.Now()
		if !g.callers.Enter(ctx, string(by.User), g.wait) {
			return errCallerBusy
		}
		remaining -= time.Since(start)
	}
	if by.Workspace != "" && !g.workspaces.Enter(ctx, string(by.Workspace), remaining) {
		g.callers.Leave(string(by.User))
		return errWorkspaceBusy
	}
	return nil
}

// Leave gives the slots of by's request to the next ones.
func (g *Gates) Leave(by identity.Actor) {
	if by.Workspace != "" {
		g.workspaces.Leave(string(by.Workspace))
	}
	g.callers.Leave(string(by.User))
}
