package server

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestGate(t *testing.T) {
	const wait = time.Second
	t.Run("lets in as many as its limit, of each key", func(t *testing.T) {
		g := NewGate(2)
		for range 2 {
			if !g.Enter(t.Context(), "a", 0) || !g.Enter(t.Context(), "b", 0) {
				t.Fatal("refused within the limit")
			}
		}
		if g.Enter(t.Context(), "a", 0) {
			t.Error("let in above the limit")
		}
		g.Leave("a")
		if !g.Enter(t.Context(), "a", 0) {
			t.Error("refused after another has left")
		}
	})
	t.Run("the others wait in their order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(1)
			g.Enter(t.Context(), "a", wait)
			var mu sync.Mutex
			var order []int
			for i := range 10 {
				go func() {
					if g.Enter(t.Context(), "a", wait) {
						mu.Lock()
						order = append(order, i)
						mu.Unlock()
						time.Sleep(2 * time.Millisecond)
						g.Leave("a")
					}
				}()
				synctest.Wait()
			}
			g.Leave("a")
			time.Sleep(wait)
			mu.Lock()
			defer mu.Unlock()
			if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
				t.Errorf("order %v, want %v", order, want)
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			if len(g.running)+len(g.waiting) != 0 {
				t.Errorf("left behind: %v %v", g.running, g.waiting)
			}
		})
	})
	t.Run("who waits too long, or is gone, is refused and leaves no trace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(1)
			g.Enter(t.Context(), "a", wait)
			start := time.Now()
			if g.Enter(t.Context(), "a", wait) || time.Since(start) != wait {
				t.Errorf("let in, or refused after %v", time.Since(start))
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(wait/2, cancel)
			if g.Enter(ctx, "a", wait) {
				t.Error("let in after its client had gone")
			}
			g.Leave("a")
			if len(g.running)+len(g.waiting) != 0 {
				t.Errorf("left behind: %v %v", g.running, g.waiting)
			}
		})
	})
	t.Run("a limited number may wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(1)
			g.Enter(t.Context(), "a", wait)
			for range waitersPerSlot {
				go g.Enter(t.Context(), "a", wait)
			}
			synctest.Wait()
			start := time.Now()
			if g.Enter(t.Context(), "a", wait) || time.Since(start) != 0 {
				t.Errorf("one more waited for %v", time.Since(start))
			}
			time.Sleep(wait)
		})
	})
}

// TestParallelClients sends what clients usually send at once, each request of 2 ms.
func TestParallelClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates(Concurrency{PerCaller: 4, PerWorkspace: 6, Wait: time.Second}, 1)
		var wg sync.WaitGroup
		for _, user := range []identity.UserID{"browser", "sdk", "another"} {
			for range 40 {
				wg.Go(func() {
					by := identity.Actor{User: user, Workspace: "w"}
					if err := g.Enter(t.Context(), by); err != nil {
						t.Errorf("%s: %v", user, err)
						return
					}
					time.Sleep(2 * time.Millisecond)
					g.Leave(by)
				})
			}
		}
		wg.Wait()
	})
}

func TestGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates(Concurrency{PerCaller: 2, PerWorkspace: 3, Wait: time.Second}, 1)
		actor := func(user identity.UserID, ws identity.WorkspaceID) identity.Actor {
			return identity.Actor{User: user, Workspace: ws}
		}
		for _, by := range []identity.Actor{actor("a", "w"), actor("a", "w"), actor("b", "w")} {
			require.NoError(t, g.Enter(t.Context(), by))
		}
		for by, want := range map[identity.Actor]error{
			actor("a", "w"): errCallerBusy, actor("a", "elsewhere"): errCallerBusy, actor("a", ""): errCallerBusy,
			actor("b", "w"): errWorkspaceBusy, actor("c", "w"): errWorkspaceBusy,
			actor("b", "elsewhere"): nil, actor("c", ""): nil,
		} {
			err := g.Enter(t.Context(), by)
			if err != want {
				t.Errorf("%+v: %v, want %v", by, err, want)
			}
			if err == nil {
				g.Leave(by)
			}
		}
	})
}

func TestStreamCounts(t *testing.T) {
	c := newStreamCounts(Streams{PerWorkspace: 2, PerAddress: 3})
	type stream struct {
		ws      identity.WorkspaceID
		address string
	}
	for i, s := range []struct {
		stream
		leaves, refused bool
	}{
		{stream: stream{"w", "192.0.2.1"}},
		{stream: stream{"w", "192.0.2.2"}},
		{stream: stream{"w", "192.0.2.3"}, refused: true},
		{stream: stream{"w", "192.0.2.2"}, leaves: true},
		{stream: stream{"w", "192.0.2.3"}},
		{stream: stream{"", "2001:db8::1"}},
		{stream: stream{"", "2001:db8::2"}},
		{stream: stream{"x", "2001:db8::3"}},
		{stream: stream{"y", "2001:db8::4"}, refused: true}, // of the same network
		{stream: stream{"y", "2001:db8:1::"}},
	} {
		if s.leaves {
			c.leave(s.ws, s.address)
		} else if err := c.enter(s.ws, s.address); (err != nil) != s.refused {
			t.Errorf("%d. %+v: %v", i, s.stream, err)
		}
	}
}
