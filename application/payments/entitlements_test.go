package payments_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
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
			now.Add(-time.Hour)).Return(map[string]payment.Tally{"messages": {Used: 4}}, nil)
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

// request returns a request for usage of messages.
func request(quantity int64, key string) payment.UsageRequest {
	return payment.UsageRequest{Feature: "messages", Quantity: quantity, Key: key}
}

// counts has the meters return outcomes for the reports that they get.
func (s *mockedService) counts(reports *[]payment.UsageReport, outcomes ...payment.UsageOutcome) {
	s.meters.EXPECT().Add(any, owner, any).DoAndReturn(
		func(_ context.Context, _ identity.Actor, all ...payment.UsageReport) ([]payment.UsageOutcome, error) {
			*reports = all
			return outcomes, nil
		})
}

func TestReportUsage(t *testing.T) {
	period := payment.Period{Start: now.Add(-time.Hour), End: now.Add(-time.Hour).AddDate(0, 1, 0)}
	t.Run("usage beyond the limit counts", func(t *testing.T) {
		s, reports := onBasic(t), []payment.UsageReport(nil)
		s.counts(&reports, payment.UsageOutcome{Tally: payment.Tally{Used: 12}})
		got, err := s.ReportUsage(s.ctx, owner, request(8, "one"))
		require.NoError(t, err)
		assert.That(t, len(reports) == 1 && *reports[0].Allowance == 10, "reports %+v", reports)
		want := payment.UsageReport{Feature: "messages", Quantity: 8, Key: "one", At: now, Period: period,
			Account: "sandbox", Rules: payment.PackRules{Now: now}, Allowance: reports[0].Allowance}
		assert.That(t, reports[0] == want && got.Used == 12 && got.Limit == 10 &&
			!got.Repeated && got.Period == period, "ReportUsage = %+v of %+v", got, reports)
	})
	t.Run("a repeated report returns the sum", func(t *testing.T) {
		s, reports := onBasic(t), []payment.UsageReport(nil)
		s.counts(&reports, payment.UsageOutcome{Tally: payment.Tally{Used: 8}, IsRepeated: true})
		got, err := s.ReportUsage(s.ctx, owner, request(8, "one"))
		require.NoError(t, err)
		assert.That(t, got.Used == 8 && got.Repeated, "ReportUsage = %+v", got)
	})
	for name, tt := range map[string]struct {
		by      identity.Actor
		feature string
		want    error
	}{
		"a member cannot report usage":       {member, "messages", payment.ErrRoleRequired},
		"an unknown feature is refused":      {owner, "tokens", payment.ErrUnknownFeature},
		"what Atrium counts is not reported": {owner, "members", payment.ErrUnknownFeature},
	} {
		t.Run(name, func(t *testing.T) {
			s := onBasic(t)
			_, err := s.ReportUsage(s.ctx, tt.by, payment.UsageRequest{Feature: tt.feature, Quantity: 1})
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("an error of the store is returned", func(t *testing.T) {
		s := onBasic(t)
		s.meters.EXPECT().Add(s.ctx, owner, any).Return(nil, errOutage)
		_, err := s.ReportUsage(s.ctx, owner, request(1, ""))
		require.ErrorIs(t, err, errOutage)
	})
	t.Run("of many reports, each has its own result", func(t *testing.T) {
		s, reports := onBasic(t), []payment.UsageReport(nil)
		s.counts(&reports, payment.UsageOutcome{Tally: payment.Tally{Used: 8}},
			payment.UsageOutcome{Tally: payment.Tally{Used: 8}, Refusal: payment.ErrUsageBelowZero})
		got, err := s.ReportUsages(s.ctx, owner, []payment.UsageRequest{
			request(0, ""), request(8, ""), {Feature: "tokens", Quantity: 1}, request(-9, ""),
		})
		require.NoError(t, err)
		for n, want := range []error{fault.ErrInvalid, nil, payment.ErrUnknownFeature, payment.ErrUsageBelowZero} {
			assert.That(t, errors.Is(got[n].Refusal, want) && (want != nil || got[n].Used == 8), "%d: %+v", n, got[n])
		}
	})
}

func TestConsumeUsage(t *testing.T) {
	t.Run("usage within the limit counts", func(t *testing.T) {
		s, reports := onBasic(t), []payment.UsageReport(nil)
		s.counts(&reports, payment.UsageOutcome{Tally: payment.Tally{Used: 10}})
		got, err := s.ConsumeUsage(s.ctx, owner, request(3, ""))
		require.NoError(t, err)
		assert.That(t, *reports[0].Allowance == 10 && reports[0].IsLimited && got.Used == 10, "%+v of %+v", got,
			reports)
	})
	t.Run("more is refused, with the plan that allows it", func(t *testing.T) {
		s, reports := onBasic(t), []payment.UsageReport(nil)
		s.counts(&reports, payment.UsageOutcome{Tally: payment.Tally{Used: 8}, Refusal: payment.ErrUsageLimit})
		_, err := s.ConsumeUsage(s.ctx, owner, request(3, ""))
		e, _ := errors.AsType[*quota.LimitError](err)
		assert.That(t, errors.Is(err, quota.ErrPlanLimit) && e.Kind == "messages" && e.Limit == 10 && e.Lifted != nil &&
			e.Lifted.ID == "pro", "%v", err)
	})
	for name, tt := range map[string]struct {
		status payment.Status
		plan   payment.PlanID
		limit  int64 // -1 without one
	}{
		"without a plan the limit is 0":               {payment.Unpaid, "basic", 0},
		"a plan without this limit does not limit it": {payment.Active, "pro", -1},
	} {
		t.Run(name, func(t *testing.T) {
			s, reports := onBasic(t), []payment.UsageReport(nil)
			s.kept.Subscription.Status, s.kept.Subscription.Plan = tt.status, tt.plan
			s.counts(&reports, payment.UsageOutcome{Tally: payment.Tally{Used: 3}})
			_, err := s.ConsumeUsage(s.ctx, owner, request(3, ""))
			require.NoError(t, err)
			limit := int64(-1)
			if reports[0].Allowance != nil {
				limit = *reports[0].Allowance
			}
			assert.Equal(t, "the limit", limit, tt.limit)
		})
	}
}
