package chats_test

import (
	"context"
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// TestOutages simulates faults that a real store cannot produce on request: each reaches the caller
// unchanged.
func TestOutages(t *testing.T) {
	update := func(_ *testing.T, s *stage) {
		s.chats.EXPECT().Update(s.ctx, anything, anything, anything).Return(nil, errOutage)
	}
	updateFor := func(_ *testing.T, s *stage) {
		s.chats.EXPECT().UpdateFor(s.ctx, anything, anything, anything, anything).Return(nil, errOutage)
	}
	updateWithin := func(t *testing.T, s *stage) {
		s.expectTransaction(t)
		update(t, s)
	}
	member := func(_ *testing.T, s *stage) {
		s.users.EXPECT().Member(s.ctx, anything, anything, anything).Return(identity.UserID(""), errOutage)
	}
	guest := chat.Grant{Email: "guest@example.com", Role: access.Viewer}
	addGuest := func(s *stage) error { _, err := s.AddMember(s.ctx, admin, organisation, "ctpl", guest); return err }
	removeGuest := func(s *stage) error { return s.RemoveMember(s.ctx, manager, "ctpl", "usr_1", nil) }
	invited := func(s *stage) *stage {
		s.invitations.EXPECT().Invite(s.ctx, anything, anything, anything, anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ string, change func(*account.Workspace, identity.UserID, *account.Invitation) (*account.Invitation, error)) error {
				_, err := change(acme(), "", nil)
				return err
			})
		return s
	}
	for name, tt := range map[string]struct {
		fail func(*testing.T, *stage)
		call func(*stage) error
	}{
		"List": {
			func(_ *testing.T, s *stage) {
				s.lists.EXPECT().Visible(s.ctx, anything, anything, anything).Return(chat.Page{}, errOutage)
			},
			func(s *stage) error { _, err := s.List(s.ctx, owner, chat.Filter{}, page.Query{}); return err },
		},
		"Create": {
			func(t *testing.T, s *stage) {
				s.expectTransaction(t)
				s.chats.EXPECT().Add(s.ctx, anything).Return(errOutage)
			},
			func(s *stage) error {
				_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "x"}})
				return err
			},
		},
		"Create, looking at the prompt": {
			func(t *testing.T, s *stage) {
				s.expectAtomically(t).prompts.EXPECT().Lock(s.ctx, anything, anything, prompt.Ref{Active: true}).Return(nil, nil, errOutage)
			},
			func(s *stage) error {
				_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "x", Prompt: chat.Prompt{Template: "ptpl", Ref: "active"}}})
				return err
			},
		},
		"Get": {
			func(_ *testing.T, s *stage) { s.chats.EXPECT().Get(s.ctx, anything, anything).Return(nil, errOutage) },
			func(s *stage) error { _, err := s.Get(s.ctx, owner, "ctpl"); return err },
		},
		"Change":         {updateWithin, func(s *stage) error { _, err := s.Change(s.ctx, owner, "ctpl", nil, chat.Changes{}); return err }},
		"Delete":         {update, func(s *stage) error { return s.Delete(s.ctx, owner, "ctpl", nil) }},
		"Restore":        {updateWithin, func(s *stage) error { _, err := s.Restore(s.ctx, owner, "ctpl"); return err }},
		"AttachWorkflow": {update, func(s *stage) error { _, _, _, err := s.AttachWorkflow(s.ctx, owner, "ctpl", "digest"); return err }},
		"DetachWorkflow": {update, func(s *stage) error { return s.DetachWorkflow(s.ctx, owner, "ctpl", nil, "digest") }},
		"Members": {
			func(_ *testing.T, s *stage) {
				s.expectGet(owner)
				s.lists.EXPECT().Members(s.ctx, anything, anything, anything).Return(chat.MemberPage{}, errOutage)
			},
			func(s *stage) error { _, err := s.Members(s.ctx, owner, "ctpl", page.Query{}); return err },
		},
		"ChangeMember": {updateFor, func(s *stage) error {
			_, err := s.ChangeMember(s.ctx, owner, "ctpl", "vic", nil, access.Editor)
			return err
		}},
		"AddMember, looking for the user": {member, addGuest},
		"AddMember": {
			updateFor,
			func(s *stage) error {
				_, err := s.AddMember(s.ctx, owner, organisation, "ctpl", chat.Grant{User: "sam", Role: access.Viewer})
				return err
			},
		},
		"AddMember, reading the account": {
			func(_ *testing.T, s *stage) {
				var after *chat.Template
				s.expectUpdateFor(owner, []identity.UserID{"sam"}, &after)
				s.users.EXPECT().Get(s.ctx, anything, anything).Return(nil, nil, errOutage)
			},
			func(s *stage) error {
				_, err := s.AddMember(s.ctx, owner, organisation, "ctpl", chat.Grant{User: "sam", Role: access.Viewer})
				return err
			},
		},
		"inviting, reading the template": {
			func(_ *testing.T, s *stage) {
				s.expectMember("", guest.Email, "")
				s.chats.EXPECT().Get(s.ctx, anything, anything).Return(nil, errOutage)
			},
			addGuest,
		},
		"inviting": {
			func(t *testing.T, s *stage) {
				s.expectMember("", guest.Email, "")
				s.expectGet(admin)
				s.expectAtomically(t).invitations.EXPECT().Invite(s.ctx, anything, anything, anything, anything).Return(errOutage)
			},
			addGuest,
		},
		"inviting, changing the template": {
			func(t *testing.T, s *stage) {
				s.expectMember("", guest.Email, "")
				s.expectGet(admin)
				updateFor(t, invited(s.expectAtomically(t)))
			},
			addGuest,
		},
		"RemoveMember, looking for the user": {member, removeGuest},
		"RemoveMember, locking the workspace": {
			func(t *testing.T, s *stage) {
				s.expectMember("usr_1", "", "")
				s.expectAtomically(t).workspaces.EXPECT().Lock(s.ctx, anything, anything).Return(errOutage)
			},
			removeGuest,
		},
		"RemoveMember, looking for other chats": {
			func(t *testing.T, s *stage) {
				s.expectMember("usr_1", "", "")
				tx := s.expectAtomically(t)
				tx.workspaces.EXPECT().Lock(s.ctx, anything, anything).Return(nil)
				var after *chat.Template
				tx.expectUpdateFor(manager, []identity.UserID{"usr_1"}, &after)
				tx.chats.EXPECT().Invited(s.ctx, anything, anything).Return(nil, errOutage)
			},
			removeGuest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			tt.fail(t, s)
			if err := tt.call(s); !errors.Is(err, errOutage) {
				t.Errorf("error = %v, want the store's own", err)
			}
		})
	}
}
