package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// history lists the entries about a subject in b.by's workspace.
func (b *backlog) history(t *testing.T, subject string) func(page.Query) (page.Of[job.Entry], error) {
	return func(q page.Query) (page.Of[job.Entry], error) {
		return b.Jobs.History(t.Context(), b.by.Workspace, subject, q)
	}
}

func jobHistory(t *testing.T, a Adapter) {
	ctx := t.Context()
	history := func(t *testing.T, b *backlog, ws identity.WorkspaceID) []job.Entry {
		return fixture.Pages(t, 1, func(q page.Query) (page.Of[job.Entry],
			error) {
			return b.Jobs.History(ctx, ws, "a", q)
		})
	}
	t.Run("History lists ended, running and queued jobs, newest first", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "b", 0)
		endedJob := b.add(t, "a", 0)
		batch := b.take(t, time.Second, 10)
		for _, j := range batch {
			must(t, b.queue.Settle(ctx, j, j.End("auth_failed", fixture.At.Add(2*time.Second))))
		}
		running := b.add(t, "a", 0)
		b.take(t, 3*time.Second, 10)
		queuedJob := b.add(t, "a", time.Hour)
		got := history(t, b, b.by.Workspace)
		require.Equal(t, "entries", len(got), 3)
		for i, want := range []job.Entry{
			{Job: queuedJob, State: job.Queued},
			{Job: running, State: job.Running, StartedAt: fixture.At.Add(3 * time.Second)},
			{Job: endedJob, State: job.Failed, Failure: "auth_failed", StartedAt: fixture.At.Add(time.Second),
				EndedAt: fixture.At.Add(2 * time.Second)},
		} {
			if got[i].ID != want.ID || got[i].State != want.State || got[i].Failure != want.Failure ||
				!got[i].StartedAt.Equal(want.StartedAt) || !got[i].EndedAt.Equal(want.EndedAt) {
				t.Errorf("entry %d = %+v, want %+v", i, got[i], want)
			}
		}
	})
	t.Run("History lists no job of another workspace and no cancelled job", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		for _, ws := range []identity.WorkspaceID{b.other.Workspace, "",
			fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member.Workspace} {
			same(t, "entries", len(history(t, b, ws)), 0)
		}
		_, err := b.Jobs.Cancel(ctx, b.by.Workspace, "a")
		must(t, err)
		same(t, "entries", len(history(t, b, b.by.Workspace)), 0)
	})
}
