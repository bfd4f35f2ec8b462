package sqlstore_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/statements"
)

// prefetchTeam is a template with three versions, of which the first was active before the second.
type prefetchTeam struct {
	*fixture.Team
	db    *sqlstore.DB
	sent  *statements.Log
	s     ports.Stores
	id    prompt.ID
	first *prompt.Version
}

func newPrefetchTeam(t *testing.T, url string) *prefetchTeam {
	t.Helper()
	db, sent := watched(t, url)
	orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
	if err != nil {
		t.Fatal(err)
	}
	f := &prefetchTeam{db: db, sent: sent, s: db.Stores()}
	f.Team = fixture.NewTeam(t, f.s, orgs["one"])
	f.id = fixture.Template(t, f.s, f.Member, prompt.Draft{}).ID
	f.first = fixture.Version(t, f.s, f.Member, f.id, "one", "stable")
	fixture.Activate(t, f.s, f.Member, f.id, prompt.Ref{Number: 1})
	fixture.Version(t, f.s, f.Member, f.id, "two")
	fixture.Activate(t, f.s, f.Member, f.id, prompt.Ref{Number: 2})
	fixture.Version(t, f.s, f.Member, f.id, "three, a draft")
	return f
}

// prove looks up a new key of by, in a request that will read a version. The log of statements is empty then.
func (f *prefetchTeam) prove(t *testing.T, by identity.Actor, id prompt.ID, ref prompt.Ref) context.Context {
	t.Helper()
	k, _ := fixture.Key(t, f.s, by, account.KeyDraft{Name: "k"})
	ctx := context.WithValue(t.Context(), ports.VersionPrefetchKey{}, &ports.VersionPrefetch{Template: id, Ref: ref})
	f.sent.Take()
	defer f.sent.Take()
	p, err := f.s.Keys.Principal(ctx, f.Org, k.Hash)
	if err != nil {
		t.Fatal(err)
	}
	if p.User.ID != by.User || p.Key.ID != k.ID || p.Membership.Workspace.ID != by.Workspace ||
		p.Membership.Role != by.Role {
		t.Fatalf("principal = %+v", p)
	}
	return ctx
}

type foundVersion struct {
	reading *prompt.Reading
	version *prompt.Version
}

// read reads a version. The log has its statements then.
func (f *prefetchTeam) read(
	ctx context.Context, t *testing.T, by identity.Actor, id prompt.ID, ref prompt.Ref,
) foundVersion {
	t.Helper()
	f.sent.Take()
	reading, version, err := f.s.Prompts.GetVersion(ctx, by, id, ref)
	if err != nil && !errors.Is(err, prompt.ErrNotFound) {
		t.Fatal(err)
	}
	return foundVersion{reading, version}
}

func TestAVersionThatIsReadWithItsCallerIsTheOneThatAReadFinds(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		f := newPrefetchTeam(t, url)
		fixture.Share(t, f.s, f.Member, f.id, prompt.Grant{User: f.Peer.User, Role: access.Viewer})
		for who, by := range map[string]identity.Actor{
			"the owner": f.Member, "an admin": f.Admin, "a viewer by a share": f.Peer, "a stranger": f.Viewer,
		} {
			for name, ref := range map[string]prompt.Ref{
				"the active one": {Active: true}, "the one before": {Previous: true}, "a label": {Label: "stable"},
				"a draft by its number": {Number: 3}, "an id": {ID: f.first.ID},
				"a label that none has": {Label: "none"}, "none": {},
			} {
				t.Run(name+", by "+who, func(t *testing.T) {
					want := f.read(t.Context(), t, by, f.id, ref)
					got := f.read(f.prove(t, by, f.id, ref), t, by, f.id, ref)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("read %+v %+v, want %+v %+v", got.reading, got.version, want.reading, want.version)
					}
					if again := f.sent.Take(); len(again) > 0 {
						t.Errorf("it was read again: %v", again)
					}
				})
			}
		}
	})
}

func TestAVersionThatWasReadWithItsCallerIsReadAgain(t *testing.T) {
	ref := prompt.Ref{Active: true}
	for _, tt := range []struct {
		name string
		read func(t *testing.T, f *prefetchTeam) (got, want foundVersion)
	}{
		{"after a change", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			ctx := f.prove(t, f.Member, f.id, ref)
			fixture.Activate(t, f.s, f.Member, f.id, prompt.Ref{Number: 1})
			want = f.read(t.Context(), t, f.Member, f.id, ref)
			return f.read(ctx, t, f.Member, f.id, ref), want
		}},
		{"by another caller", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			ctx := f.prove(t, f.Member, f.id, ref)
			want = f.read(t.Context(), t, f.Viewer, f.id, ref)
			return f.read(ctx, t, f.Viewer, f.id, ref), want
		}},
		{"in another workspace", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			by := f.Member
			by.Workspace = fixture.NewTeam(t, f.s, f.Org).Workspace.ID
			ctx := f.prove(t, f.Member, f.id, ref)
			return f.read(ctx, t, by, f.id, ref), foundVersion{}
		}},
		{"by another reference", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			ctx, other := f.prove(t, f.Member, f.id, ref), prompt.Ref{Number: 1}
			want = f.read(t.Context(), t, f.Member, f.id, other)
			return f.read(ctx, t, f.Member, f.id, other), want
		}},
		{"of another template", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			other := fixture.Template(t, f.s, f.Member, prompt.Draft{Name: "Other"}).ID
			ctx := f.prove(t, f.Member, f.id, ref)
			want = f.read(t.Context(), t, f.Member, other, ref)
			return f.read(ctx, t, f.Member, other, ref), want
		}},
		{"by someone in a group, whose shares count too", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			ctx, by := f.prove(t, f.Peer, f.id, ref), f.Peer
			by.Grouped = true
			want = f.read(t.Context(), t, by, f.id, ref)
			return f.read(ctx, t, by, f.id, ref), want
		}},
		{"in a transaction", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			ctx := f.prove(t, f.Member, f.id, ref)
			err := f.s.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				inside := *f
				inside.s = tx
				fixture.Activate(t, tx, f.Member, f.id, prompt.Ref{Number: 1})
				got = inside.read(ctx, t, f.Member, f.id, ref)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return got, f.read(t.Context(), t, f.Member, f.id, ref)
		}},
		{"a second time", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			ctx := f.prove(t, f.Member, f.id, ref)
			want = f.read(ctx, t, f.Member, f.id, ref)
			return f.read(ctx, t, f.Member, f.id, ref), want
		}},
		{"if there is no such template", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			const none = "ptpl_01jb4rqnx1e5btz2s1v2j9k3mn"
			return f.read(f.prove(t, f.Member, none, ref), t, f.Member, none, ref), foundVersion{}
		}},
		{"as the latest, which depends on the caller", func(t *testing.T, f *prefetchTeam) (got, want foundVersion) {
			latest := prompt.Ref{Latest: true}
			want = f.read(t.Context(), t, f.Member, f.id, latest)
			return f.read(f.prove(t, f.Member, f.id, latest), t, f.Member, f.id, latest), want
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, url string) {
				f := newPrefetchTeam(t, url)
				got, want := tt.read(t, f)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("read %+v %+v, want %+v %+v", got.reading, got.version, want.reading, want.version)
				}
				if len(f.sent.Take()) == 0 {
					t.Error("it was not read again")
				}
			})
		})
	}
}

func TestACallerWhoseNameHasTheSeparatorOfPackedRowsIsReadByColumns(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		f := newPrefetchTeam(t, url)
		const name = "a\x1fb"
		if err := sqlstore.Exec(t.Context(), f.db, `UPDATE users SET name = ? WHERE id = ?`, name,
			f.Member.User); err != nil {
			t.Fatal(err)
		}
		ref := prompt.Ref{Active: true}
		want := f.read(t.Context(), t, f.Member, f.id, ref)
		ctx := f.prove(t, f.Member, f.id, ref)
		if got := f.read(ctx, t, f.Member, f.id, ref); !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, want %+v", got, want)
		}
		k, _ := fixture.Key(t, f.s, f.Member, account.KeyDraft{Name: "k"})
		if p, err := f.s.Keys.Principal(t.Context(), f.Org, k.Hash); err != nil || p.User.Name != name {
			t.Errorf("principal = %+v, %v", p, err)
		}
	})
}

func TestAKeyOfADeletedWorkspaceIsRefusedWhateverSeparatorsANameHas(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		f := newPrefetchTeam(t, url)
		k, _ := fixture.Key(t, f.s, f.Member, account.KeyDraft{Name: "k"})
		set := func(query string, args ...any) {
			t.Helper()
			if err := sqlstore.Exec(t.Context(), f.db, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		set(`UPDATE workspaces SET deleted_at = 1 WHERE id = ?`, f.Workspace.ID)
		prefetching := context.WithValue(t.Context(), ports.VersionPrefetchKey{},
			&ports.VersionPrefetch{Template: f.id, Ref: prompt.Ref{Active: true}})
		for n := range 12 { // more than a workspace has columns
			set(`UPDATE users SET name = ? WHERE id = ?`, strings.Repeat("\x1f1", n), f.Member.User)
			for _, ctx := range []context.Context{t.Context(), prefetching} {
				if p, err := f.s.Keys.Principal(ctx, f.Org, k.Hash); !errors.Is(err, identity.ErrUnauthenticated) {
					t.Errorf("with %d separators: %+v, %v", n, p, err)
				}
			}
		}
	})
}

func TestAKeyOfAFormerMemberIsFoundByOneStatement(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		f := newPrefetchTeam(t, url)
		k, _ := fixture.Key(t, f.s, f.Member, account.KeyDraft{Name: "k"})
		if err := sqlstore.Exec(t.Context(), f.db, `DELETE FROM memberships WHERE user_id = ?`,
			f.Member.User); err != nil {
			t.Fatal(err)
		}
		f.sent.Take()
		p, err := f.s.Keys.Principal(t.Context(), f.Org, k.Hash)
		if err != nil || p.User.ID != f.Member.User || p.Membership.Role != identity.NoRole ||
			p.Membership.Workspace.ID != f.Workspace.ID || p.Membership.Grouped {
			t.Errorf("principal = %+v, %v", p, err)
		}
		if sent := f.sent.Take(); len(sent) != 1 {
			t.Errorf("%d statements: %v", len(sent), sent)
		}
	})
}
