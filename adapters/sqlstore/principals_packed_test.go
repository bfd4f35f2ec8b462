package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// watchedKey is a key of a member, whose statements are logged.
type watchedKey struct {
	*watchedTeam
	key *account.Key
}

func newWatchedKey(t *testing.T, url string) *watchedKey {
	t.Helper()
	f := &watchedKey{watchedTeam: newWatchedTeam(t, url)}
	f.key, _ = fixture.Key(t, f.s, f.Member, account.KeyDraft{Name: "k"})
	return f
}

// set runs a statement that no store has.
func (f *watchedKey) set(t *testing.T, query string, args ...any) {
	t.Helper()
	require.NoError(t, sqlstore.Exec(t.Context(), f.db, query, args...))
}

func TestANameOfACallerCanBeAnyText(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		f := newWatchedKey(t, url)
		for _, name := range []string{"", "1:a ", "a\x1fb", "Zoë 🍵", "0 0:"} {
			f.set(t, `UPDATE users SET name = ? WHERE id = ?`, name, f.Member.User)
			f.db.Forget()
			p, err := f.s.Keys.Principal(t.Context(), f.Org, f.key.Hash)
			if err != nil || p.User.Name != name || p.User.ID != f.Member.User || p.Key.ID != f.key.ID ||
				p.Membership.Role != identity.Member {
				t.Errorf("%q: principal = %+v, %v", name, p, err)
			}
		}
		f.set(t, `UPDATE workspaces SET deleted_at = 1 WHERE id = ?`, f.Workspace.ID)
		f.db.Forget()
		if p, err := f.s.Keys.Principal(t.Context(), f.Org, f.key.Hash); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("in a deleted workspace: %+v, %v", p, err)
		}
	})
}

func TestAKeyOfAFormerMemberIsFoundByOneStatement(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		f := newWatchedKey(t, url)
		f.set(t, `DELETE FROM memberships WHERE user_id = ?`, f.Member.User)
		f.sent.Take()
		p, err := f.s.Keys.Principal(t.Context(), f.Org, f.key.Hash)
		if err != nil || p.User.ID != f.Member.User || p.Membership.Role != identity.NoRole ||
			p.Membership.Workspace.ID != f.Workspace.ID || p.Membership.Grouped {
			t.Errorf("principal = %+v, %v", p, err)
		}
		if messages := f.sent.Take(); len(messages) != 1 {
			t.Errorf("%d statements: %v", len(messages), messages)
		}
	})
}
