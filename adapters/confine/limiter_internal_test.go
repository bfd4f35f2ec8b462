package confine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// simulation is tenants that want slots, in a bubble where time passes when all wait.
type simulation struct {
	t *testing.T
	*tenantLimiter
	ctx  context.Context
	stop func()

	mu    sync.Mutex
	began []string                   // names of the jobs that have begun, in order
	ended map[string]func()          // ends a job that runs
	ends  map[string]error           // why a job did not run, or was cut short
	since map[string]time.Duration   // how long it waited
	held  map[string]context.Context // of one that runs
}

func simulate(t *testing.T, maximum int, test func(c *simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := &simulation{
			t: t, tenantLimiter: newTenantLimiter(maximum), ctx: ctx, stop: stop,
			ended: map[string]func(){}, ends: map[string]error{}, since: map[string]time.Duration{},
			held: map[string]context.Context{},
		}
		test(c)
		stop()
		synctest.Wait()
		if len(c.running)+len(c.waiting)+len(c.served) != 0 {
			t.Errorf("%d run, %d wait, %d are remembered after the end", len(c.running), len(c.waiting), len(c.served))
		}
	})
}

func tenant(org, person string) Tenant { return Tenant{Org: identity.OrgID(org), Person: person} }

// wants has a job of t ask for a slot, and run until it is ended.
func (c *simulation) wants(t Tenant, name string) {
	c.asks(t, name, true)
}

func (c *simulation) asks(t Tenant, name string, wait bool) {
	askedAt := time.Now()
	go func() {
		holding, release, err := c.acquire(c.ctx, t, wait)
		c.mu.Lock()
		c.since[name] = time.Since(askedAt)
		if err != nil {
			c.ends[name] = err
			c.mu.Unlock()
			return
		}
		ownContext, end := context.WithCancel(holding)
		c.began, c.ended[name], c.held[name] = append(c.began, name), end, holding
		c.mu.Unlock()
		<-ownContext.Done()
		c.mu.Lock()
		c.ends[name] = context.Cause(holding)
		c.mu.Unlock()
		release()
	}()
	synctest.Wait()
}

func (c *simulation) end(name string) {
	c.t.Helper()
	c.mu.Lock()
	end := c.ended[name]
	c.mu.Unlock()
	if end == nil {
		c.t.Fatalf("%s has not begun", name)
	}
	end()
	synctest.Wait()
}

// begun fails the test unless exactly these have begun since it was asked last, in this order.
func (c *simulation) begun(names ...string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.began, names) {
		c.t.Errorf("%q have begun, want %q", c.began, names)
	}
	c.began = nil
}

func TestATenantHasHalfOfTheSlotsAndAnOrgThreeQuarters(t *testing.T) {
	simulate(t, 8, func(c *simulation) {
		for i := range 5 {
			c.wants(tenant("a", "ann"), fmt.Sprint("ann ", i))
		}
		c.begun("ann 0", "ann 1", "ann 2", "ann 3")
		for i := range 3 {
			c.wants(tenant("a", "bob"), fmt.Sprint("bob ", i))
		}
		c.begun("bob 0", "bob 1")
		c.wants(tenant("b", "eve"), "eve")
		c.begun("eve")
		c.end("bob 0")
		c.begun("bob 2") // who has fewer than ann
	})
}

func TestThoseWhoWaitAreServedInTurn(t *testing.T) {
	simulate(t, 1, func(c *simulation) {
		c.wants(tenant("a", "ann"), "ann 0")
		for i := 1; i < 4; i++ {
			c.wants(tenant("a", "ann"), fmt.Sprint("ann ", i))
		}
		c.wants(tenant("a", "bob"), "bob 0")
		c.wants(tenant("a", "bob"), "bob 1")
		c.wants(tenant("b", "eve"), "eve 0")
		for _, name := range []string{"ann 0", "bob 0", "eve 0", "ann 1", "bob 1", "ann 2"} {
			c.end(name)
		}
		c.begun("ann 0", "bob 0", "eve 0", "ann 1", "bob 1", "ann 2", "ann 3")
	})
}

func TestBeyondAFewWhoWaitMoreAreRefused(t *testing.T) {
	simulate(t, 2, func(c *simulation) {
		for i := range 1 + maxWaiting + 1 {
			c.wants(tenant("a", "ann"), fmt.Sprint("ann ", i))
		}
		c.begun("ann 0")
		if err := c.ends["ann 9"]; !errors.Is(err, ports.ErrJobRefused) || len(c.ends) != 1 || c.refused != 1 {
			t.Errorf("%v, %d refused", c.ends, c.refused)
		}
		c.wants(tenant("b", "bob"), "bob")
		c.begun("bob")
		for i := range maxWaitingOrg {
			c.wants(tenant("b", fmt.Sprint("person ", i)), fmt.Sprint("person ", i))
		}
		c.wants(tenant("b", "one more"), "one more")
		if err := c.ends["one more"]; !errors.Is(err, ports.ErrJobRefused) || c.refused != 2 {
			t.Errorf("%v, %d refused", c.ends, c.refused)
		}
	})
}

func TestWhoHasWaitedForTenSecondsIsRefused(t *testing.T) {
	simulate(t, 2, func(c *simulation) {
		ann := tenant("a", "ann")
		c.wants(ann, "first")
		synctest.Wait()
		c.wants(ann, "second")
		time.Sleep(maxWait - time.Second)
		if synctest.Wait(); c.ends["second"] != nil {
			t.Error("it is refused too early")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.ErrorIs(t, c.ends["second"], ports.ErrJobRefused)
		assert.Equal(t, "it waited", c.since["second"], maxWait)
		assert.Equal(t, "refusals", c.refused, 1)
		c.wants(ann, "third")
		synctest.Wait()
		c.end("first")
		assert.Equal(t, "the jobs that ran", len(c.began), 2)
	})
}

func TestBackgroundWorkDoesNotWait(t *testing.T) {
	simulate(t, 2, func(c *simulation) {
		c.asks(tenant("a", "ann"), "first", false)
		c.asks(tenant("a", "ann"), "second", false)
		c.begun("first")
		if err := c.ends["second"]; !errors.Is(err, ports.ErrJobRefused) || c.since["second"] != 0 {
			t.Errorf("%v after %s", err, c.since["second"])
		}
	})
}

func TestWhoIsCalledOffWhileWaitingLeavesTheQueue(t *testing.T) {
	simulate(t, 1, func(c *simulation) {
		c.wants(tenant("a", "ann"), "ann")
		ctx, cancel := context.WithTimeout(c.ctx, time.Second)
		defer cancel()
		if _, _, err := c.acquire(ctx, tenant("b", "bob"), true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
		assert.Equal(t, "wait", len(c.waiting), 0)
	})
}

func TestAJobThatIsSlowWhileOthersWaitLosesItsPlace(t *testing.T) {
	t.Run("to one who has fewer", func(t *testing.T) {
		simulate(t, 4, func(c *simulation) {
			c.wants(tenant("a", "ann"), "ann 0")
			time.Sleep(time.Second)
			c.wants(tenant("a", "ann"), "ann 1")
			c.wants(tenant("b", "bob"), "bob 0")
			c.wants(tenant("b", "bob"), "bob 1")
			c.wants(tenant("c", "eve"), "eve")
			c.begun("ann 0", "ann 1", "bob 0", "bob 1")
			time.Sleep(evictAfter)
			synctest.Wait()
			c.begun("eve")
			if !errors.Is(c.ends["ann 0"], ports.ErrJobTimeout) || len(c.ends) != 1 || c.evicted != 1 {
				t.Errorf("%v, %d evicted", c.ends, c.evicted)
			}
			time.Sleep(time.Minute)
			if len(c.ends) != 1 {
				t.Errorf("no one waits, and still: %v", c.ends)
			}
		})
	})
	t.Run("but not to one of its own tenant, or to one who has as many", func(t *testing.T) {
		simulate(t, 2, func(c *simulation) {
			for _, name := range []string{"ann", "bob"} {
				c.wants(tenant(name, name), name+" 0")
				c.wants(tenant(name, name), name+" 1")
			}
			c.begun("ann 0", "bob 0")
			time.Sleep(time.Hour)
			if c.evicted != 0 || c.ends["ann 0"] != nil || c.ends["bob 0"] != nil { // the others waited too long
				t.Errorf("%v, %d evicted", c.ends, c.evicted)
			}
		})
	})
	t.Run("within an org to one of the same org, where that has all that it may", func(t *testing.T) {
		simulate(t, 4, func(c *simulation) {
			c.wants(tenant("b", "bob"), "bob")
			for _, name := range []string{"ann 0", "ann 1"} {
				c.wants(tenant("a", "ann"), name)
			}
			c.wants(tenant("a", "amy"), "amy")
			c.wants(tenant("a", "abe"), "abe")
			c.begun("bob", "ann 0", "ann 1", "amy")
			time.Sleep(evictAfter + time.Second)
			c.begun("abe")
			if !errors.Is(c.ends["ann 0"], ports.ErrJobTimeout) || len(c.ends) != 1 {
				t.Errorf("%v", c.ends)
			}
		})
	})
}
