package payments_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var company = payment.Details{Name: "Acme GmbH", Address: payment.Address{Country: "DE"}}

// owned returns a service whose workspace has a name and an owner.
func owned(t *testing.T, name, email string) *mockedService {
	t.Helper()
	s := mockedWith(t, customer())
	s.workspaces.EXPECT().Find(any, identity.OrgID("org"), "acme").AnyTimes().Return(&account.Workspace{Name: name},
		nil)
	s.workspaces.EXPECT().Members(any, identity.OrgID("org"), identity.WorkspaceID("acme"), any).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ identity.WorkspaceID, q page.Query) (account.MemberPage, error) {
			if q.After == "" {
				return account.MemberPage{Items: []account.Member{
					{User: "robot", Role: identity.Owner, Service: true, Email: "robot@example.com"},
					{User: "eve", Role: identity.Admin, Email: "eve@example.com"},
				}, Next: "eve"}, nil
			}
			return account.MemberPage{Items: []account.Member{{User: "zoe", Role: identity.Owner, Email: email}}}, nil
		})
	return s
}

// expectUpdate expects a call that gives the gateway details, and returns err.
func (s *mockedService) expectUpdate(t *testing.T, want payment.Details, err error) {
	t.Helper()
	s.details.UpdateCustomer(any, any, payment.CustomerID("cus_1"), any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, d payment.Details) error {
			assert.That(t, d.Matches(&want) && d.Taxed == want.Taxed && d.Workspace == "acme",
				"given %+v, want %+v", d, want)
			_, isQueued := s.queued[payment.DetailsJob]
			assert.That(t, isQueued, "no job would give them again")
			return err
		})
}

func TestTheGatewayFollowsTheNameAndTheOwner(t *testing.T) {
	s := owned(t, "New Name", "zoe@example.com")
	s.expectUpdate(t, payment.Details{Name: "New Name", Email: "zoe@example.com"}, nil)
	require.NoError(t, s.FollowDetails(s.ctx, system))
	if _, isQueued := s.queued[payment.DetailsJob]; isQueued {
		t.Error("the job is still queued")
	}
	require.NoError(t, s.FollowDetails(s.ctx, system)) // the gateway has them, and is not called

	t.Run("a workspace that is no customer needs nothing", func(t *testing.T) {
		s := owned(t, "New Name", "zoe@example.com")
		s.kept.ID = ""
		require.NoError(t, s.FollowDetails(s.ctx, system))
		s.kept = nil
		require.NoError(t, s.FollowDetails(s.ctx, system))
		s.terms.Gateway = nil
		require.NoError(t, s.FollowDetails(s.ctx, system))
	})
	t.Run("what was not answered is given again", func(t *testing.T) {
		s := owned(t, "New Name", "zoe@example.com")
		want := payment.Details{Name: "New Name", Email: "zoe@example.com"}
		for range 3 {
			s.expectUpdate(t, want, payment.ErrGatewayUnavailable)
		}
		require.ErrorIs(t, s.FollowDetails(s.ctx, system), payment.ErrGatewayUnavailable)
		s.expectUpdate(t, want, nil)
		require.NoError(t, s.FollowDetails(s.ctx, system))
	})
	t.Run("what is refused is not tried again", func(t *testing.T) {
		s := owned(t, "New Name", "zoe@example.com")
		s.expectUpdate(t, payment.Details{Name: "New Name", Email: "zoe@example.com"},
			&payment.Rejection{Reason: "email_invalid"})
		err := s.FollowDetails(s.ctx, system)
		assert.That(t, job.IsFinal(err), "error = %v", err)
	})
	t.Run("a customer that was deleted is lost", func(t *testing.T) {
		s := owned(t, "New Name", "zoe@example.com")
		s.expectUpdate(t, payment.Details{Name: "New Name", Email: "zoe@example.com"}, payment.ErrCustomerGone)
		require.NoError(t, s.FollowDetails(s.ctx, system))
		assert.That(t, s.kept.ID == "", "%+v", s.kept)
	})
	t.Run("two calls at once are followed by a job", func(t *testing.T) {
		s := owned(t, "New Name", "zoe@example.com")
		s.details.UpdateCustomer(any, any, any, any).DoAndReturn(
			func(context.Context, string, payment.CustomerID, payment.Details) error {
				s.kept.BeginGiving("another call")
				return nil
			})
		require.NoError(t, s.FollowDetails(s.ctx, system))
		j, isQueued := s.queued[payment.DetailsJob]
		assert.That(t, isQueued && j.Due.Equal(now) && s.kept.Given == nil, "%+v, %+v", j, s.kept.Given)
	})
}

func TestBillingDetailsAreStoredOnceTheGatewayHasThem(t *testing.T) {
	input := company
	input.Email = "zoe@example.com"
	t.Run("accepted", func(t *testing.T) {
		s := owned(t, "Acme", "zoe@example.com")
		s.expectUpdate(t, input, nil)
		d, err := s.ChangeDetails(s.ctx, owner, company)
		require.NoError(t, err)
		assert.That(t, d.Matches(&company) && s.kept.Entered.Matches(&company) && d.Gateway == payment.Sandbox,
			"%+v", d)
		if d, err = s.Details(s.ctx, owner); err != nil || !d.Matches(&company) {
			t.Errorf("%+v, %v", d, err)
		}
	})
	for name, refusal := range map[string]error{
		"a tax id is refused": payment.ErrTaxIDInvalid, "the address is refused": payment.ErrAddressInvalid,
		"nothing is known": payment.ErrGatewayTimeout,
	} {
		t.Run(name, func(t *testing.T) {
			s := owned(t, "Acme", "zoe@example.com")
			calls := 1
			if payment.OutcomeUnknown(refusal) {
				calls = 3
			}
			for range calls {
				s.expectUpdate(t, input, refusal)
			}
			_, err := s.ChangeDetails(s.ctx, owner, company)
			require.ErrorIs(t, err, refusal)
			_, isQueued := s.queued[payment.DetailsJob]
			assert.That(t, isQueued && s.kept.Entered.Name == "" && s.kept.Given == nil, "%+v", s.kept)
		})
	}
	t.Run("with automatic tax the address must be taxable", func(t *testing.T) {
		s := owned(t, "Acme", "zoe@example.com")
		s.terms.AutomaticTax = true
		taxedDetails := input
		taxedDetails.Taxed = true
		s.expectUpdate(t, taxedDetails, nil)
		_, err := s.ChangeDetails(s.ctx, owner, company)
		require.NoError(t, err)
	})
	t.Run("wrong ones reach no gateway", func(t *testing.T) {
		s := owned(t, "Acme", "zoe@example.com")
		_, err := s.ChangeDetails(s.ctx, owner, payment.Details{Address: payment.Address{Country: "XX"}})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
}
