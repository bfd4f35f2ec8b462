package chats_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMembers(t *testing.T) {
	q, want := page.Query{Limit: 5}, chat.MemberPage{Items: []chat.Member{{User: "ann"}}, Next: "n"}
	s := newMocked(t)
	s.expectGet(viewer)
	s.lists.EXPECT().Members(s.ctx, identity.WorkspaceID("acme"), chat.ID("ctpl"), q).Return(want, nil)
	if got, err := s.Members(s.ctx, viewer, "ctpl", q); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("Members = %+v, %v", got, err)
	}
	s.expectGet(stranger)
	_, err := s.Members(s.ctx, stranger, "ctpl", q)
	require.ErrorIs(t, err, chat.ErrNotFound)
	s.expectGet(viewer)
	s.lists.EXPECT().Member(s.ctx, identity.WorkspaceID("acme"), chat.ID("ctpl"), identity.UserID("ann")).
		Return(want.Items[0], nil)
	if got, err := s.Member(s.ctx, viewer, "ctpl", "ann"); err != nil || got != want.Items[0] {
		t.Errorf("Member = %+v, %v", got, err)
	}
	s.expectGet(stranger)
	_, err = s.Member(s.ctx, stranger, "ctpl", "ann")
	require.ErrorIs(t, err, chat.ErrNotFound)
}

func TestAddMember(t *testing.T) {
	for label, g := range map[string]chat.Grant{"by user id": {User: "sam", Role: access.Editor},
		"by address": {Email: "sam@example.com", Role: access.Editor}} {
		t.Run("a member of the workspace is active at once, "+label, func(t *testing.T) {
			s := newMocked(t)
			if g.Email != "" {
				s.expectMember("", g.Email, "sam")
			}
			var current *chat.Template
			s.expectUpdateFor(manager, []identity.UserID{"sam"}, &current)
			s.users.EXPECT().Get(s.ctx, identity.OrgID("org"), identity.UserID("sam")).Return(&account.User{ID: "sam",
				Email: "sam@example.com", Name: "Sam"}, nil, nil)
			got, err := s.AddMember(s.ctx, manager, organisation, "ctpl", g)
			require.NoError(t, err)
			if m := got.Member; m.User != "sam" || m.Email != "sam@example.com" || m.Name != "Sam" || m.Invited ||
				got.Invitation != nil || len(current.ChangedMembers) != 1 ||
				current.ChangedMembers[0].Role != access.Editor {
				t.Errorf("AddMember = %+v", got)
			}
		})
	}
	t.Run("a user who is no member of it is refused", func(t *testing.T) {
		s := newMocked(t)
		var current *chat.Template
		s.expectUpdateFor(manager, []identity.UserID{"usr"}, &current)
		_, err := s.AddMember(s.ctx, manager, organisation, "ctpl", chat.Grant{User: "usr", Role: access.Editor})
		require.ErrorIs(t, err, chat.ErrUserNotInWorkspace)
	})
}

// expectInvite expects that the workspace creates an invitation for an address, in place of pending if
// there is one.
func (s *mockedService) expectInvite(member identity.UserID, pending *account.Invitation, row **account.Invitation) {
	s.invitations.EXPECT().Invite(s.ctx, admin, identity.WorkspaceID("acme"), "guest@example.com",
		anything).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ string,
			change func(*account.Workspace, identity.UserID, *account.Invitation) (*account.Invitation, error)) (
			err error) {
			old := pending
			if pending != nil {
				old = new(*pending)
			}
			*row, err = change(acme(), member, old)
			return err
		}).MinTimes(1)
}

func TestInviteFromOutside(t *testing.T) {
	g := chat.Grant{Email: "guest@example.com", Role: access.Editor}
	t.Run("an admin's invitation reserves a user id for the guest", func(t *testing.T) {
		s := newMocked(t)
		s.expectMember("", g.Email, "")
		s.expectGet(admin)
		tx := s.expectAtomically(t)
		var invitation *account.Invitation
		var current *chat.Template
		tx.expectInvite("", nil, &invitation)
		tx.chats.EXPECT().UpdateFor(s.ctx, admin, chat.ID("ctpl"), anything, anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ chat.ID, extra []identity.UserID,
				change func(*chat.Template, []chat.Party) error) (*chat.Template, error) {
				if len(extra) != 1 || extra[0] != invitation.ID.Reserved() {
					t.Errorf("also %q", extra)
				}
				current = template()
				return current, change(current, []chat.Party{party(invitation.ID.Reserved())})
			}).Times(2)
		commit := s.expectEffect()
		got, err := s.AddMember(s.ctx, admin, organisation, "ctpl", g)
		require.NoError(t, err)
		if url := "https://acme.example.com/join/" + got.Token.Reveal(); got.AcceptURL != url || got.Mailed ||
			len(*s.mailed) > 0 {
			t.Errorf("before the commit: %+v, mailed %q", got, *s.mailed)
		}
		commit()
		if mails := []string{g.Email + " " + got.AcceptURL}; !got.Mailed || !slices.Equal(*s.mailed, mails) {
			t.Errorf("after the commit: %+v, mailed %q", got, *s.mailed)
		}
		m := got.Member
		if got.Invitation != invitation || invitation.Role != identity.Viewer || !invitation.Guest ||
			got.Token.Hash() != invitation.Hash || got.Workspace.ID != "acme" || got.Again {
			t.Errorf("AddMember = %+v, invitation %+v", got, invitation)
		}
		if m.User != invitation.ID.Reserved() || !m.Invited || m.Role != access.Editor || m.Email != g.Email ||
			!slices.Contains(current.ChangedMembers, m) {
			t.Errorf("member %+v", m)
		}
	})
	t.Run("who is invited already gets another link, and the new role", func(t *testing.T) {
		s := newMocked(t)
		s.expectMember("", g.Email, "")
		s.expectGet(admin)
		tx := s.expectAtomically(t)
		pending := &account.Invitation{ID: "inv_1", Org: "org", Workspace: "acme", Email: g.Email,
			Role: identity.Member, Guest: false, ExpiresAt: now.Add(time.Hour), Revision: 2}
		var invitation *account.Invitation
		var current *chat.Template
		tx.expectInvite("", pending, &invitation)
		tx.expectUpdateFor(admin, []identity.UserID{"usr_1"}, &current).Times(2)
		s.expectEffect()
		got, err := s.AddMember(s.ctx, admin, organisation, "ctpl", g)
		require.NoError(t, err)
		if !got.Again || got.Member.User != "usr_1" || got.Member.Role != access.Editor ||
			invitation.Hash == pending.Hash || invitation.Role != identity.Member || invitation.Guest {
			t.Errorf("AddMember = %+v, invitation %+v", got, invitation)
		}
	})
	t.Run("a guest beyond the limit of members is not invited", func(t *testing.T) {
		s := newMocked(t)
		s.used.Members = 2
		s.expectMember("", g.Email, "")
		s.expectGet(admin)
		tx := s.expectAtomically(t)
		var invitation *account.Invitation
		tx.expectInvite("", nil, &invitation)
		tx.chats.EXPECT().UpdateFor(s.ctx, admin, chat.ID("ctpl"), anything, anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ chat.ID, users []identity.UserID,
				change func(*chat.Template, []chat.Party) error) (*chat.Template, error) {
				creation := template()
				return creation, change(creation, []chat.Party{party(users[0])})
			})
		_, err := s.AddMember(s.ctx, admin, organisation, "ctpl", g)
		require.ErrorIs(t, err, quota.ErrExceeded)
	})
	t.Run("who has become a member meanwhile is one", func(t *testing.T) {
		s := newMocked(t)
		s.expectMember("", g.Email, "")
		s.expectGet(admin)
		tx := s.expectAtomically(t)
		var invitation *account.Invitation
		tx.expectInvite("sam", nil, &invitation)
		_, err := s.AddMember(s.ctx, admin, organisation, "ctpl", g)
		require.ErrorIs(t, err, chat.ErrAlreadyMember)
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a manager may not": {manager, chat.ErrInvitationRole}, "nor a viewer": {viewer, chat.ErrForbidden},
		"a stranger is told nothing": {stranger, chat.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectMember("", g.Email, "")
			s.expectGet(tt.by)
			_, err := s.AddMember(s.ctx, tt.by, organisation, "ctpl", g)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestChangeMember(t *testing.T) {
	s := newMocked(t)
	var current *chat.Template
	s.expectUpdateFor(manager, []identity.UserID{"vic"}, &current)
	got, err := s.ChangeMember(s.ctx, manager, "ctpl", "vic", revision.Match{1}, access.Editor)
	require.NoError(t, err)
	if got.Role != access.Editor || !slices.Contains(current.ChangedMembers, got) {
		t.Errorf("ChangeMember = %+v", got)
	}
	s.expectUpdateFor(viewer, []identity.UserID{"vic"}, &current)
	_, err = s.ChangeMember(s.ctx, viewer, "ctpl", "vic", nil, access.Manager)
	require.ErrorIs(t, err, chat.ErrForbidden)
}

func TestRemoveMember(t *testing.T) {
	t.Run("who is active loses the membership, and nothing else is touched", func(t *testing.T) {
		s := newMocked(t)
		s.expectMember("vic", "", "vic")
		var current *chat.Template
		s.expectUpdateFor(viewer, []identity.UserID{"vic"}, &current)
		require.NoError(t, s.RemoveMember(s.ctx, viewer, "ctpl", "vic", nil))
		assert.EqualSlice(t, "members to save", current.ChangedMembers, []chat.Member{{User: "vic"}})
	})
	for label, tt := range map[string]struct {
		by     identity.Actor
		user   identity.UserID
		guest  bool
		others []chat.ID
		ends   bool
		want   error
	}{
		"who is invited loses the invitation with it":  {manager, "usr_1", true, nil, true, nil},
		"but not one that is for another chat too":     {manager, "usr_1", true, []chat.ID{"ctpl_2"}, false, nil},
		"nor one that an admin made for the workspace": {manager, "usr_1", false, nil, false, nil},
		"nor by a viewer's wish":                       {viewer, "usr_1", true, nil, false, chat.ErrForbidden},
		"and who is nothing at all is not found":       {manager, "usr_2", true, nil, false, chat.ErrMemberNotFound},
	} {
		t.Run(label, func(t *testing.T) {
			s := newMocked(t)
			s.expectMember(tt.user, "", "")
			tx := s.expectAtomically(t)
			tx.workspaces.EXPECT().Lock(s.ctx, identity.OrgID("org"),
				identity.WorkspaceID("acme")).Return(nil).MinTimes(1)
			withdrawn := false
			tx.invitations.EXPECT().Update(s.ctx, tt.by, identity.WorkspaceID("acme"), account.InvitationFor(tt.user),
				anything).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ account.InvitationID,
					change func(*account.Workspace, *account.Invitation) error) error {
					i := &account.Invitation{ID: "inv_1", Workspace: "acme", Guest: tt.guest}
					err := change(acme(), i)
					withdrawn = i.Withdrawn
					return err
				}).AnyTimes()
			var current *chat.Template
			tx.expectUpdateFor(tt.by, []identity.UserID{tt.user}, &current).MinTimes(1)
			if tt.want == nil {
				tx.chats.EXPECT().Invited(s.ctx, identity.WorkspaceID("acme"), tt.user).Return(tt.others,
					nil).MinTimes(1)
			}
			require.ErrorIs(t, s.RemoveMember(s.ctx, tt.by, "ctpl", tt.user, nil), tt.want)
			assert.Equal(t, "withdrawn", withdrawn, tt.ends)
		})
	}
	t.Run("an invitation that is gone already is no obstacle", func(t *testing.T) {
		s := newMocked(t)
		s.expectMember("usr_1", "", "")
		tx := s.expectAtomically(t)
		tx.workspaces.EXPECT().Lock(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme")).Return(nil).MinTimes(1)
		tx.invitations.EXPECT().Update(s.ctx, manager, identity.WorkspaceID("acme"), account.InvitationID("inv_1"),
			anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ account.InvitationID,
				change func(*account.Workspace, *account.Invitation) error) error {
				return change(acme(), nil)
			}).MinTimes(1)
		var current *chat.Template
		tx.expectUpdateFor(manager, []identity.UserID{"usr_1"}, &current).MinTimes(1)
		tx.chats.EXPECT().Invited(s.ctx, anything, anything).Return(nil, nil).MinTimes(1)
		require.NoError(t, s.RemoveMember(s.ctx, manager, "ctpl", "usr_1", nil))
	})
}

func TestChangeMembers(t *testing.T) {
	t.Run("members change in one transaction, and the invitation of a removed one ends", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		s.expectMember("", "sam@example.com", "sam")
		tx := s.expectAtomically(t)
		tx.workspaces.EXPECT().Lock(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme")).Times(2)
		var current *chat.Template
		tx.expectUpdateFor(manager, []identity.UserID{"sam", "vic", "usr_1"}, &current).Times(2)
		tx.chats.EXPECT().Invited(s.ctx, identity.WorkspaceID("acme"), identity.UserID("usr_1")).Times(2)
		var pending *account.Invitation
		tx.invitations.EXPECT().Update(s.ctx, manager, identity.WorkspaceID("acme"), account.InvitationFor("usr_1"),
			anything).DoAndReturn(func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID,
			_ account.InvitationID, change func(*account.Workspace, *account.Invitation) error) error {
			pending = &account.Invitation{ID: "inv_1", Org: "org", Workspace: "acme", Guest: true}
			return change(acme(), pending)
		}).Times(2)
		got, err := s.ChangeMembers(s.ctx, manager, "ctpl", []chat.Grant{
			{Email: "sam@example.com", Role: access.Editor}, {User: "vic", Role: access.Manager}, {User: "usr_1"}})
		require.NoError(t, err)
		if got[0].Action != chat.MemberAdded || got[1].Action != chat.MemberUpdated ||
			got[2].Action != chat.MemberRemoved || len(current.ChangedMembers) != 3 || !pending.Withdrawn {
			t.Errorf("%+v, saved %+v, %+v", got, current.ChangedMembers, pending)
		}
	})
	t.Run("an address from outside is refused, with its place", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		s.expectMember("", "out@example.com", "")
		_, err := s.ChangeMembers(s.ctx, manager, "ctpl", []chat.Grant{{User: "vic"},
			{Email: "out@example.com", Role: access.Viewer}})
		f, _ := errors.AsType[*fault.Error](err)
		if f == nil || len(f.Fields) != 1 || f.Fields[0].Pointer != "/changes/1/email" {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("those who may not change members learn nothing of addresses", func(t *testing.T) {
		for by, want := range map[*identity.Actor]error{&viewer: chat.ErrForbidden, &stranger: chat.ErrNotFound} {
			s := newMocked(t)
			s.expectGet(*by)
			_, err := s.ChangeMembers(s.ctx, *by, "ctpl", []chat.Grant{{Email: "sam@example.com"}})
			require.ErrorIs(t, err, want)
		}
	})
}
