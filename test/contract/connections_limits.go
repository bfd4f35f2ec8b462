package contract

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/fixture"
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
		added := 0
		for _, err := range errs {
			if err == nil {
				added++
			} else {
				wantErr(t, err, connection.ErrLimitReached)
			}
		}
		live, err := a.Connections.Live(ctx, team.Workspace.ID)
		must(t, err)
		if added != 2 || live != connection.MaxLive {
			t.Fatalf("%d added, %d live", added, live)
		}
	})
	t.Run("a connection that returns from revocation cannot exceed the limit", func(t *testing.T) {
		team := fill(t, connection.MaxLive-1)
		gone := fixture.Connection(t, a.Stores, team.Member)
		revokeConnection(t, a.Stores, team.Member, gone.ID)
		results := make(chan error, 2)
		go func() { results <- add(ctx, a.Stores, team.Member) }()
		go func() {
			_, err := a.Connections.Update(ctx, team.Workspace.ID, gone.ID,
				func(c *connection.Connection, others int) error {
					return c.Verify(team.Member, fixture.Trial(t, gone.ID, 2), others)
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
	attempt := func(t *testing.T, by identity.Actor, at connection.Target, note bool) (workspace, there int) {
		t.Helper()
		err := a.Connections.Attempt(ctx, by, connection.Probing, at, func(w, x *connection.Attempts) error {
			workspace, there = len(*w), len(*x)
			*w, *x = append(*w, by.At), append(*x, by.At)
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
		return workspace, there
	}
	for _, step := range []struct {
		name             string
		by               identity.Actor
		at               connection.Target
		note             bool
		workspace, there int
	}{
		{"at first there are no attempts", home.Member, target, true, 0, 0},
		{"attempts of all users are counted", home.Admin, target, true, 1, 1},
		{"a refused attempt is not counted", home.Member, target, false, 2, 2},
		{"another target of the workspace", home.Member, other, true, 2, 0},
		{"another workspace at the target", peers.Member, target, true, 0, 2},
		{"and back", home.Member, target, true, 3, 3},
		{"another org counts for itself", foreign.Member,
			fixture.Credential(t, home.Workspace.Slug+".example").Target(foreign.Org), true, 0, 0},
	} {
		t.Run(step.name, func(t *testing.T) {
			workspace, there := attempt(t, step.by, step.at, step.note)
			if workspace != step.workspace || there != step.there {
				t.Errorf("%d of the workspace, %d at the target; want %d, %d", workspace, there,
					step.workspace, step.there)
			}
		})
	}
	t.Run("times come back to the microsecond", func(t *testing.T) {
		must(t, a.Connections.Attempt(ctx, home.Member, connection.Probing, other,
			func(_, x *connection.Attempts) error {
				same(t, "attempts", *x, connection.Attempts{fixture.At})
				return nil
			}))
	})
	t.Run("concurrent attempts cannot exceed the limit", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		limits := connection.ProbeLimits{WorkspacePerMinute: 3, TargetPerHour: 100}
		at := fixture.Credential(t, team.Workspace.Slug+".example").Target(team.Org)
		var wg sync.WaitGroup
		errs := make([]error, 10)
		for i := range errs {
			wg.Go(func() {
				errs[i] = a.Connections.Attempt(ctx, team.Member, connection.Probing, at,
					func(w, x *connection.Attempts) error { return limits.Admit(w, x, team.Member.At) })
			})
		}
		wg.Wait()
		admitted := 0
		for _, err := range errs {
			if err == nil {
				admitted++
			} else {
				wantErr(t, err, connection.ErrProbeRateLimited)
			}
		}
		same(t, "admitted", admitted, 3)
	})
}
