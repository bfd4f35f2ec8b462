package payments_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// operator is in another workspace than the one that is adjusted.
var operator = identity.Actor{
	Org: "org", User: "olga", Workspace: "office", Role: identity.Viewer, Ceiling: identity.Owner, Operator: true,
	At: now,
}

// listed returns a subscription of the plan basic as the store lists it.
func listed(id payment.SubscriptionID, status payment.Status) payment.ListedSubscription {
	return payment.ListedSubscription{Workspace: "acme", Subscription: payment.Subscription{
		ID: id, Plan: "basic", Quantity: 2, Status: status, CreatedAt: now,
	}}
}

func TestAnOverviewAddsUpAllPages(t *testing.T) {
	s := newMocked(t)
	filter := payment.SubscriptionFilter{EndedSince: now.AddDate(0, 0, -30)}
	for _, p := range []struct {
		cursor string
		page   page.Of[payment.ListedSubscription]
	}{
		{"", page.Of[payment.ListedSubscription]{
			Items: []payment.ListedSubscription{listed("sub_1", payment.Active)}, Next: "more",
		}},
		{"more", page.Of[payment.ListedSubscription]{
			Items: []payment.ListedSubscription{listed("sub_2", payment.PastDue)},
		}},
	} {
		s.payments.EXPECT().Subscriptions(any, identity.OrgID("org"), "sandbox", filter,
			page.Query{After: p.cursor, Limit: 1000}).Return(p.page, nil)
	}
	o, err := s.Overview(s.ctx, operator)
	require.NoError(t, err)
	assert.EqualSlice(t, "the monthly revenue", o.Monthly, []payment.Money{{Amount: 3600, Currency: "usd"}})
	assert.That(t, o.Count[payment.Active] == 1 && o.Count[payment.PastDue] == 1, "%v", o.Count)
}

func TestOperatorsListSubscriptions(t *testing.T) {
	s := newMocked(t)
	s.payments.EXPECT().Subscriptions(any, identity.OrgID("org"), "sandbox",
		payment.SubscriptionFilter{Status: payment.PastDue}, page.Query{Limit: 1}).Return(
		page.Of[payment.ListedSubscription]{
			Items: []payment.ListedSubscription{listed("sub_1", payment.PastDue)}, Next: "more",
		}, nil)
	p, err := s.Subscriptions(s.ctx, operator, payment.PastDue, page.Query{Limit: 1})
	require.NoError(t, err)
	assert.That(t, p.Next == "more" && p.Items[0].Monthly.Amount == 1800 && !p.Items[0].Entitled, "%+v", p)
}

func TestOnlyOperatorsSeeAndAdjust(t *testing.T) {
	s := newMocked(t)
	_, err := s.Overview(s.ctx, owner)
	require.ErrorIs(t, err, identity.ErrForbidden)
	_, err = s.Subscriptions(s.ctx, owner, "", page.Query{Limit: 1})
	require.ErrorIs(t, err, identity.ErrForbidden)
	_, err = s.Adjust(s.ctx, owner, "k", "acme", payment.Adjustment{})
	require.ErrorIs(t, err, identity.ErrForbidden)
}

func TestAnAdjustmentIsCheckedBeforeAnythingIsRead(t *testing.T) {
	s := newMocked(t)
	_, err := s.Adjust(s.ctx, operator, "k", "acme", payment.Adjustment{Kind: payment.Comp})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// inOrg lets the org have the workspace acme.
func (s *mockedService) inOrg(times int) {
	s.workspaces.EXPECT().Find(any, identity.OrgID("org"), "acme").Times(times).Return(
		&account.Workspace{ID: "acme"}, nil)
}

func TestAnAdjustmentIsForAWorkspaceOfTheOrg(t *testing.T) {
	s := newMocked(t)
	gift := payment.Adjustment{Kind: payment.Comp, Plan: "basic", Reason: "r"}
	for _, w := range []*account.Workspace{{ID: "found by its slug"}, {ID: "acme", DeletedAt: now}} {
		s.workspaces.EXPECT().Find(any, identity.OrgID("org"), "acme").Return(w, nil)
		_, err := s.Adjust(s.ctx, operator, "k", "acme", gift)
		require.ErrorIs(t, err, identity.ErrWorkspaceNotFound)
	}
}

func TestACreditIsGranted(t *testing.T) {
	s := mockedWith(t, customer())
	s.inOrg(1)
	usd := payment.Money{Amount: 500, Currency: "usd"}
	s.adjustments.Grant(any, "k", payment.CustomerID("cus_1"), usd, "Sorry").Return(nil)
	s.customers.Wallet(any, payment.CustomerID("cus_1")).Return(payment.Wallet{Credit: usd}, nil)
	a, err := s.Adjust(s.ctx, operator, "k", "acme",
		payment.Adjustment{Kind: payment.CreditGrant, Credit: usd, Reason: "Sorry"})
	require.NoError(t, err)
	assert.That(t, a.Credit == usd && a.Subscription == nil && s.kept.Credit == usd, "%+v", a)
}

func TestASubscriptionBeginsFreeOrBecomesIt(t *testing.T) {
	free := payment.Promotion{Coupon: "free", Discount: payment.Discount{Percent: 10000, Duration: "forever"}}
	t.Run("of a workspace without one", func(t *testing.T) {
		s := mockedWith(t, customer())
		s.inOrg(1)
		s.adjustments.Free(any, 3).Return(free, nil)
		s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
		s.payments.EXPECT().Invoices(any, any, any, any, any).AnyTimes().Return(payment.InvoicePage{}, nil)
		s.subscriptions.Invoices(any, any, any).AnyTimes().Return(nil, nil)
		s.subscriptions.Subscribe(any, "k", payment.CustomerID("cus_1"), any).DoAndReturn(
			func(_ context.Context, _ string, _ payment.CustomerID,
				o payment.Order) (payment.GatewaySubscription, error) {
				assert.That(t, o.Promotion != nil && o.Promotion.Coupon == "free" && o.Plan.ID == "basic", "%+v", o)
				h := held(payment.Active)
				h.Action = &payment.Action{Type: payment.ConfirmSetup, ClientSecret: secret.New("of the payer")}
				return h, nil
			})
		a, err := s.Adjust(s.ctx, operator, "k", "acme",
			payment.Adjustment{Kind: payment.Comp, Plan: "basic", Months: 3, Reason: "Partner"})
		require.NoError(t, err)
		assert.That(t, a.Subscription.Status == payment.Active && a.Subscription.Action == nil,
			"the operator gets what only the payer may confirm: %+v", a)
	})
	t.Run("of a workspace with one", func(t *testing.T) {
		s := mockedWith(t, subscribed("pm_1"))
		s.inOrg(1)
		s.adjustments.Free(any, 0).Return(free, nil)
		s.subscriptions.Amend(any, "k", payment.CustomerID("cus_1"), payment.SubscriptionID("sub_1"), any).DoAndReturn(
			func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID,
				a payment.Amendment) (payment.GatewaySubscription, error) {
				assert.That(t, a.Promotion != nil && a.Promotion.Coupon == "free" && !a.Resell, "%+v", a)
				return held(payment.Active), nil
			})
		_, err := s.Adjust(s.ctx, operator, "k", "acme", payment.Adjustment{Kind: payment.Comp, Reason: "Partner"})
		require.NoError(t, err)
	})
	t.Run("of no unknown plan", func(t *testing.T) {
		s := mockedWith(t, customer())
		s.inOrg(1)
		s.adjustments.Free(any, 0).Return(free, nil)
		_, err := s.Adjust(s.ctx, operator, "k", "acme", payment.Adjustment{Kind: payment.Comp, Reason: "Partner"})
		require.ErrorIs(t, err, payment.ErrPlanNotFound)
	})
}

func TestATrialIsExtended(t *testing.T) {
	kept := subscribed("pm_1")
	kept.Subscription.Status, kept.Subscription.TrialEnd = payment.Trialing, now.AddDate(0, 0, 3)
	s := mockedWith(t, kept)
	s.inOrg(2)
	s.subscriptions.Amend(any, "k", payment.CustomerID("cus_1"), payment.SubscriptionID("sub_1"), any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID,
			a payment.Amendment) (payment.GatewaySubscription, error) {
			assert.That(t, a.TrialUntil.Equal(now.AddDate(0, 0, 10)), "%+v", a)
			h := held(payment.Trialing)
			h.TrialEnd = a.TrialUntil
			return h, nil
		})
	longer := payment.Adjustment{Kind: payment.TrialExtension, Days: 7, Reason: "Holiday"}
	a, err := s.Adjust(s.ctx, operator, "k", "acme", longer)
	require.NoError(t, err)
	assert.That(t, a.Subscription.TrialEnd.Equal(now.AddDate(0, 0, 10)), "%+v", a.Subscription)
	s.kept.Subscription.Status = payment.Active
	_, err = s.Adjust(s.ctx, operator, "another", "acme", longer)
	require.ErrorIs(t, err, payment.ErrNotInTrial)
}
