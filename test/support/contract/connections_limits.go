package contract

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func connectionLimit(t *testing.T, a Adapter) {
	ctx := t.Context()
	add := func(ctx context.Context, s ports.Stores, by identity.Actor) error {
		return s.Connections.Add(ctx, by, func(others int) (*connection.Connection, error) {
			return connection.New(by, fixture.Trial(t, connection.NewID(), 0), others)
		})
	}
	fill := func(t *testing.T, n int) *fixture.Team {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			for range n {
				must(t, add(ctx, tx, team.Member))
			}
			return nil
		}))
		return team
	}
	t.Run("concurrent additions cannot exceed the limit", func(t *testing.T) {
		team := fill(t, connection.MaxLive-2)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { errs[i] = add(ctx, a.Stores, team.Member) })
		}
		wg.Wait()
		additions := 0
		for _, err := range errs {
			if err == nil {
				additions++
			} else {
				wantErr(t, err, connection.ErrLimitReached)
			}
		}
		live, err := a.Connections.Live(ctx, team.Workspace.ID)
		must(t, err)
		if additions != 2 || live != connection.MaxLive {
			t.Fatalf("%d added, %d live", additions, live)
		}
	})
	t.Run("a connection that returns from revocation cannot exceed the limit", func(t *testing.T) {
		team := fill(t, connection.MaxLive-1)
		goneConnection := fixture.Connection(t, a.Stores, team.Member)
		revokeConnection(t, a.Stores, team.Member, goneConnection.ID)
		results := make(chan error, 2)
		go func() { results <- add(ctx, a.Stores, team.Member) }()
		go func() {
			_, err := a.Connections.Update(ctx, team.Workspace.ID, goneConnection.ID,
				func(c *connection.Connection, others int) error {
					return c.Verify(team.Member, fixture.Trial(t, goneConnection.ID, 2), others)
				})
			results <- err
		}()
		one, two := <-results, <-results
		if (one == nil) == (two == nil) || !errors.Is(errors.Join(one, two), connection.ErrLimitReached) {
			t.Fatalf("errors %v, %v", one, two)
		}
	})
}

func connectionAttempts(t *testing.T, a Adapter) {
	ctx := t.Context()
	home, peers, foreign := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0]),
		fixture.NewTeam(t, a.Stores, a.Orgs[1])
	target := fixture.Credential(t, home.Workspace.Slug+".example").Target(home.Org)
	other := fixture.Credential(t, "other."+home.Workspace.Slug+".example").Target(home.Org)
	attempt := func(t *testing.T, e connection.Effort, by identity.Actor, at connection.Target, note bool) (n [3]int) {
		t.Helper()
		err := a.Connections.Attempt(ctx, by, e, at, func(c *connection.Counts) error {
			n = [3]int{len(c.Workspace), len(c.Target), len(c.Failed)}
			c.Workspace, c.Target, c.Failed = append(
				c.Workspace,
				by.At,
			), append(
				c.Target,
				by.At,
			), append(
				c.Failed,
				by.At,
			)
			if !note {
				return errBoom
			}
			return nil
		})
		if note {
			must(t, err)
		} else {
			wantErr(t, err, errBoom)
		}
		return n
	}
	for _, step := range []struct {
		name   string
		effort connection.Effort
		by     identity.Actor
		at     connection.Target
		note   bool
		want   [3]int // of the workspace, of the workspace at the target, failed at the target
	}{
		{"at first there are no attempts", connection.Probing, home.Member, target, true, [3]int{0, 0, 0}},
		{"attempts of all users are counted", connection.Probing, home.Admin, target, true, [3]int{1, 1, 1}},
		{"a refused attempt is not counted", connection.Probing, home.Member, target, false, [3]int{2, 2, 2}},
		{"another target of the workspace", connection.Probing, home.Member, other, true, [3]int{2, 0, 0}},
		{"another workspace at the target shares only failures", connection.Probing, peers.Member, target, true,
			[3]int{0, 0, 2}},
		{"and back", connection.Probing, home.Member, target, true, [3]int{3, 2, 3}},
		{"another org counts for itself", connection.Probing, foreign.Member,
			fixture.Credential(t, home.Workspace.Slug+".example").Target(foreign.Org), true, [3]int{0, 0, 0}},
		{"tests are counted separately, without failed sign-ins", connection.Testing, home.Member, target, true,
			[3]int{0, 0, 0}},
		{"previews are counted separately", connection.Previewing, home.Member, target, true, [3]int{0, 0, 0}},
		{"and have no failed sign-ins", connection.Previewing, home.Member, target, true, [3]int{1, 1, 0}},
		{"another workspace's previews of the target are its own", connection.Previewing, peers.Member, target, true,
			[3]int{0, 0, 0}},
	} {
		t.Run(step.name, func(t *testing.T) {
			same(t, "the counts", attempt(t, step.effort, step.by, step.at, step.note), step.want)
		})
	}
	t.Run("times come back to the microsecond", func(t *testing.T) {
		must(t, a.Connections.Attempt(ctx, home.Member, connection.Probing, other,
			func(c *connection.Counts) error {
				same(t, "attempts", c.Target, connection.Attempts{fixture.At})
				return nil
			}))
	})
	t.Run("concurrent attempts cannot exceed the limit", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		limits := connection.ProbeLimits{WorkspacePerMinute: 3, TargetPerHour: 100}
		positions := fixture.Credential(t, team.Workspace.Slug+".example").Target(team.Org)
		var wg sync.WaitGroup
		errs := make([]error, 10)
		for i := range errs {
			wg.Go(func() {
				errs[i] = a.Connections.Attempt(ctx, team.Member, connection.Probing, positions,
					func(c *connection.Counts) error { return limits.Admit(c, team.Member.At) })
			})
		}
		wg.Wait()
		admittedCount := 0
		for _, err := range errs {
			if err == nil {
				admittedCount++
			} else {
				wantErr(t, err, connection.ErrProbeRateLimited)
			}
		}
		same(t, "admitted", admittedCount, 3)
	})
}
