package contract

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Notes is the suite for ports.Notes.
func Notes(t *testing.T, open Opener) {
	a, ctx := open(t), t.Context()
	one, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	local, remote := one.Workspace.ID, other.Workspace.ID
	deadline := event.EndOfHour(fixture.At)
	note := func(scope string, in ...identity.WorkspaceID) event.Note {
		return event.Note{
			By: one.Member, Type: "thing.noted", Subject: scope, Data: map[string]any{"n": "1"}, Workspaces: in,
			Scope: []string{scope}, Until: deadline,
		}
	}
	count := func(t *testing.T, ws identity.WorkspaceID, scope string, want int) {
		t.Helper()
		if got := eventsOn(t, a.Stores, ws, scope); len(got) != want {
			t.Errorf("%d events in the trail, want %d: %+v", len(got), want, got)
		}
	}
	t.Run("a note is an event in each of its workspaces", func(t *testing.T) {
		n := note("both", local, remote)
		a.Notes().Note(ctx, n)
		for _, ws := range []identity.WorkspaceID{local, remote} {
			found := eventsOn(t, a.Stores, ws, "both")
			if len(found) != 1 {
				t.Fatalf("%d events in %s", len(found), ws)
			}
			want := event.Event{
				ID: found[0].ID, Org: one.Org, Workspace: ws, Type: "thing.noted", Actor: one.Member.User,
				Key: one.Member.Key, Subject: "both",
				Data: map[string]any{"n": "1"}, At: one.Member.At, Request: one.Member.Request,
			}
			same(t, "the event", found[0], want)
		}
	})
	t.Run("of equal notes one is written, on one node and on several at the same time", func(t *testing.T) {
		nodes := []func(context.Context, event.Note){a.Notes().Note, a.Notes().Note, a.Notes().Note}
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() { nodes[i%len(nodes)](ctx, note("often", local)) })
		}
		wg.Wait()
		a.Notes().Note(ctx, note("often", local)) // a node that starts later
		count(t, local, "often", 1)
	})
	t.Run("another one is written in the next period", func(t *testing.T) {
		notes := a.Notes()
		notes.Note(ctx, note("hourly", local))
		next := note("hourly", local)
		next.By.At, next.Until = deadline, deadline.Add(time.Hour)
		notes.Note(ctx, next)
		a.Notes().Note(ctx, next)
		count(t, local, "hourly", 2)
	})
	t.Run("notes that differ are all written", func(t *testing.T) {
		notes := a.Notes()
		for _, person := range []identity.Actor{one.Member, one.Peer} {
			n := note("by", local)
			n.By = person
			notes.Note(ctx, n)
		}
		count(t, local, "by", 2)
	})
	t.Run("what is worth nothing is not written", func(t *testing.T) {
		system := note("nothing", local)
		system.By = identity.System(one.Org, local, "test", fixture.At)
		for _, n := range []event.Note{{}, note("nothing"), system} {
			a.Notes().Note(ctx, n)
		}
		count(t, local, "nothing", 0)
	})
	t.Run("a caller who is gone is noted", func(t *testing.T) {
		goneContext, leave := context.WithCancel(ctx)
		leave()
		a.Notes().Note(goneContext, note("gone", local))
		count(t, local, "gone", 1)
	})
}
