package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/events"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

// signing opens a database whose events are signed, and a direct connection to it for an attacker.
func signing(t *testing.T, url string) (db *sqlstore.Store, by identity.Actor, tamper *sqlx.DB) {
	t.Helper()
	db = open(t, url, databases.Keyring(t))
	db.SignEvents(databases.Digester("key"))
	ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	return db, identity.System(ids["one"], "", "test", time.Now().UTC().Truncate(time.Microsecond)),
		databases.Unguarded(t, url)
}

// happen makes a workspace with n events.
func happen(t *testing.T, db *sqlstore.Store, by identity.Actor, slug string, n int) identity.WorkspaceID {
	t.Helper()
	w, err := account.NewWorkspace(by, nil, slug, "0")
	if err == nil {
		err = db.Stores().Workspaces.Add(t.Context(), w)
	}
	for i := 1; i < n && err == nil; i++ {
		err = rename(t.Context(), db, by, w.ID, i)
	}
	require.NoError(t, err)
	return w.ID
}

// rename makes one more event of a workspace.
func rename(ctx context.Context, db *sqlstore.Store, by identity.Actor, ws identity.WorkspaceID, i int) error {
	_, err := db.Stores().Workspaces.Update(ctx, by, ws, nil, func(w *account.Workspace) error {
		by.Workspace = ws
		w.Record(by, "workspace.updated", string(ws), map[string]any{"name": fmt.Sprint(i)})
		return nil
	})
	return err
}

func link(t *testing.T, db *sqlstore.Store) {
	t.Helper()
	require.NoError(t, db.Events().Link(t.Context(), time.Now()))
}

// verified is what verification finds of a workspace.
func verified(t *testing.T, db *sqlstore.Store, ws identity.WorkspaceID) (out event.Report) {
	t.Helper()
	found := 0
	if err := db.Events().VerifyChains(t.Context(), ws, func() {},
		func(r event.Report) error { out = r; found++; return nil }); err != nil || found != 1 {
		t.Fatalf("%d chains were verified: %v", found, err)
	}
	if parts := verifiedInParts(t, db, out.Org, ws); parts.Verified != out.Verified ||
		parts.Waiting != out.Waiting || parts.Unsigned != out.Unsigned || (parts.Broken == 0) != (out.Broken == 0) {
		t.Errorf("in parts: %+v\nat once: %+v", parts, out)
	}
	return out
}

// verifiedInParts adds up what is found in parts of two links.
func verifiedInParts(t *testing.T, db *sqlstore.Store, org identity.OrgID, ws identity.WorkspaceID) (sum event.Report) {
	t.Helper()
	for current := (event.Position{}); ; {
		part, err := db.Stores().Events.Verify(t.Context(), org, ws, current, 2)
		require.NoError(t, err)
		sum.Verified += part.Verified
		sum.Waiting += part.Waiting
		sum.Unsigned += part.Unsigned
		sum.Broken += part.Broken
		if part.Next.IsZero() {
			return sum
		}
		if part.Next == current || part.Verified+part.Waiting+part.Unsigned > 3 {
			t.Fatalf("after %s: %+v", current, part)
		}
		current = part.Next
	}
}

func holds(t *testing.T, r event.Report, linkedCount, waiting, unsignedCount int) {
	t.Helper()
	if r.Broken != 0 || r.Verified != linkedCount || r.Waiting != waiting || r.Unsigned != unsignedCount {
		t.Errorf("got %+v, want %d, %d, %d", r, linkedCount, waiting, unsignedCount)
	}
}

func TestEventChains(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			path := url(t)
			db, by, tamper := signing(t, path)
			t.Run("an event waits until it is linked", func(t *testing.T) {
				ws := happen(t, db, by, "waits", 3)
				if err := db.Events().Link(t.Context(), by.At); err != nil { // which begins the chains
					t.Fatal(err)
				}
				holds(t, verified(t, db, ws), 3, 0, 0)
				ws = happen(t, db, by, "waits-too", 3)
				holds(t, verified(t, db, ws), 0, 3, 0)
				link(t, db)
				holds(t, verified(t, db, ws), 3, 0, 0)
				require.NoError(t, rename(t.Context(), db, by, ws, 9))
				link(t, db)
				r := verified(t, db, ws)
				holds(t, r, 4, 0, 0)
				link(t, db)
				if second := verified(t, db, ws); second.Hash != r.Hash || second.Seq != 4 {
					t.Errorf("got %+v, want %+v", second, r)
				}
			})
			t.Run("writers and nodes at once make one chain", func(t *testing.T) {
				ws, other := happen(t, db, by, "busy", 1), open(t, path, databases.Keyring(t))
				other.SignEvents(databases.Digester("key"))
				const writers, each = 4, 40
				var wg sync.WaitGroup
				for w := range writers {
					wg.Go(func() {
						node := []*sqlstore.Store{db, other}[w%2]
						for i := range each {
							err := rename(t.Context(), node, by, ws, i)
							if i%5 == 0 {
								err = errors.Join(err, node.Events().Link(t.Context(), time.Now()))
							}
							if err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				link(t, db)
				holds(t, verified(t, db, ws), writers*each+1, 0, 0)
			})
			t.Run("retention leaves a chain that verifies", func(t *testing.T) {
				old := by
				old.At = by.At.Add(-48 * time.Hour)
				ws := happen(t, db, old, "aged", 4)
				late := by
				late.At = by.At.Add(-time.Minute)
				for _, user := range []identity.Actor{late, old, late} { // one that is old comes after one that is not
					require.NoError(t, rename(t.Context(), db, user, ws, 1))
				}
				link(t, db)
				require.NoError(t, db.Sweep(t.Context(), by.At, 24*time.Hour))
				holds(t, verified(t, db, ws), 3, 0, 0)
				require.NoError(t, db.Sweep(t.Context(), by.At.Add(72*time.Hour), 24*time.Hour))
				r := verified(t, db, ws)
				holds(t, r, 0, 0, 0)
				assert.Equal(t, "the chain ends at", r.Seq, 7)
				require.NoError(t, rename(t.Context(), db, by, ws, 2))
				link(t, db)
				holds(t, verified(t, db, ws), 1, 0, 0)
			})
			t.Run("what an old release writes during an upgrade is told apart", func(t *testing.T) {
				ws := happen(t, db, by, "upgraded", 2)
				link(t, db)
				for name, tt := range map[string]struct {
					at     time.Time
					broken int
				}{"evt_during": {time.Now(), 0}, "evt_after": {time.Now().Add(event.UpgradeWindow + time.Hour), 1}} {
					insertAsBefore(t, tamper, by.Org, ws, name, tt.at)
					link(t, db)
					if r := verified(t, db, ws); r.Broken != tt.broken || r.Unsigned != 1-tt.broken || r.Verified != 2 {
						t.Errorf("%s: %+v", name, r)
					}
					tamper.MustExec(tamper.Rebind(`DELETE FROM events WHERE id = ?`), name)
				}
			})
			t.Run("events without a link are verified in parts, too", func(t *testing.T) {
				ws := happen(t, db, by, "unlinked", 2)
				link(t, db)
				for i := range 7 {
					insertAsBefore(t, tamper, by.Org, ws, fmt.Sprintf("evt_before_%d", i), time.Now())
				}
				holds(t, verified(t, db, ws), 2, 0, 7)
				after := event.Position{Event: "evt_before_1"} // the last of 7 is evt_before_6
				for _, want := range []event.Position{{Event: "evt_before_4"}, {}} {
					part, err := db.Stores().Events.Verify(t.Context(), by.Org, ws, after, 3)
					require.NoError(t, err)
					if part.Next != want || part.Verified != 0 || part.Broken != 0 || part.Seq != 2 {
						t.Errorf("after %s: %+v, want the next one after %s", after, part, want)
					}
					after = want
				}
				tamper.MustExec(tamper.Rebind(`DELETE FROM events WHERE workspace_id = ?`), ws)
				tamper.MustExec(tamper.Rebind(`DELETE FROM event_chains WHERE workspace_id = ?`), ws)
			})
			testTampering(t, db, by, tamper)
		})
	}
}

// insertAsBefore writes an event as a release without chains does.
func insertAsBefore(t *testing.T, tamper *sqlx.DB, org identity.OrgID, ws identity.WorkspaceID, id string,
	instant time.Time) {
	t.Helper()
	if _, err := tamper.Exec(tamper.Rebind(`
		INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id, subject, data, created_at, request_id,
		address)
		VALUES (?, ?, ?, 'workspace.updated', '', '', ?, '{}', ?, 'req',
		'')`), id, org, ws, ws, instant.UnixMicro()); err != nil {
		t.Fatal(err)
	}
}

// testTampering changes the rows of a chain as an attacker could who can write the database and has no key.
func testTampering(t *testing.T, db *sqlstore.Store, by identity.Actor, tamper *sqlx.DB) {
	third := `(SELECT id FROM (SELECT id FROM events WHERE workspace_id = ? AND chain_seq = 3) AS third)`
	for name, tt := range map[string]struct {
		statements []string // each is given the workspace for its one ?
		want       string
	}{
		"an event is changed": {[]string{`UPDATE events SET actor_id = 'usr_other' WHERE id = ` + third},
			"it was changed"},
		"one in the middle is deleted": {[]string{`DELETE FROM events WHERE id = ` + third},
			"1 event(s) before this place were deleted"},
		"the last one is deleted": {[]string{`DELETE FROM events WHERE workspace_id = ? AND chain_seq = 5`},
			"1 event(s) at the end of the chain were deleted"},
		"and the chain's end moved": {[]string{`DELETE FROM events WHERE workspace_id = ? AND chain_seq = 5`,
			`UPDATE event_chains SET seq = 4, hash = (SELECT chain_hash FROM events e
				WHERE e.workspace_id = event_chains.workspace_id AND e.chain_seq = 4)
				WHERE workspace_id = ?`}, "the ends of the chain were changed"},
		"two change places": {[]string{`UPDATE events SET chain_seq = CASE chain_seq WHEN 2 THEN 3 ELSE 2 END
			WHERE workspace_id = ? AND chain_seq IN (2, 3)`}, "it was moved to this place"},
		"one is inserted in a place": {[]string{`INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id,
			subject, data, created_at, request_id, address, signature, chain_seq, chain_hash)
			SELECT 'evt_x', org_id, workspace_id, type, actor_id, key_id, subject, data, created_at, request_id,
			address, signature, 6, chain_hash FROM events WHERE workspace_id = ?
			AND chain_seq = 5`}, "it was inserted"},
		"one is inserted to be linked": {[]string{`INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id,
			subject, data, created_at, request_id, address, signature) SELECT 'evt_y', org_id, workspace_id, type,
			actor_id, key_id, subject, data, created_at, request_id, address, signature FROM events
			WHERE workspace_id = ? AND chain_seq = 5`}, "it was changed"},
		"the chain is deleted": {[]string{`DELETE FROM event_chains WHERE workspace_id = ?`},
			"it is linked, and its workspace has no chain"},
		"an event loses its signature": {[]string{`UPDATE events SET signature = NULL, chain_seq = 0, chain_hash = NULL
			WHERE id = ` + third}, "1 event(s) before this place were deleted"},
		"the beginning of it is moved": {[]string{`UPDATE event_chains SET base_seq = 1 WHERE workspace_id = ?`,
			`DELETE FROM events WHERE workspace_id = ? AND chain_seq = 1`}, "the ends of the chain were changed"},
	} {
		t.Run(name, func(t *testing.T) {
			ws := happen(t, db, by, "t-"+strings.ReplaceAll(strings.NewReplacer("'", "").Replace(name), " ", "-"), 5)
			link(t, db)
			holds(t, verified(t, db, ws), 5, 0, 0)
			for _, s := range tt.statements {
				if _, err := tamper.Exec(tamper.Rebind(s), ws); err != nil {
					t.Fatal(err)
				}
			}
			if name == "one is inserted to be linked" { // which the node does
				link(t, db)
			}
			r := verified(t, db, ws)
			if r.Broken == 0 || !strings.Contains(r.Breaks[0].Reason, tt.want) {
				t.Errorf("got %+v, want %q", r, tt.want)
			}
			tamper.MustExec(tamper.Rebind(`DELETE FROM events WHERE workspace_id = ?`), ws)
			tamper.MustExec(tamper.Rebind(`DELETE FROM event_chains WHERE workspace_id = ?`), ws)
		})
	}
	t.Run("a chain whose ends were changed is not continued, and others are", func(t *testing.T) {
		ws, other := happen(t, db, by, "changed", 2), happen(t, db, by, "another", 1)
		link(t, db)
		tamper.MustExec(tamper.Rebind(`UPDATE event_chains SET seq = 1 WHERE workspace_id = ?`), ws)
		for _, ws := range []identity.WorkspaceID{ws, other} {
			require.NoError(t, rename(t.Context(), db, by, ws, 1))
		}
		assert.ErrorIs(t, db.Events().Link(t.Context(), time.Now()), events.ErrChainChanged)
		holds(t, verified(t, db, other), 2, 0, 0)
		if r := verified(t, db, ws); r.Broken == 0 || r.Waiting != 1 {
			t.Errorf("got %+v", r)
		}
		tamper.MustExec(tamper.Rebind(`DELETE FROM events WHERE workspace_id = ?`), ws)
	})
	t.Run("without the key nothing verifies", func(t *testing.T) {
		ws := happen(t, db, by, "foreign", 2)
		_ = db.Events().Link(t.Context(), time.Now()) // which fails for the chain that was changed
		db.SignEvents(databases.Digester("another key"))
		defer db.SignEvents(databases.Digester("key"))
		if r := verified(t, db, ws); r.Verified != 0 || r.Broken == 0 {
			t.Errorf("got %+v", r)
		}
	})
}
