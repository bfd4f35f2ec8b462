package db_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	core "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// processes are two pools on one file of SQLite. Their connections are as foreign to each other as those of two
// processes.
type processes struct {
	here, there *sqlstore.DB
	owned
	sent *statements.Log // by here
}

func newProcesses(t *testing.T) *processes {
	t.Helper()
	url := "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))
	there, _ := databases.Watched(t, url)
	here, sent := databases.Watched(t, url)
	orgs, err := there.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	s := there.Stores()
	team := fixture.NewTeam(t, s, orgs["one"])
	cred, key, session := newCredentials(t, s, team)
	p := &processes{here: here, there: there, sent: sent,
		owned: owned{Stores: s, team: team, credentials: cred, key: key, session: session}}
	p.generation(t)
	return p
}

// generation looks, and returns the generation of the workspace.
func (p *processes) generation(t *testing.T) uint64 {
	t.Helper()
	core.LookAtOthers(p.here.DB)
	n, isSettled := p.here.Generation(p.team.Workspace.ID)
	if !isSettled {
		t.Fatal("a look did not find out what other processes have written")
	}
	return n
}

// read reads what the credentials prove, after a look, and returns the statements other than the look.
func (p *processes) read(t *testing.T) int {
	t.Helper()
	core.LookAtOthers(p.here.DB)
	p.here.Generation("")
	core.PostponeLook(p.here.DB, proof.Patience)
	p.sent.Take()
	p.credentials.read(t, p.here.Stores())
	return len(p.sent.Take())
}

func TestWhatAnotherProcessWritesToSQLiteIsNoticed(t *testing.T) {
	p := newProcesses(t)
	before := p.generation(t)
	if again := p.generation(t); again != before {
		t.Error("a look found a change although nothing was written")
	}
	all := p.read(t)
	if all < 3 {
		t.Fatal("the first read has to read the database")
	}
	if n := p.read(t); n != 0 {
		t.Errorf("%d statements, although nothing has changed", n)
	}
	require.NoError(t, renamePerson(t, p.Stores, p.team.Member))
	if n := p.read(t); n != all {
		t.Errorf("%d statements after a change by another process, want %d", n, all)
	}
	if _, err := p.Keys.Update(t.Context(), p.team.Member, p.key.ID,
		func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
			return w.RevokeKey(p.team.Member, nil, k, keys)
		}); err != nil {
		t.Fatal(err)
	}
	core.LookAtOthers(p.here.DB)
	if found, err := p.here.Stores().Keys.Principal(t.Context(), p.org, p.token); err != nil ||
		found.Key.RevokedAt.IsZero() {
		t.Errorf("%v: the key does not count as revoked", err)
	}
	if after := p.generation(t); after <= before {
		t.Error("the workspace has the same generation")
	}
}

func TestWhatThisProcessWritesToSQLiteIsNoChangeByAnother(t *testing.T) {
	p := newProcesses(t)
	s := p.here.Stores()
	p.read(t)
	before := p.generation(t)
	other := fixture.NewTeam(t, s, p.org) // changes people, and so everything
	for range 3 {
		fixture.Template(t, s, other.Member, prompt.Draft{Name: id.New("t")})
		require.NoError(t, s.Keys.Used(t.Context(), p.org,
			map[identity.KeyID]account.KeyUse{p.key.ID: {At: time.Now(), Address: "127.0.0.1"}}))
	}
	changed, _ := p.here.Generation(p.team.Workspace.ID)
	if changed <= before {
		t.Error("new people are no change")
	}
	if found := p.generation(t); found != changed {
		t.Error("a look found a change, although no other process has written")
	}
	p.read(t)
	fixture.Template(t, s, other.Member, prompt.Draft{Name: id.New("t")})
	if n := p.read(t); n != 0 {
		t.Errorf("%d statements for credentials that a change of another workspace does not concern", n)
	}
}

func TestAReadWhileTheWriterIsInUseDoesNotTrustMemory(t *testing.T) {
	p := newProcesses(t)
	all := p.read(t)
	before := p.generation(t)
	require.NoError(t, renamePerson(t, p.Stores, p.team.Member))
	failed := errors.New("no")
	err := core.InTx(t.Context(), p.here.DB, func(*core.DB) error {
		core.LookAtOthers(p.here.DB)
		p.sent.Take()
		if _, isSettled := p.here.Generation(p.team.Workspace.ID); isSettled {
			t.Error("settled, although this process cannot know what others have written")
		}
		p.credentials.read(t, p.here.Stores())
		if n := len(p.sent.Take()); n != all {
			t.Errorf("%d statements, want %d", n, all)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	core.PostponeLook(p.here.DB, proof.Patience) // no read looks, so the transaction must have done so
	if after, isSettled := p.here.Generation(p.team.Workspace.ID); after <= before || !isSettled {
		t.Errorf("generation %d, then %d, settled: %v", before, after, isSettled)
	}
}

func TestAnotherConnectionOfTheWriterCountsAsAChange(t *testing.T) {
	p := newProcesses(t)
	core.ReplaceWriter(p.here.DB)
	before := p.generation(t)
	core.ReplaceWriter(p.here.DB) // with the same data version, since nothing was written
	after := p.generation(t)
	if after <= before {
		t.Error("the data versions of two connections were compared")
	}
	if again := p.generation(t); again != after {
		t.Error("the next look counted a change again")
	}
}

func TestOnSQLiteWhatIsCachedLastsWhileNothingChanges(t *testing.T) {
	p := newProcesses(t)
	look := func() {
		t.Helper()
		require.NoError(t, p.here.LookForChanges(t.Context(), time.Now()))
		core.ShiftLastCheck(p.here.DB, proof.Patience)
	}
	read := func() int {
		core.AgeCredentials(p.here.DB, 2*time.Second)
		look()
		return p.read(t)
	}
	all := read()
	if n := read(); n != 0 {
		t.Errorf("%d statements, although nothing has changed", n)
	}
	require.NoError(t, renamePerson(t, p.Stores, p.team.Member))
	if n := read(); n != all {
		t.Errorf("%d statements after a change by another process, want %d", n, all)
	}
	look()
	p.sent.Take()
	if look(); len(p.sent.Take()) != 0 {
		t.Error("a look that nobody needs sends a statement")
	}
}

func TestSharesThatEndBetweenTwoLooksCountAsChanges(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		ends := time.Now().Add(time.Hour).UTC()
		fixture.Share(t, s, team.Member, fixture.Template(t, s, team.Member, prompt.Draft{}).ID,
			prompt.Grant{User: team.Peer.User, Role: access.Viewer, ExpiresAt: ends})
		look := func(now time.Time) uint64 {
			db.ObservedGeneration(team.Workspace.ID) // someone reads
			require.NoError(t, db.LookForChanges(t.Context(), now))
			n, _ := db.ObservedGeneration(team.Workspace.ID)
			return n
		}
		look(ends.Add(-time.Second))
		before := look(ends.Add(-time.Second)) // on PostgreSQL, what was written before can count until the second look
		if again := look(ends.Add(-time.Microsecond)); again != before {
			t.Error("it counts before its end")
		}
		if after := look(ends.Add(time.Minute)); after <= before {
			t.Error("a share that ended a minute before a look, and after the last one, does not count")
		} else if again := look(ends.Add(time.Minute + time.Second)); again != after {
			t.Error("it still counts at the next look")
		}
	})
}
