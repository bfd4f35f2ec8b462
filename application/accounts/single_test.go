package accounts_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMember(t *testing.T) {
	for name, tt := range map[string]struct {
		by          identity.Actor
		found, want error
	}{
		"every member reads one":                {member, nil, nil},
		"one who is not there":                  {member, account.ErrMemberNotFound, account.ErrMemberNotFound},
		"a stranger's question reaches nothing": {stranger, nil, identity.ErrWorkspaceNotFound},
		"an outage":                             {member, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.expectGetWorkspace(tt.by)
			if tt.by != stranger {
				s.workspaces.EXPECT().Member(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme"),
					identity.UserID("ann")).Return(account.Member{User: "ann"}, tt.found)
			}
			got, err := s.Member(s.ctx, tt.by, "acme", "ann")
			require.ErrorIs(t, err, tt.want)
			if err == nil && got.User != "ann" {
				t.Errorf("Member = %+v", got)
			}
		})
	}
}

func TestInvitation(t *testing.T) {
	for name, tt := range map[string]struct {
		by          identity.Actor
		found, want error
	}{
		"an admin reads one":                    {admin, nil, nil},
		"one that is not open":                  {admin, account.ErrInvitationNotFound, account.ErrInvitationNotFound},
		"a member's question reaches nothing":   {member, nil, identity.ErrForbidden},
		"a stranger's question reaches nothing": {stranger, nil, identity.ErrWorkspaceNotFound},
		"an outage":                             {admin, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.expectGetWorkspace(tt.by)
			if tt.by == admin {
				s.invitations.EXPECT().Get(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme"),
					account.InvitationID("inv")).Return(&account.Invitation{ID: "inv"}, tt.found)
			}
			got, err := s.Invitation(s.ctx, tt.by, "acme", "inv")
			require.ErrorIs(t, err, tt.want)
			if err == nil && got.ID != "inv" {
				t.Errorf("Invitation = %+v", got)
			}
		})
	}
	for name, read := range map[string]func(*env) error{
		"a member":      func(s *env) error { _, err := s.Member(s.ctx, member, "acme", "ann"); return err },
		"an invitation": func(s *env) error { _, err := s.Invitation(s.ctx, admin, "acme", "inv"); return err },
	} {
		t.Run("an outage while the workspace of "+name+" is read", func(t *testing.T) {
			s := newEnv(t)
			s.workspaces.EXPECT().Get(s.ctx, gomock.Any(), gomock.Any()).Return(nil, errOutage)
			require.ErrorIs(t, read(s), errOutage)
		})
	}
}
