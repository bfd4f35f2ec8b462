package accounts_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const email = "ann@example.com"

// organisation returns an org whose people accept invitations at an address of its own.
func organisation() *identity.Org {
	return &identity.Org{ID: "org", AcceptURL: "https://acme.example.com/join/{token}"}
}

// invitation returns an open invitation to acme.
func invitation() *account.Invitation {
	return &account.Invitation{ID: "inv", Org: "org", Workspace: "acme", Email: email, Role: identity.Member,
		InvitedBy: "ada", ExpiresAt: now.Add(time.Hour), Revision: 2}
}

// invitationToken returns a well-formed token of an invitation.
func invitationToken(t *testing.T) account.Token {
	t.Helper()
	_, token, err := acme().Invite(owner, email, identity.Viewer, "", nil)
	require.NoError(t, err)
	return token
}

func TestInvitations(t *testing.T) {
	q := page.Query{Limit: 5}
	t.Run("an admin lists them", func(t *testing.T) {
		s := newEnv(t)
		want := account.InvitationPage{Items: []account.Invitation{{ID: "inv"}}, Next: "n"}
		s.expectGetWorkspace(admin)
		s.invitations.EXPECT().List(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme"), q).Return(want, nil)
		if got, err := s.Invitations(s.ctx, admin, "acme", q); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Invitations = %+v, %v", got, err)
		}
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a member's question reaches no list": {member, identity.ErrForbidden},
		"nor does a stranger's": {stranger, identity.ErrWorkspaceNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.expectGetWorkspace(tt.by)
			_, err := s.Invitations(s.ctx, tt.by, "acme", q)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestInvite(t *testing.T) {
	for name, tt := range map[string]struct {
		by      identity.Actor
		role    identity.Role
		member  identity.UserID
		pending bool
		over    bool // the workspace has more members than it may have
		want    error
	}{
		"an admin invites":             {admin, identity.Admin, "", false, false, nil},
		"and renews what is pending":   {admin, identity.Viewer, "", true, false, nil},
		"also beyond the limit":        {admin, identity.Viewer, "", true, true, nil},
		"but not above their own role": {admin, identity.Owner, "", false, false, identity.ErrRoleCeiling},
		"nor who is a member":          {admin, identity.Viewer, "ann", false, false, account.ErrAlreadyMember},
		"nor one more than allowed":    {admin, identity.Viewer, "", false, true, quota.ErrExceeded},
		"a member may not":             {member, identity.Viewer, "", false, false, identity.ErrForbidden},
		"a stranger is told nothing":   {stranger, identity.Viewer, "", false, false, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			if s.used.Members = 1; tt.over {
				s.used.Members = 2
			}
			var row *account.Invitation
			var in *account.Workspace
			tx := s.expectAtomically(t, 1)
			tx.invitations.EXPECT().Invite(s.ctx, tt.by, identity.WorkspaceID("acme"), email, gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ string,
					change func(*account.Workspace, identity.UserID, *account.Invitation) (*account.Invitation,
						error)) (err error) {
					for range 2 { // the second run must not depend on the first
						var pending *account.Invitation
						if tt.pending {
							pending = invitation()
						}
						in = acme()
						if row, err = change(in, tt.member, pending); err != nil {
							return err
						}
					}
					return nil
				})
			if tt.want == nil {
				s.expectEffect()
				if !tt.pending { // one more needs a seat
					tx.expectFollowed("acme")
				}
			}
			got, err := s.Invite(s.ctx, tt.by, organisation(), "acme", email, tt.role)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil { // and an effect would have failed the test
				if (!tt.over && row != nil) || got != nil {
					t.Errorf("Invite = %+v", got)
				}
				return
			}
			if got.Invitation != row || got.Workspace != in || got.Renewed != tt.pending ||
				got.Token.Hash() != row.Hash || row.Role != tt.role || row.Email != email {
				t.Errorf("Invite = %+v: not what was stored last", got)
			}
			if (tt.pending && row.Revision != 3) || (!tt.pending && row.Revision != 1) {
				t.Errorf("invitation %+v", row)
			}
		})
	}
}

func TestInvitationMailsAreSentAfterTheCommit(t *testing.T) {
	errRefused := errors.New("the server refused")
	for name, tt := range map[string]struct {
		limits   account.MailLimits
		err      error // of the mailer
		delivers bool
		sent     bool // the mailer is called
		mailed   bool
	}{
		"a server accepts the mail": {account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1, AddressPerDay: 1},
			nil, true, true, true},
		"a server refuses it": {account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1, AddressPerDay: 1},
			errRefused, true, true, false},
		"no server is configured": {account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1, AddressPerDay: 1},
			nil, false, true, false},
		"a limit of mails is reached": {account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1}, nil, true,
			false, false},
		"the configuration sends no mail": {account.MailLimits{}, nil, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			*s.limits = tt.limits
			tx := s.expectAtomically(t, 1)
			tx.invitations.EXPECT().Invite(s.ctx, admin, identity.WorkspaceID("acme"), email, gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ string,
					change func(*account.Workspace, identity.UserID, *account.Invitation) (*account.Invitation,
						error)) error {
					_, err := change(acme(), "", nil)
					return err
				})
			tx.expectFollowed("acme")
			commit := s.expectEffect()
			newInvited, err := s.Invite(s.ctx, admin, organisation(), "acme", email, identity.Viewer)
			require.NoError(t, err)
			if newInvited.Mailed || newInvited.AcceptURL != "https://acme.example.com/join/"+newInvited.Token.Reveal() {
				t.Fatalf("before the commit: %+v", newInvited)
			}
			// The mailer may be called from here on: before, the mock would have failed the test.
			if tt.sent {
				s.mailer.EXPECT().Send(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, m ports.Mail) error {
					if m.To != email || strings.Count(m.Text, newInvited.AcceptURL) != 1 {
						t.Errorf("mail %+v", m)
					}
					return tt.err
				})
			}
			s.mailer.EXPECT().Delivers().Return(tt.delivers).AnyTimes()
			commit()
			assert.Equal(t, "mailed", newInvited.Mailed, tt.mailed)
			if failures := *s.failed; (len(failures) == 1) != (tt.err != nil) || (len(failures) == 1 &&
				!errors.Is(failures[0], tt.err)) {
				t.Errorf("reported failures: %v", failures)
			}
		})
	}
}

// expectInvitedChat expects the change of one chat, in which the invited person was to become an
// editor.
func (s *env) expectInvitedChat(by identity.Actor) *chat.Template {
	t := &chat.Template{ID: "ctpl", Resource: access.Resource{Subject: access.Subject{Workspace: "acme"}}}
	invitee := chat.Party{User: "usr", Member: &chat.Member{User: "usr", Role: access.Editor, Invited: true}}
	s.chats.EXPECT().Invited(s.ctx, identity.WorkspaceID("acme"), identity.UserID("usr")).Return([]chat.ID{"ctpl"}, nil)
	s.chats.EXPECT().UpdateFor(s.ctx, by, chat.ID("ctpl"), []identity.UserID{"usr", by.User}, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ chat.ID, _ []identity.UserID,
			change func(*chat.Template, []chat.Party) error) (*chat.Template, error) {
			return t, change(t, []chat.Party{invitee, {User: by.User}})
		})
	return t
}

func TestWithdraw(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		is   bool
		want error
	}{
		"an admin ends it":           {admin, revision.Match{2}, true, nil},
		"another revision was meant": {admin, revision.Match{1}, true, revision.ErrMismatch},
		"one that is not there":      {admin, nil, false, account.ErrInvitationNotFound},
		"a member may not":           {member, nil, true, identity.ErrForbidden},
		"a stranger is told nothing": {stranger, nil, false, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var current *account.Invitation
			tx := s.expectAtomically(t, 1)
			var chats *chat.Template
			if tt.want == nil {
				chats = tx.expectInvitedChat(tt.by)
				tx.expectFollowed("acme")
			}
			tx.invitations.EXPECT().Update(s.ctx, tt.by, identity.WorkspaceID("acme"), account.InvitationID("inv"),
				gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.WorkspaceID, _ account.InvitationID,
					change func(*account.Workspace, *account.Invitation) error) error {
					for range 2 {
						if current = nil; tt.is {
							current = invitation()
						}
						if err := change(acme(), current); err != nil {
							return err
						}
					}
					return nil
				})
			require.ErrorIs(t, s.Withdraw(s.ctx, tt.by, "acme", "inv", tt.at), tt.want)
			if tt.is && current.Withdrawn != (tt.want == nil) {
				t.Errorf("invitation %+v", current)
			}
			if tt.want == nil && !slices.Equal(chats.ChangedMembers, []chat.Member{{User: "usr"}}) {
				t.Errorf("the chat it was for saves %+v", chats.ChangedMembers)
			}
		})
	}
}

func TestAcceptInvitation(t *testing.T) {
	token := invitationToken(t)
	guest := actor("eve", identity.NoRole)
	for name, tt := range map[string]struct {
		u    account.User
		i    *account.Invitation
		used int64
		want error
	}{
		"who has the address joins": {account.User{ID: "eve", Email: email, EmailVerified: true},
			invitation(), 1, nil},
		"who has another does not": {account.User{ID: "eve", Email: "eve@example.com",
			EmailVerified: true}, invitation(), 1, account.ErrInvitationEmail},
		"nor with one that has ended": {account.User{ID: "eve", Email: email, EmailVerified: true}, nil,
			1, account.ErrInvitationNotFound},
		"a member cannot accept": {account.User{ID: "ann", Email: email, EmailVerified: true},
			invitation(), 1, account.ErrAlreadyMember},
		"no one joins a workspace that has too many": {account.User{ID: "eve", Email: email, EmailVerified: true},
			invitation(), 2, quota.ErrExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.used.Members = tt.used
			var w *account.Workspace
			s.invitations.EXPECT().Workspace(s.ctx, identity.OrgID("org"),
				token.Hash()).Return(identity.WorkspaceID("acme"), nil)
			tx := s.expectAtomically(t, 1)
			var chats *chat.Template
			if tt.want == nil {
				chats = tx.expectInvitedChat(guest)
			}
			tx.invitations.EXPECT().Accept(s.ctx, guest, token.Hash(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ account.Hash,
					change func(*account.User, *account.Workspace, *account.Invitation) error) error {
					for range 2 {
						w = acme()
						i := tt.i
						if i != nil {
							i = invitation()
						}
						if err := change(&tt.u, w, i); err != nil {
							return err
						}
					}
					return nil
				})
			union, err := s.AcceptInvitation(s.ctx, guest, token.Reveal())
			require.ErrorIs(t, err, tt.want)
			if (tt.want == nil && (union != w || w.Members["eve"].Role != identity.Member)) || (tt.want != nil &&
				tt.used < 2 && len(w.Members) != 3) {
				t.Errorf("AcceptInvitation = %+v", union)
			}
			joins := []chat.Member{{User: "usr"}, {User: "eve", Role: access.Editor, Revision: 1, CreatedAt: guest.At,
				UpdatedAt: guest.At}}
			if tt.want == nil && !slices.Equal(chats.ChangedMembers, joins) {
				t.Errorf("the chat that came with it saves %+v", chats.ChangedMembers)
			}
		})
	}
	for _, garbage := range []string{"", "garbage", account.NewToken().Reveal(), token.Reveal() + "0"} {
		t.Run("what has not the form of a token is not looked up", func(t *testing.T) {
			s := newEnv(t)
			w, err := s.AcceptInvitation(s.ctx, guest, garbage)
			require.ErrorIs(t, err, account.ErrInvitationNotFound)
			if w != nil {
				t.Errorf("AcceptInvitation = %+v", w)
			}
		})
	}
}
