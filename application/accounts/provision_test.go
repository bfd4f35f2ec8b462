package accounts_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestProvision(t *testing.T) {
	ask := accounts.Provision{Email: "new@example.com", Verified: true, Name: "New", Role: identity.Owner,
		Operator: true, Workspace: "acme-slug", KeyName: "first"}
	nobody := func(s, tx *env, times int) {
		tx.users.EXPECT().FindByEmail(s.ctx, identity.OrgID("org"), gomock.Any()).Return(nil, nil,
			account.ErrUserNotFound).MaxTimes(times)
	}
	for name, found := range map[string]*account.Workspace{"in a workspace that is there": &here,
		"in one that is made": nil} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			tx := s.expectAtomically(t, 2) // the second run must not depend on the first
			var u *account.User
			var k *account.Key
			workspace := found
			if found == nil {
				tx.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "acme-slug").Return(nil,
					identity.ErrWorkspaceNotFound).Times(2)
				tx.workspaces.EXPECT().Add(s.ctx,
					gomock.Any()).Do(func(_ context.Context, w *account.Workspace) { workspace = w }).Times(2)
			} else {
				tx.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "acme-slug").Return(found, nil).Times(2)
			}
			nobody(s, tx, 2)
			tx.users.EXPECT().Add(s.ctx, gomock.Any()).
				Do(func(_ context.Context, user *account.User) { u = user }).Times(2)
			var joinedWorkspace *account.Workspace
			tx.expectAdmits(&joinedWorkspace, 2)
			tx.keys.EXPECT().Add(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, by identity.Actor, user identity.UserID,
					change func(*account.Workspace) (*account.User, *account.Key, error)) (err error) {
					w := acme()
					w.ID, w.Members = by.Workspace, joinedWorkspace.Members
					_, k, err = change(w)
					return err
				}).Times(2)
			got, err := s.Provision(s.ctx, system, open, ask)
			require.NoError(t, err)
			if u.Email != ask.Email || !u.EmailVerified || u.Name != "New" || !u.Operator {
				t.Errorf("user %+v", u)
			}
			additions := joinedWorkspace.Recorded()
			if m := joinedWorkspace.Members[u.ID]; joinedWorkspace.ID != workspace.ID || m.Role != identity.Owner ||
				m.ByHand != identity.Owner || len(additions) != 1 || additions[0].Type != "member.added" ||
				additions[0].Data["user_id"] != u.ID {
				t.Errorf("member %+v of %s, recorded %+v", m, joinedWorkspace.ID, additions)
			}
			if found == nil && (workspace.Slug != "acme-slug" || len(workspace.Recorded()) != 1) {
				t.Errorf("workspace %+v", workspace)
			}
			if k.User != u.ID || k.Workspace != workspace.ID || k.Ceiling != identity.Owner || k.Name != "first" {
				t.Errorf("key %+v", k)
			}
			if got.User != u.ID || got.Workspace != k.Workspace || got.Token.Hash() != k.Hash {
				t.Errorf("Provision = %s, %s: not what was stored last", got.User, got.Workspace)
			}
		})
	}
	t.Run("an address that no one vouches for is not verified", func(t *testing.T) {
		s := newEnv(t)
		tx := s.expectAtomically(t, 1)
		tx.workspaces.EXPECT().Find(s.ctx, gomock.Any(), gomock.Any()).Return(&here, nil)
		nobody(s, tx, 1)
		var u *account.User
		tx.users.EXPECT().Add(s.ctx, gomock.Any()).Do(func(_ context.Context, user *account.User) { u = user })
		tx.expectAdmits(new(*account.Workspace), 1)
		tx.keys.EXPECT().Add(s.ctx, gomock.Any(), gomock.Any(), gomock.Any())
		p := ask
		p.Verified = false
		if _, err := s.Provision(s.ctx, system, open, p); err != nil || u.EmailVerified {
			t.Errorf("user %+v, %v", u, err)
		}
	})
	t.Run("a person who is known joins, and is made operator if asked", func(t *testing.T) {
		for _, operator := range []bool{false, true} {
			s := newEnv(t)
			tx := s.expectAtomically(t, 1)
			user := &account.User{ID: "ann", Org: "org", Email: "new@example.com"}
			tx.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "acme-slug").Return(&here, nil)
			tx.users.EXPECT().FindByEmail(s.ctx, identity.OrgID("org"), "new@example.com").Return(user, nil, nil)
			tx.users.EXPECT().Update(s.ctx, identity.OrgID("org"), user.ID, gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.OrgID, _ identity.UserID,
					change func(*account.User, []account.Membership) error) (*account.User, error) {
					return user, change(user, nil)
				}).MaxTimes(1)
			var ws *account.Workspace
			tx.expectAdmits(&ws, 1)
			tx.keys.EXPECT().Add(s.ctx, gomock.Any(), identity.UserID("ann"), gomock.Any())
			p := ask
			p.Role, p.Operator = identity.Viewer, operator
			got, err := s.Provision(s.ctx, system, open, p)
			require.NoError(t, err)
			if m := ws.Members["ann"]; got.User != "ann" || m.Role != identity.Viewer || m.ByHand != identity.Viewer ||
				user.Operator != operator {
				t.Errorf("got %+v, member %+v, operator %v", got, m, user.Operator)
			}
		}
	})
	t.Run("no one can join a deleted workspace", func(t *testing.T) {
		s := newEnv(t)
		goneWorkspace := here
		goneWorkspace.DeletedAt = now
		s.expectAtomically(t, 1).workspaces.EXPECT().Find(s.ctx, gomock.Any(), gomock.Any()).Return(&goneWorkspace, nil)
		_, err := s.Provision(s.ctx, system, open, ask)
		require.ErrorIs(t, err, identity.ErrWorkspaceNotFound)
	})
	for name, tt := range map[string]struct {
		change func(*accounts.Provision)
		field  string
	}{
		"no address":                     {func(p *accounts.Provision) { p.Email = "nobody" }, "/email"},
		"no slug":                        {func(p *accounts.Provision) { p.Workspace = "No Slug" }, "/slug"},
		"no name for the key":            {func(p *accounts.Provision) { p.KeyName = "" }, "/name"},
		"a name that is too long":        {func(p *accounts.Provision) { p.Name = strings.Repeat("x", 121) }, "/name"},
		"a first person who is no owner": {func(p *accounts.Provision) { p.Role = identity.Admin }, "/role"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			s := newEnv(t)
			tx := s.expectAtomically(t, 1)
			tx.workspaces.EXPECT().Find(s.ctx, gomock.Any(), gomock.Any()).Return(nil, identity.ErrWorkspaceNotFound)
			tx.workspaces.EXPECT().Add(s.ctx, gomock.Any()).Return(nil).MaxTimes(1)
			nobody(s, tx, 1)
			tx.users.EXPECT().Add(s.ctx, gomock.Any()).Return(nil).MaxTimes(1)
			tx.expectAdmits(new(*account.Workspace), 1)
			tx.keys.EXPECT().Add(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, by identity.Actor, user identity.UserID,
					change func(*account.Workspace) (*account.User, *account.Key, error)) error {
					w := acme()
					w.Members[user] = account.Member{User: user, Role: identity.Admin}
					_, _, err := change(w)
					return err
				}).MaxTimes(1)
			p := ask
			tt.change(&p)
			_, err := s.Provision(s.ctx, system, open, p)
			if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 1 || f.Fields[0].Pointer != tt.field {
				t.Errorf("error = %+v, want one about %s", err, tt.field)
			}
		})
	}
}

// expectAdmits runs changes of workspaces without members, up to some times, and records the last one.
func (s *env) expectAdmits(changedWorkspace **account.Workspace, maximum int) {
	s.workspaces.EXPECT().Update(s.ctx, gomock.Any(), gomock.Any(), gomock.Len(1), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, ws identity.WorkspaceID, _ []identity.UserID,
			change func(*account.Workspace) error) (*account.Workspace, error) {
			*changedWorkspace = &account.Workspace{ID: ws, Org: "org", Members: map[identity.UserID]account.Member{}}
			return *changedWorkspace, change(*changedWorkspace)
		}).MaxTimes(maximum)
}

func TestKeyFor(t *testing.T) {
	memberships := []account.Membership{{Workspace: here, Role: identity.Viewer},
		{Workspace: there, Role: identity.Admin}}
	for name, tt := range map[string]struct {
		workspace string
		d         account.KeyDraft
		ceiling   identity.Role
		want      error
	}{
		"by the workspace's slug, with the person's role": {"other-slug", account.KeyDraft{Name: "k"},
			identity.Admin, nil},
		"by its id": {"other", account.KeyDraft{Name: "k"}, identity.Admin, nil},
		"with a lower ceiling": {"other", account.KeyDraft{Name: "k", Ceiling: identity.Viewer},
			identity.Viewer, nil},
		"in none of the person's": {"third", account.KeyDraft{Name: "k"}, 0, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.users.EXPECT().FindByEmail(s.ctx, identity.OrgID("org"),
				"ann@example.com").Return(&account.User{ID: "ann"}, memberships, nil)
			var row *account.Key
			var bearer *account.User
			if tt.want == nil {
				by := system
				by.Workspace = "other"
				s.expectAddKey(by, "ann", &bearer, &row)
			}
			k, token, err := s.KeyFor(s.ctx, system, open, "ann@example.com", tt.workspace, tt.d)
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && (k != row || k.Hash != token.Hash() || k.User != "ann" || k.Workspace != "other" ||
				k.Ceiling != tt.ceiling) {
				t.Errorf("KeyFor = %+v", k)
			}
		})
	}
}
