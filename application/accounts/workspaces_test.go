package accounts_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	owner    = actor("bob", identity.Owner)
	stranger = actor("eve", identity.NoRole)
)

// acme returns a new copy of the workspace with an owner, an admin and a member, as a store loads it
// each time.
func acme() *account.Workspace {
	w := here
	w.Revision, w.Owners = 3, 1
	w.Members = map[identity.UserID]account.Member{
		"bob": {User: "bob", Role: identity.Owner, Revision: 5},
		"ada": {User: "ada", Role: identity.Admin, Revision: 5},
		"ann": {User: "ann", Role: identity.Member, Revision: 5},
	}
	return &w
}

// expectUpdateWorkspace runs a change twice, on fresh workspaces, as stores do after a conflict.
func (s *env) expectUpdateWorkspace(by identity.Actor, extra []identity.UserID, load func() *account.Workspace,
	current **account.Workspace) {
	s.workspaces.EXPECT().Update(s.ctx, by, identity.WorkspaceID("acme"), extra, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ []identity.UserID,
			change func(*account.Workspace) error) (w *account.Workspace, err error) {
			for range 2 {
				w = load()
				*current = w
				if err := change(w); err != nil {
					return nil, err
				}
			}
			return w, nil
		})
}

// expectGetWorkspace returns acme with the membership of by only.
func (s *env) expectGetWorkspace(by identity.Actor) {
	w := acme()
	maps.DeleteFunc(w.Members, func(user identity.UserID, _ account.Member) bool { return user != by.User })
	s.workspaces.EXPECT().Get(s.ctx, by, identity.WorkspaceID("acme")).Return(w, nil)
}

func TestCreateWorkspace(t *testing.T) {
	t.Run("what is answered is what was stored, owned by the caller", func(t *testing.T) {
		s := newEnv(t)
		var row *account.Workspace
		s.workspaces.EXPECT().Add(s.ctx, gomock.Any()).Do(func(_ context.Context, w *account.Workspace) { row = w })
		w, err := s.CreateWorkspace(s.ctx, member, &identity.Org{}, "fresh", "New")
		if err != nil || w != row || w.Slug != "fresh" || w.Name != "New" ||
			w.Members["ann"].Role != identity.Owner {
			t.Fatalf("CreateWorkspace = %+v, %v", w, err)
		}
	})
	t.Run("a slug that is made of the name gives way to those that are there", func(t *testing.T) {
		s := newEnv(t)
		var attempts []string
		s.workspaces.EXPECT().Add(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, w *account.Workspace) error {
			if attempts = append(attempts, w.Slug); len(attempts) < 5 {
				return account.ErrSlugTaken
			}
			return nil
		}).Times(5)
		w, err := s.CreateWorkspace(s.ctx, member, &identity.Org{}, "", "Our Team")
		if err != nil || w.Slug != attempts[4] || w.Name != "Our Team" ||
			!slices.Equal(attempts[:4], []string{"our-team", "our-team-2", "our-team-3", "our-team-4"}) {
			t.Errorf("tried %q: %+v, %v", attempts, w, err)
		}
	})
	t.Run("but not for ever, and one that is given not at all", func(t *testing.T) {
		s := newEnv(t)
		s.workspaces.EXPECT().Add(s.ctx, gomock.Any()).Return(account.ErrSlugTaken).Times(6)
		_, err := s.CreateWorkspace(s.ctx, member, &identity.Org{}, "", "Our Team")
		require.ErrorIs(t, err, account.ErrSlugTaken)
		s.workspaces.EXPECT().Add(s.ctx, gomock.Any()).Return(account.ErrSlugTaken)
		_, err = s.CreateWorkspace(s.ctx, member, &identity.Org{}, "our-team", "Our Team")
		require.ErrorIs(t, err, account.ErrSlugTaken)
	})
	t.Run("a slug that the org's rules name is not the caller's to take", func(t *testing.T) {
		s := newEnv(t)
		org := &identity.Org{
			ClaimRules: []identity.ClaimRule{{Claim: "groups", Value: "x", Workspace: "fresh", Role: identity.Viewer}}}
		_, err := s.CreateWorkspace(s.ctx, member, org, "fresh", "New")
		require.ErrorIs(t, err, account.ErrSlugTaken)
		var current *account.Workspace
		tx := s.expectAtomically(t, 1)
		tx.expectUpdateWorkspace(admin, nil, acme, &current)
		_, err = s.ChangeWorkspace(s.ctx, admin, org, "acme", nil,
			account.WorkspaceChanges{Slug: new("fresh"), Name: new("New")})
		require.ErrorIs(t, err, account.ErrSlugTaken)
	})
	t.Run("what breaks a rule is not stored", func(t *testing.T) {
		s := newEnv(t)
		by := member
		by.Ceiling = identity.Member
		_, err := s.CreateWorkspace(s.ctx, by, &identity.Org{}, "fresh", "New")
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
}

func TestChangeWorkspace(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"an admin renames it":        {admin, revision.Match{3}, nil},
		"another revision was meant": {admin, revision.Match{2}, revision.ErrMismatch},
		"a member may not":           {member, nil, identity.ErrForbidden},
		"a stranger is told nothing": {stranger, nil, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var result *account.Workspace
			tx := s.expectAtomically(t, 1)
			tx.expectUpdateWorkspace(tt.by, nil, acme, &result)
			if tt.want == nil {
				tx.expectFollowed("acme")
			}
			w, err := s.ChangeWorkspace(s.ctx, tt.by, &identity.Org{}, "acme", tt.at,
				account.WorkspaceChanges{Name: new("New")})
			require.ErrorIs(t, err, tt.want)
			if (tt.want == nil && (w != result || w.Name != "New" || w.Revision != 4)) || (tt.want != nil && w != nil) {
				t.Errorf("ChangeWorkspace = %+v", w)
			}
		})
	}
}

func TestDeleteWorkspace(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"an owner deletes it":        {owner, revision.Match{3}, nil},
		"another revision was meant": {owner, revision.Match{2}, revision.ErrMismatch},
		"an admin may not":           {admin, nil, identity.ErrForbidden},
		"a stranger is told nothing": {stranger, nil, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			tx := s.expectAtomically(t, 1)
			var current *account.Workspace
			tx.expectUpdateWorkspace(tt.by, nil, acme, &current)
			if tt.want == nil {
				tx.connections.EXPECT().Live(s.ctx, identity.WorkspaceID("acme")).Return(0, nil)
				tx.payments.EXPECT().Live(s.ctx, identity.WorkspaceID("acme"), "sandbox").Return(0, nil)
			}
			require.ErrorIs(t, s.DeleteWorkspace(s.ctx, tt.by, "acme", tt.at), tt.want)
			if current.DeletedAt.IsZero() == (tt.want == nil) {
				t.Errorf("workspace %+v", current)
			}
		})
	}
}

func TestAWorkspaceWithASubscriptionIsNotDeleted(t *testing.T) {
	for name, tt := range map[string]struct {
		live int
		err  error
		want error
	}{
		"one is enough":                {1, nil, account.ErrWorkspaceInUse},
		"nor if the number is unknown": {0, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			tx := s.expectAtomically(t, 1)
			var current *account.Workspace
			tx.expectUpdateWorkspace(owner, nil, acme, &current)
			tx.connections.EXPECT().Live(s.ctx, identity.WorkspaceID("acme")).Return(0, nil)
			tx.payments.EXPECT().Live(s.ctx, identity.WorkspaceID("acme"), "sandbox").Return(tt.live, tt.err)
			require.ErrorIs(t, s.DeleteWorkspace(s.ctx, owner, "acme", nil), tt.want)
		})
	}
}

func TestCheckoutPagesEndBeforeAWorkspaceIsDeleted(t *testing.T) {
	for name, tt := range map[string]struct {
		ended bool
		err   error
		want  error
	}{
		"it is deleted when they have ended":         {true, nil, nil},
		"not if a payer has subscribed":              {false, nil, account.ErrWorkspaceInUse},
		"nor if the gateway does not say they ended": {false, errOutage, account.ErrWorkspaceInUse},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			live := 1
			s.endCheckouts = func(_ context.Context, by identity.Actor) (bool, error) {
				if by.User != "" || by.Workspace != "acme" {
					t.Errorf("%+v", by)
				}
				live = 0
				return tt.ended, tt.err
			}
			tries := 1
			if tt.ended {
				tries = 2
			}
			var current *account.Workspace
			for range tries {
				tx := s.expectAtomically(t, 1)
				tx.expectUpdateWorkspace(owner, nil, acme, &current)
				tx.connections.EXPECT().Live(s.ctx, identity.WorkspaceID("acme")).Return(0, nil)
				tx.payments.EXPECT().Live(s.ctx, identity.WorkspaceID("acme"), "sandbox").DoAndReturn(
					func(context.Context, identity.WorkspaceID, string) (int, error) { return live, nil })
			}
			require.ErrorIs(t, s.DeleteWorkspace(s.ctx, owner, "acme", nil), tt.want)
		})
	}
}

func TestAWorkspaceWithLiveConnectionsIsNotDeleted(t *testing.T) {
	for name, tt := range map[string]struct {
		live int
		err  error
		want error
	}{
		"one is enough":                {1, nil, account.ErrWorkspaceInUse},
		"nor if the number is unknown": {0, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			tx := s.expectAtomically(t, 1)
			var current *account.Workspace
			tx.expectUpdateWorkspace(owner, nil, acme, &current)
			tx.connections.EXPECT().Live(s.ctx, identity.WorkspaceID("acme")).Return(tt.live, tt.err)
			require.ErrorIs(t, s.DeleteWorkspace(s.ctx, owner, "acme", nil), tt.want)
		})
	}
}

func TestRestoreWorkspace(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		ago  time.Duration
		want error
	}{
		"the system brings it back":     {system, time.Hour, nil},
		"but not after its time":        {system, account.RestoreWithin + 1, identity.ErrWorkspaceNotFound},
		"no person does, an owner even": {owner, time.Hour, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			remove := func() *account.Workspace {
				w := acme()
				w.DeletedAt = now.Add(-tt.ago)
				return w
			}
			s.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "acme-slug").Return(remove(), nil)
			var current *account.Workspace
			s.expectUpdateWorkspace(tt.by, nil, remove, &current)
			w, err := s.RestoreWorkspace(s.ctx, tt.by, "acme-slug")
			require.ErrorIs(t, err, tt.want)
			if current.DeletedAt.IsZero() != (tt.want == nil) || (tt.want == nil && w != current) {
				t.Errorf("RestoreWorkspace = %+v", w)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	q := page.Query{Limit: 5}
	t.Run("every member lists them", func(t *testing.T) {
		s := newEnv(t)
		want := account.MemberPage{Items: []account.Member{{User: "ann"}}, Next: "n"}
		s.expectGetWorkspace(member)
		s.workspaces.EXPECT().Members(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme"), q).Return(want, nil)
		if got, err := s.Members(s.ctx, member, "acme", q); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Members = %+v, %v", got, err)
		}
	})
	t.Run("a stranger's question reaches no list", func(t *testing.T) {
		s := newEnv(t)
		s.expectGetWorkspace(stranger)
		_, err := s.Members(s.ctx, stranger, "acme", q)
		require.ErrorIs(t, err, identity.ErrWorkspaceNotFound)
	})
}

func TestChangeMember(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		user identity.UserID
		at   revision.Match
		to   identity.Role
		want error
	}{
		"an admin makes an admin":    {admin, "ann", revision.Match{5}, identity.Admin, nil},
		"another revision was meant": {admin, "ann", revision.Match{3}, identity.Admin, revision.ErrMismatch},
		"but no owner":               {admin, "ann", nil, identity.Owner, identity.ErrRoleCeiling},
		"a member may not":           {member, "ann", nil, identity.Viewer, identity.ErrForbidden},
		"the last owner stays":       {owner, "bob", nil, identity.Admin, account.ErrLastOwner},
		"who is none":                {owner, "eve", nil, identity.Admin, account.ErrMemberNotFound},
		"a stranger is told nothing": {stranger, "ann", nil, identity.Viewer, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var next *account.Workspace
			tx := s.expectAtomically(t, 1)
			tx.expectUpdateWorkspace(tt.by, []identity.UserID{tt.user}, acme, &next)
			if tt.want == nil {
				tx.expectFollowed("acme")
			}
			m, _, err := s.ChangeMember(s.ctx, tt.by, "acme", tt.user, tt.at, tt.to, false)
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && (!reflect.DeepEqual(m, next.Members[tt.user]) || m.Role != tt.to || m.Revision != 6) {
				t.Errorf("ChangeMember = %+v", m)
			}
			if tt.want != nil && !reflect.DeepEqual(next.Members[tt.user], acme().Members[tt.user]) {
				t.Errorf("member %+v", next.Members[tt.user])
			}
		})
	}
}

func TestRemoveMember(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		user identity.UserID
		at   revision.Match
		want error
	}{
		"an admin removes a member":     {admin, "ann", revision.Match{5}, nil},
		"a member leaves":               {member, "ann", nil, nil},
		"another revision was meant":    {admin, "ann", revision.Match{3}, revision.ErrMismatch},
		"a member cannot remove anyone": {member, "ada", nil, identity.ErrForbidden},
		"the last owner stays":          {owner, "bob", nil, account.ErrLastOwner},
		"a stranger is told nothing":    {stranger, "ann", nil, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var current *account.Workspace
			tx := s.expectAtomically(t, 1)
			tx.expectUpdateWorkspace(tt.by, []identity.UserID{tt.user}, acme, &current)
			if tt.want == nil {
				tx.expectFollowed("acme")
			}
			_, err := s.RemoveMember(s.ctx, tt.by, "acme", tt.user, tt.at, false)
			require.ErrorIs(t, err, tt.want)
			if (current.Members[tt.user].Role == identity.NoRole) != (tt.want == nil) {
				t.Errorf("member %+v", current.Members[tt.user])
			}
		})
	}
}
