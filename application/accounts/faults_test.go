package accounts_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// TestStoreFaults makes each call of each use case fail. The error is returned unchanged, and nothing
// else is called.
func TestStoreFaults(t *testing.T) {
	var (
		anything  = gomock.Any()
		token     = account.NewToken()
		provision = func(s *env) error {
			_, err := s.Provision(s.ctx, system, open, accounts.Provision{Email: "new@example.com", Role: identity.Member, Workspace: "acme-slug", KeyName: "k"})
			return err
		}
		found        = func(s *env) { s.workspaces.EXPECT().Find(s.ctx, anything, anything).Return(&here, nil) }
		added        = func(s *env) { s.users.EXPECT().Add(s.ctx, anything, anything).Return(nil) }
		addKey       = func(s *env) { s.keys.EXPECT().Add(s.ctx, anything, anything, anything).Return(errOutage) }
		get          = func(s *env) { s.users.EXPECT().Get(s.ctx, anything, anything).Return(nil, nil, errOutage) }
		getWorkspace = func(s *env) { s.workspaces.EXPECT().Get(s.ctx, anything, anything).Return(nil, errOutage) }
		byEmail      = func(s *env) { s.users.EXPECT().FindByEmail(s.ctx, anything, anything).Return(nil, nil, errOutage) }
		nobody       = func(s *env) {
			s.users.EXPECT().FindByEmail(s.ctx, anything, anything).Return(nil, nil, account.ErrUserNotFound)
		}
		inviting = invitationToken(t)
		update   = func(s *env) {
			s.workspaces.EXPECT().Update(s.ctx, anything, anything, anything, anything).Return(nil, errOutage)
		}
		serviceKey = func(s *env) error {
			_, _, err := s.CreateServiceKey(s.ctx, admin, open, account.KeyDraft{Name: "k", Ceiling: identity.Viewer})
			return err
		}
		keyFor = func(s *env) error {
			_, _, err := s.KeyFor(s.ctx, system, open, "ann@example.com", "acme", account.KeyDraft{Name: "k"})
			return err
		}
	)
	for name, tt := range map[string]struct {
		fail func(*testing.T, *env)
		call func(*env) error
	}{
		"Authenticate": {
			func(_ *testing.T, s *env) {
				s.keys.EXPECT().Principal(s.ctx, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { _, err := s.Authenticate(s.ctx, open, token.Reveal(), now); return err },
		},
		"Me":   {func(_ *testing.T, s *env) { get(s) }, func(s *env) error { _, _, err := s.Me(s.ctx, member); return err }},
		"Find": {func(_ *testing.T, s *env) { byEmail(s) }, func(s *env) error { _, _, err := s.Find(s.ctx, system, "x"); return err }},
		"ChangeMe": {
			func(_ *testing.T, s *env) {
				s.users.EXPECT().Update(s.ctx, anything, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { _, err := s.ChangeMe(s.ctx, member, nil, account.UserChanges{}); return err },
		},
		"Workspace": {func(_ *testing.T, s *env) { getWorkspace(s) }, func(s *env) error { _, err := s.Workspace(s.ctx, member, "acme"); return err }},
		"Keys": {
			func(_ *testing.T, s *env) {
				s.keys.EXPECT().List(s.ctx, anything, anything, anything, anything).Return(account.KeyPage{}, errOutage)
			},
			func(s *env) error { _, err := s.Keys(s.ctx, member, page.Query{}); return err },
		},
		"Key": {
			func(_ *testing.T, s *env) { s.keys.EXPECT().Get(s.ctx, anything, anything).Return(nil, errOutage) },
			func(s *env) error { _, err := s.Key(s.ctx, member, "k"); return err },
		},
		"CreateKey": {
			func(_ *testing.T, s *env) { addKey(s) },
			func(s *env) error {
				_, _, err := s.CreateKey(s.ctx, member, open, account.KeyDraft{Name: "k"})
				return err
			},
		},
		"RevokeKey": {
			func(_ *testing.T, s *env) {
				s.keys.EXPECT().Update(s.ctx, anything, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { return s.RevokeKey(s.ctx, member, "k", nil) },
		},
		"RevokeKeyOf, looking for the workspace": {
			func(_ *testing.T, s *env) {
				s.workspaces.EXPECT().Find(s.ctx, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { return s.RevokeKeyOf(s.ctx, system, "acme", "k") },
		},
		"RevokeKeyOf": {
			func(_ *testing.T, s *env) {
				found(s)
				s.keys.EXPECT().Update(s.ctx, anything, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { return s.RevokeKeyOf(s.ctx, system, "acme", "k") },
		},
		"Events": {
			func(_ *testing.T, s *env) {
				s.events.EXPECT().List(s.ctx, anything, anything, anything).Return(event.Page{}, errOutage)
			},
			func(s *env) error { _, err := s.Events(s.ctx, admin, event.Filter{}, page.Query{}); return err },
		},
		"KeyFor, looking for the person": {func(_ *testing.T, s *env) { byEmail(s) }, keyFor},
		"KeyFor": {
			func(_ *testing.T, s *env) {
				s.users.EXPECT().FindByEmail(s.ctx, anything, anything).Return(&account.User{ID: "ann"}, []account.Membership{{Workspace: here, Role: identity.Member}}, nil)
				addKey(s)
			},
			keyFor,
		},
		"Provision, beginning": {
			func(_ *testing.T, s *env) { s.atomic.EXPECT().Atomically(s.ctx, anything).Return(errOutage) }, provision,
		},
		"Provision, looking for the workspace": {
			func(t *testing.T, s *env) {
				s.expectAtomically(t, 1).workspaces.EXPECT().Find(s.ctx, anything, anything).Return(nil, errOutage)
			},
			provision,
		},
		"Provision, looking for the person": {
			func(t *testing.T, s *env) {
				tx := s.expectAtomically(t, 1)
				found(tx)
				byEmail(tx)
			},
			provision,
		},
		"Provision, letting a known person in": {
			func(t *testing.T, s *env) {
				tx := s.expectAtomically(t, 1)
				found(tx)
				tx.users.EXPECT().FindByEmail(s.ctx, anything, anything).Return(&account.User{ID: "ann"}, nil, nil)
				update(tx)
			},
			provision,
		},
		"Provision, adding the person": {
			func(t *testing.T, s *env) {
				tx := s.expectAtomically(t, 1)
				found(tx)
				nobody(tx)
				tx.users.EXPECT().Add(s.ctx, anything, anything).Return(errOutage)
			},
			provision,
		},
		"Provision, adding the key": {
			func(t *testing.T, s *env) {
				tx := s.expectAtomically(t, 1)
				found(tx)
				nobody(tx)
				added(tx)
				addKey(tx)
			},
			provision,
		},
		"CreateWorkspace": {
			func(_ *testing.T, s *env) { s.workspaces.EXPECT().Add(s.ctx, anything).Return(errOutage) },
			func(s *env) error {
				_, err := s.CreateWorkspace(s.ctx, member, &identity.Org{}, "fresh", "")
				return err
			},
		},
		"ChangeWorkspace": {
			func(_ *testing.T, s *env) { update(s) },
			func(s *env) error {
				_, err := s.ChangeWorkspace(s.ctx, admin, &identity.Org{}, "acme", nil, account.WorkspaceChanges{})
				return err
			},
		},
		"DeleteWorkspace": {
			func(t *testing.T, s *env) { update(s.expectAtomically(t, 1)) },
			func(s *env) error { return s.DeleteWorkspace(s.ctx, admin, "acme", nil) },
		},
		"RestoreWorkspace, looking for it": {
			func(_ *testing.T, s *env) {
				s.workspaces.EXPECT().Find(s.ctx, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { _, err := s.RestoreWorkspace(s.ctx, system, "acme-slug"); return err },
		},
		"RestoreWorkspace": {
			func(_ *testing.T, s *env) { found(s); update(s) },
			func(s *env) error { _, err := s.RestoreWorkspace(s.ctx, system, "acme-slug"); return err },
		},
		"Members, looking for the workspace": {
			func(_ *testing.T, s *env) { getWorkspace(s) },
			func(s *env) error { _, err := s.Members(s.ctx, member, "acme", page.Query{}); return err },
		},
		"Members": {
			func(_ *testing.T, s *env) {
				s.expectGetWorkspace(member)
				s.workspaces.EXPECT().Members(s.ctx, anything, anything, anything).Return(account.MemberPage{}, errOutage)
			},
			func(s *env) error { _, err := s.Members(s.ctx, member, "acme", page.Query{}); return err },
		},
		"ChangeMember": {
			func(_ *testing.T, s *env) { update(s) },
			func(s *env) error {
				_, err := s.ChangeMember(s.ctx, admin, "acme", "ann", nil, identity.Viewer)
				return err
			},
		},
		"RemoveMember": {
			func(_ *testing.T, s *env) { update(s) },
			func(s *env) error { return s.RemoveMember(s.ctx, admin, "acme", "ann", nil, false) },
		},
		"Invitations, looking for the workspace": {
			func(_ *testing.T, s *env) { getWorkspace(s) },
			func(s *env) error { _, err := s.Invitations(s.ctx, admin, "acme", page.Query{}); return err },
		},
		"Invitations": {
			func(_ *testing.T, s *env) {
				s.expectGetWorkspace(admin)
				s.invitations.EXPECT().List(s.ctx, anything, anything, anything).Return(account.InvitationPage{}, errOutage)
			},
			func(s *env) error { _, err := s.Invitations(s.ctx, admin, "acme", page.Query{}); return err },
		},
		"Invite": {
			func(t *testing.T, s *env) {
				s.expectAtomically(t, 1).invitations.EXPECT().Invite(s.ctx, anything, anything, anything, anything).Return(errOutage)
			},
			func(s *env) error {
				_, err := s.Invite(s.ctx, admin, organisation(), "acme", email, identity.Viewer)
				return err
			},
		},
		"Withdraw": {
			func(t *testing.T, s *env) {
				s.expectAtomically(t, 1).invitations.EXPECT().Update(s.ctx, anything, anything, anything, anything).Return(errOutage)
			},
			func(s *env) error { return s.Withdraw(s.ctx, admin, "acme", "inv", nil) },
		},
		"Withdraw, looking for chats": {
			func(t *testing.T, s *env) {
				tx := s.expectAtomically(t, 1)
				tx.invitations.EXPECT().Update(s.ctx, anything, anything, anything, anything).Return(nil)
				tx.chats.EXPECT().Invited(s.ctx, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { return s.Withdraw(s.ctx, admin, "acme", "inv", nil) },
		},
		"Withdraw, changing a chat": {
			func(t *testing.T, s *env) {
				tx := s.expectAtomically(t, 1)
				tx.invitations.EXPECT().Update(s.ctx, anything, anything, anything, anything).Return(nil)
				tx.chats.EXPECT().Invited(s.ctx, anything, anything).Return([]chat.ID{"ctpl"}, nil)
				tx.chats.EXPECT().UpdateFor(s.ctx, anything, anything, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error { return s.Withdraw(s.ctx, admin, "acme", "inv", nil) },
		},
		"AcceptInvitation": {
			func(t *testing.T, s *env) {
				s.invitations.EXPECT().Workspace(s.ctx, anything, anything).Return(identity.WorkspaceID("acme"), nil)
				s.expectAtomically(t, 1).invitations.EXPECT().Accept(s.ctx, anything, anything, anything).Return(errOutage)
			},
			func(s *env) error {
				_, err := s.AcceptInvitation(s.ctx, member, inviting.Reveal())
				return err
			},
		},
		"AcceptInvitation, looking for the workspace": {
			func(_ *testing.T, s *env) {
				s.invitations.EXPECT().Workspace(s.ctx, anything, anything).Return(identity.WorkspaceID(""), errOutage)
			},
			func(s *env) error {
				_, err := s.AcceptInvitation(s.ctx, member, inviting.Reveal())
				return err
			},
		},
		"SignIn, looking for the person": {
			func(_ *testing.T, s *env) {
				s.users.EXPECT().SignedIn(s.ctx, anything, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error {
				_, _, err := s.SignIn(s.ctx, system, &identity.Org{}, account.Claims{})
				return err
			},
		},
		"SignIn": {
			func(_ *testing.T, s *env) {
				s.users.EXPECT().SignedIn(s.ctx, anything, anything, anything).Return(nil, account.ErrUserNotFound)
				s.users.EXPECT().SignIn(s.ctx, anything, anything, anything).Return(nil, errOutage)
			},
			func(s *env) error {
				_, _, err := s.SignIn(s.ctx, system, &identity.Org{}, account.Claims{})
				return err
			},
		},
		"LinkSignIn": {
			func(_ *testing.T, s *env) {
				s.users.EXPECT().Link(s.ctx, anything, anything, anything, anything, anything).Return(errOutage)
			},
			func(s *env) error {
				_, err := s.LinkSignIn(s.ctx, system, &identity.Org{Issuers: []identity.Issuer{{URL: "issuer"}}}, email, "issuer", "sub")
				return err
			},
		},
		"CreateServiceKey": {func(_ *testing.T, s *env) { addKey(s) }, serviceKey},
		"RotateKey": {
			func(_ *testing.T, s *env) {
				s.keys.EXPECT().Rotate(s.ctx, anything, anything, anything).Return(errOutage)
			},
			func(s *env) error { _, _, err := s.RotateKey(s.ctx, member, open, "k", nil, 0); return err },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			tt.fail(t, s)
			if err := tt.call(s); err != errOutage {
				t.Errorf("error = %v, want the store's own", err)
			}
		})
	}
}
