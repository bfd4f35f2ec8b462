package accounts_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectFollowed expects that a job gives the gateway the name of a workspace and the address of its owner.
func (s *env) expectFollowed(id identity.WorkspaceID) {
	s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
		if j.Kind != payment.DetailsJob || j.Workspace != id || j.Org != "org" || j.Subject != payment.DetailsSubject ||
			j.Due.After(now) {
			return fmt.Errorf("another job is queued: %+v", j)
		}
		return nil
	})
}

func TestTheGatewayFollowsTheAddressOfAnOwner(t *testing.T) {
	const issuer = "https://issuer.example"
	org := &identity.Org{ID: "org", SignUp: identity.SignUpOpen, Issuers: []identity.Issuer{{URL: issuer,
		TrustEmail: true}}}
	for name, tt := range map[string]struct {
		claimed string
		follows bool
	}{
		"who has another address now":      {"new@example.com", true},
		"but not who has the same as ever": {"old@example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			user := account.User{
				ID: "ann", Org: "org", Email: "old@example.com", EmailVerified: true, EmailVerifiedBy: issuer,
				Name: "Ann", Revision: 1,
			}
			s.users.EXPECT().SignedIn(s.ctx, identity.OrgID("org"), issuer, "sub").Return(nil, account.ErrUserNotFound)
			s.users.EXPECT().SignIn(s.ctx, identity.OrgID("org"), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.OrgID, in account.SignIn,
					settle func(*account.SignIn) error) (*account.Person, error) {
					in.Linked = &user
					if err := settle(&in); err != nil {
						return nil, err
					}
					return &account.Person{User: *in.User, Memberships: []account.Membership{
						{Workspace: here, Role: identity.Owner}, {Workspace: there, Role: identity.Admin},
					}}, nil
				})
			if tt.follows {
				s.expectAtomically(t, 1).expectFollowed("acme")
			}
			claims := account.Claims{Issuer: issuer, Subject: "sub", Email: tt.claimed, EmailVerified: true,
				Name: "Ann"}
			_, _, err := s.SignIn(s.ctx, system, org, claims)
			require.NoError(t, err)
		})
	}
}
