package accounts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestJoinIsRefused(t *testing.T) {
	token := invitationToken(t).Reveal()
	withIssuer := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer.example"}}}
	for name, tt := range map[string]struct {
		org     *identity.Org
		token   string
		preview account.InvitationPreview
		found   error
		want    error
	}{
		"people sign in": {withIssuer, token, account.InvitationPreview{}, nil, account.ErrSignInRequired},
		"there is no invitation": {&identity.Org{ID: "org"}, token, account.InvitationPreview{},
			account.ErrInvitationNotFound, account.ErrInvitationNotFound},
		"it is no token": {&identity.Org{ID: "org"}, "x", account.InvitationPreview{}, nil,
			account.ErrInvitationNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			if tt.token == token {
				s.invitations.EXPECT().Find(s.ctx, identity.OrgID("org"), gomock.Any()).
					Return(invitation(), &tt.preview, tt.found)
			}
			_, err := s.Join(s.ctx, system, tt.org, tt.token, "Bob", "")
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestWhoHasAnAccountCannotJoinAgain(t *testing.T) {
	s := newEnv(t)
	s.invitations.EXPECT().Find(s.ctx, identity.OrgID("org"), gomock.Any()).
		Return(invitation(), &account.InvitationPreview{}, nil)
	tx := s.expectAtomically(t, 1)
	tx.users.EXPECT().Add(gomock.Any(), gomock.Any()).
		DoAndReturn(func(_ context.Context, u *account.User) error {
			if u.EmailVerifiedBy != account.VerifiedByInvitation {
				t.Errorf("%+v is added", u)
			}
			return account.ErrEmailTaken
		})
	joined, err := s.Join(s.ctx, system, &identity.Org{ID: "org"}, invitationToken(t).Reveal(), "Bob", "")
	require.ErrorIs(t, err, account.ErrSignInRequired)
	if joined.Asks != invitation().Email || joined.Session != nil {
		t.Errorf("%+v", joined)
	}
}

func TestPreviewInvitation(t *testing.T) {
	s := newEnv(t)
	want := &account.InvitationPreview{Workspace: "Acme"}
	token := invitationToken(t)
	s.invitations.EXPECT().Find(s.ctx, identity.OrgID("org"), token.Hash()).Return(invitation(), want, nil)
	if got, err := s.PreviewInvitation(s.ctx, "org", token.Reveal()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := s.PreviewInvitation(s.ctx, "org", "x")
	require.ErrorIs(t, err, account.ErrInvitationNotFound)
}
