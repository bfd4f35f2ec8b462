package payments_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// limitedPlans are plans with limits that Atrium counts, and one that applications count.
var limitedPlans = payment.Plans{
	{ID: "basic", Name: "Basic", Interval: payment.Month, IntervalCount: 1,
		Limits: map[string]int64{"members": 2, "messages": 10}},
	{ID: "pro", Name: "Pro", Interval: payment.Month, IntervalCount: 1, Limits: map[string]int64{"members": 20}},
}

// onBasic returns a service whose workspace has an active subscription of a limited plan.
func onBasic(t *testing.T) *mockedService {
	t.Helper()
	s := newMocked(t)
	s.terms.Plans = limitedPlans
	s.kept = customer()
	s.kept.Subscription = &payment.Subscription{ID: "sub", Plan: "basic", Status: payment.Active,
		PeriodStart: now.Add(-time.Hour), PeriodEnd: now.Add(time.Hour)}
	return s
}

func TestEntitlements(t *testing.T) {
	t.Run("while the gateway cannot be reached, they are read from the mirror, however old it is", func(t *testing.T) {
		s := onBasic(t)
		s.kept.SubscriptionAt = now.Add(-48 * time.Hour)
		s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, payment.ErrGatewayTimeout)
		s.usage.EXPECT().Amounts(s.ctx, identity.WorkspaceID("acme"), now).Return(quota.Amounts{Members: 3}, nil)
		s.meters.EXPECT().Sums(s.ctx, identity.WorkspaceID("acme"),
			now.Add(-time.Hour)).Return(map[string]int64{"messages": 4}, nil)
		e, err := s.Entitlements(s.ctx, member)
		require.NoError(t, err)
		got := map[string]payment.Allowance{}
		for _, a := range e.Limits {
			got[a.Name] = a
		}
		assert.That(t, e.Plan.ID == "basic" && e.Entitled && e.Status == payment.Active && got["members"].Used == 3 &&
			got["members"].Limit < 3 && got["messages"].Used == 4 && got["messages"].Limit == 10,
			"Entitlements = %+v", e)
	})
	t.Run("a subscription whose end no event has told entitles to nothing after a minute", func(t *testing.T) {
		for name, tt := range map[string]struct {
			age      time.Duration
			entitled bool
		}{"before": {payment.Fresh - 1, true}, "after": {payment.Fresh, false}} {
			s := onBasic(t)
			s.kept.SubscriptionAt = now.Add(-tt.age)
			s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
			s.usage.EXPECT().Amounts(any, any, any).Return(quota.Amounts{}, nil)
			s.meters.EXPECT().Sums(any, any, any).AnyTimes().Return(nil, nil)
			e, err := s.Entitlements(s.ctx, member)
			require.NoError(t, err)
			assert.That(t, e.Entitled == tt.entitled && (e.Plan != nil) == tt.entitled, "%s: %+v", name, e)
		}
	})
	t.Run("an org without payments has its quotas", func(t *testing.T) {
		s := newMocked(t)
		s.terms.Gateway, s.terms.Plans = nil, nil
		s.usage.EXPECT().Amounts(s.ctx, any, any).Return(quota.Amounts{PromptTemplates: 1}, nil)
		e, err := s.Entitlements(s.ctx, member)
		require.NoError(t, err)
		assert.That(t, e.Plan == nil && !e.Entitled && e.Status == "" && e.Limits[0].Origin == payment.QuotaLimit,
			"Entitlements = %+v", e)
	})
	t.Run("a stranger gets nothing", func(t *testing.T) {
		s := onBasic(t)
		_, err := s.Entitlements(s.ctx, identity.Actor{Org: "org", User: "eve", Workspace: "acme",
			Ceiling: identity.Owner, At: now})
		require.ErrorIs(t, err, identity.ErrWorkspaceNotFound)
	})
	t.Run("an error of a store is returned", func(t *testing.T) {
		s := onBasic(t)
		s.usage.EXPECT().Amounts(s.ctx, any, any).Return(quota.Amounts{}, errOutage)
		_, err := s.Entitlements(s.ctx, member)
		require.ErrorIs(t, err, errOutage)
	})
}

func TestQuotas(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*mockedService)
		members int64
		plan    bool
	}{
		"a plan limits members": {func(*mockedService) {}, 2, true},
		"an unpaid subscription has the org's quotas": {func(s *mockedService) { s.kept.Subscription.Status = payment.Unpaid },
			quota.Unlimited, false},
		"a workspace without a customer has them, too": {func(s *mockedService) { s.kept = nil }, quota.Unlimited, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := onBasic(t)
			tt.change(s)
			limits, err := s.Quotas(s.ctx, member)
			require.NoError(t, err)
			assert.That(t, limits.Members == tt.members && limits.Limited[quota.Members] == tt.plan &&
				limits.PromptTemplates == quota.Default().PromptTemplates, "Quotas = %+v", limits)
		})
	}
}

func TestReportUsage(t *testing.T) {
	report := payment.UsageReport{Feature: "messages", Quantity: 8, Key: "one",
		Period: payment.Period{Start: now.Add(-time.Hour), End: now.Add(-time.Hour).AddDate(0, 1, 0)}}
	t.Run("usage beyond the limit counts", func(t *testing.T) {
		s := onBasic(t)
		s.meters.EXPECT().Add(s.ctx, owner, report).Return(int64(12), false, nil)
		got, err := s.ReportUsage(s.ctx, owner, "messages", 8, "one")
		require.NoError(t, err)
		assert.That(t, got.Used == 12 && got.Limit == 10 && !got.Repeated &&
			got.Period == report.Period, "ReportUsage = %+v", got)
	})
	t.Run("a repeated report returns the sum", func(t *testing.T) {
		s := onBasic(t)
		s.meters.EXPECT().Add(s.ctx, owner, report).Return(int64(8), true, nil)
		got, err := s.ReportUsage(s.ctx, owner, "messages", 8, "one")
		require.NoError(t, err)
		assert.That(t, got.Used == 8 && got.Repeated, "ReportUsage = %+v", got)
	})
	for name, tt := range map[string]struct {
		by       identity.Actor
		feature  string
		quantity int64
		want     error
	}{
		"a member cannot report usage":       {member, "messages", 1, payment.ErrRoleRequired},
		"an unknown feature is refused":      {owner, "tokens", 1, payment.ErrUnknownFeature},
		"what Atrium counts is not reported": {owner, "members", 1, payment.ErrUnknownFeature},
	} {
		t.Run(name, func(t *testing.T) {
			s := onBasic(t)
			_, err := s.ReportUsage(s.ctx, tt.by, tt.feature, tt.quantity, "")
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("an error of the store is returned", func(t *testing.T) {
		s := onBasic(t)
		s.meters.EXPECT().Add(s.ctx, owner, any).Return(int64(0), false, errOutage)
		_, err := s.ReportUsage(s.ctx, owner, "messages", 1, "")
		require.ErrorIs(t, err, errOutage)
	})
}
