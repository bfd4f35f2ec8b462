package db_test

import (
	"context"
	"testing"
	"time"

	core "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

func TestWhatThisProcessWritesToSQLiteIsNoChangeByAnother(t *testing.T) {
	l := newLooker(t, databases.Engines["sqlite"](t))
	s := l.here.Stores()
	previous := l.look(t, time.Now())
	other := fixture.NewTeam(t, s, l.org)
	for range 3 {
		fixture.Template(t, s, other.Member, prompt.Draft{Name: id.New("t")})
		require.NoError(t, s.Keys.Used(t.Context(), l.org,
			map[identity.KeyID]account.KeyUse{l.key.ID: {At: time.Now(), Address: "127.0.0.1"}}))
	}
	if current := l.look(t, time.Now()); current != previous {
		t.Error("a look found a change, although no other process has written")
	}
	fixture.Template(t, l.Stores, l.team.Member, prompt.Draft{})
	if current := l.look(t, time.Now()); current <= previous {
		t.Error("a look did not find the change by another process")
	}
}

func TestALookWaitsForSQLitesWriterAndCommitsWhatHasBeenDone(t *testing.T) {
	l := newLooker(t, databases.Engines["sqlite"](t))
	previous := l.look(t, time.Now())
	fixture.Template(t, l.Stores, l.team.Member, prompt.Draft{})
	lookedErrs := make(chan error, 1)
	l.sent.Take()
	require.NoError(t, core.InTx(t.Context(), l.here.DB, func(*core.DB) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, l.here.LookForChanges(ctx, time.Now()), context.Canceled)
		l.here.ObservedGeneration("") // someone reads
		go func() { lookedErrs <- l.here.LookForChanges(t.Context(), time.Now()) }()
		awaitWaiting(t, l.here, 1)
		return nil
	}))
	require.NoError(t, <-lookedErrs)
	assert.Equal(t, "commits", count(l.sent.Take(), statements.Commit), 1)
	if current, _ := l.here.ObservedGeneration(l.team.Workspace.ID); current <= previous {
		t.Error("the look did not find the change by another process")
	}
}

func TestAnotherConnectionOfTheWriterCountsAsAChange(t *testing.T) {
	l := newLooker(t, databases.Engines["sqlite"](t))
	core.ReplaceWriter(l.here.DB)
	previous := l.look(t, time.Now())
	core.ReplaceWriter(l.here.DB) // with the same data version, since nothing was written
	current := l.look(t, time.Now())
	if current <= previous {
		t.Error("the data versions of two connections were compared")
	}
	if second := l.look(t, time.Now()); second != current {
		t.Error("the next look counted a change again")
	}
}

func TestOnSQLiteALookThatNobodyNeedsSendsNoStatement(t *testing.T) {
	l := newLooker(t, databases.Engines["sqlite"](t))
	for _, want := range []int{2, 0} { // newLooker has read the generation
		if n := l.statementsOf(func() {
			require.NoError(t, l.here.LookForChanges(t.Context(), time.Now()))
		}); n != want {
			t.Errorf("%d statements, want %d", n, want)
		}
	}
}
