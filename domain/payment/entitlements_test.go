package payment_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
)

var metered = payment.Plans{
	{ID: "basic", Name: "Basic", Interval: payment.Month, IntervalCount: 1, Features: []string{"Chats"},
		Limits: map[string]int64{"members": 3, "messages": 100, "connections": 0}},
	{ID: "pro", Name: "Pro", Interval: payment.Month, IntervalCount: 1, Limits: map[string]int64{"members": 30}},
}

func TestEntitlements(t *testing.T) {
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	sub := func(plan payment.PlanID, status payment.Status) *payment.Subscription {
		return &payment.Subscription{Plan: plan, Status: status, PeriodStart: start, PeriodEnd: start.AddDate(0, 0, 28),
			PastDueSince: start}
	}
	const grace = 48 * time.Hour
	base := quota.Default()
	base.ChatTemplates = 7
	for name, tt := range map[string]struct {
		s        *payment.Subscription
		at       time.Time
		entitled bool
		want     map[string]payment.Allowance
	}{
		"a paid plan": {sub("basic", payment.Active), start, true, map[string]payment.Allowance{
			"members":        {Limit: 3, Used: 2, Origin: payment.PlanLimit},
			"connections":    {Limit: 0, Origin: payment.PlanLimit},
			"chat_templates": {Limit: 7, Used: 1, Origin: payment.QuotaLimit},
			"sources":        {Limit: quota.Unlimited, Origin: payment.NoLimit},
			"messages":       {Limit: 100, Used: 101, Origin: payment.PlanLimit, Counted: true},
		}},
		"a plan that does not limit a feature": {sub("pro", payment.Active), start, true, map[string]payment.Allowance{
			"members":  {Limit: 30, Used: 2, Origin: payment.PlanLimit},
			"messages": {Used: 101, Origin: payment.NoLimit, Counted: true},
		}},
		"the grace": {sub("basic", payment.PastDue), start.Add(grace - time.Second), true, map[string]payment.Allowance{
			"members": {Limit: 3, Used: 2, Origin: payment.PlanLimit},
		}},
		"the end of the grace": {sub("basic", payment.PastDue), start.Add(grace), false, map[string]payment.Allowance{
			"members":  {Limit: quota.Unlimited, Used: 2, Origin: payment.NoLimit},
			"messages": {Limit: 0, Used: 101, Origin: payment.PlanLimit, Counted: true},
		}},
		"no subscription": {nil, start, false, map[string]payment.Allowance{
			"messages": {Limit: 0, Used: 101, Origin: payment.PlanLimit, Counted: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := metered.Entitling(tt.s, nil, tt.at, grace)
			limits := metered.Limits(base, g)
			e := metered.Entitlements(&payment.Customer{Subscription: tt.s}, g, tt.at, grace, limits,
				quota.Amounts{Members: 2, ChatTemplates: 1}, map[string]payment.Tally{"messages": {Used: 101}})
			assert.That(t, e.Entitled == tt.entitled && (e.Plan != nil) == tt.entitled,
				"entitled %v to %v", e.Entitled, e.Plan)
			got := map[string]payment.Allowance{}
			for _, a := range e.Limits {
				name := a.Name
				a.Name = ""
				got[name] = a
			}
			for name, want := range tt.want {
				if want.Counted {
					want.Period = e.Period
				}
				if !reflect.DeepEqual(got[name], want) {
					t.Errorf("%s: %+v, want %+v", name, got[name], want)
				}
			}
			_, listed := got["streams"]
			assert.That(t, !listed && len(got) == len(quota.Kinds()), "limits %+v", got)
		})
	}
}

func TestNewUsageReport(t *testing.T) {
	period := payment.Period{Start: now.AddDate(0, 0, -10), End: now.AddDate(0, 0, 20)}
	request := func(feature string, quantity int64) payment.UsageRequest {
		return payment.UsageRequest{Feature: feature, Quantity: quantity, Key: "k"}
	}
	moment := func(at time.Time) payment.UsageRequest {
		w := request("messages", 1)
		w.Timestamp = at
		return w
	}
	for name, tt := range map[string]struct {
		role    identity.Role
		request payment.UsageRequest
		at      time.Time
		want    error
	}{
		"an admin reports usage":         {identity.Admin, request("messages", 1), now, nil},
		"the largest quantity":           {identity.Admin, request("messages", payment.MaxUsage), now, nil},
		"a larger quantity":              {identity.Admin, request("messages", payment.MaxUsage+1), now, fault.ErrInvalid},
		"nothing":                        {identity.Admin, request("messages", 0), now, fault.ErrInvalid},
		"a correction":                   {identity.Admin, request("messages", -1), now, nil},
		"the largest correction":         {identity.Admin, request("messages", -payment.MaxUsage), now, nil},
		"a larger correction":            {identity.Admin, request("messages", -payment.MaxUsage-1), now, fault.ErrInvalid},
		"since the period began":         {identity.Admin, moment(period.Start), period.Start, nil},
		"before the period":              {identity.Admin, moment(period.Start.Add(-1)), now, fault.ErrInvalid},
		"by a clock that is a bit ahead": {identity.Admin, moment(now.Add(5 * time.Minute)), now.Add(5 * time.Minute), nil},
		"in the future":                  {identity.Admin, moment(now.Add(5*time.Minute + 1)), now, fault.ErrInvalid},
		"an unknown feature":             {identity.Admin, request("tokens", 1), now, payment.ErrUnknownFeature},
		"a feature that Atrium counts":   {identity.Admin, request("members", 1), now, payment.ErrUnknownFeature},
		"a member cannot report usage":   {identity.Member, request("messages", 1), now, payment.ErrRoleRequired},
		"someone outside the workspace":  {identity.NoRole, request("messages", 1), now, identity.ErrWorkspaceNotFound},
	} {
		by := identity.Actor{Org: "org", Workspace: "acme", User: "ann", Role: tt.role, Ceiling: identity.Owner}
		got, err := payment.NewUsageReport(by, metered, tt.request, period, now)
		want := payment.UsageReport{
			Feature: "messages", Quantity: tt.request.Quantity, Key: "k", At: tt.at, Period: period,
		}
		assert.That(t, errors.Is(err, tt.want) && (tt.want != nil || got == want), "%s: %+v, %v", name, got, err)
	}
}

func TestASumStaysBetweenZeroAndItsLimit(t *testing.T) {
	limit := int64(10)
	for name, tt := range map[string]struct {
		sum, quantity int64
		limit         *int64
		want          int64
		err           error
	}{
		"usage":                         {3, 4, nil, 7, nil},
		"beyond any limit":              {9, 4, nil, 13, nil},
		"to its limit":                  {6, 4, &limit, 10, nil},
		"beyond its limit":              {7, 4, &limit, 7, payment.ErrUsageLimit},
		"a correction":                  {7, -4, nil, 3, nil},
		"a correction of all":           {7, -7, nil, 0, nil},
		"a correction of more":          {7, -8, nil, 7, payment.ErrUsageBelowZero},
		"a sum that cannot be larger":   {payment.MaxUsageSum - 1, 2, nil, payment.MaxUsageSum, nil},
		"a correction beyond its limit": {20, -1, &limit, 19, nil},
	} {
		tally := payment.Tally{Used: tt.sum}
		err := tally.Add(&payment.UsageReport{Quantity: tt.quantity, Allowance: tt.limit, IsLimited: tt.limit != nil})
		assert.That(t, tally.Used == tt.want && errors.Is(err, tt.err), "%s: %d, %v", name, tally.Used, err)
	}
}

func TestAHistoryHasUpToAYear(t *testing.T) {
	day := payment.DayOfUsage(now)
	for days, want := range map[int]error{0: payment.ErrUsageDays, 1: nil, 366: nil, 367: payment.ErrUsageDays} {
		assert.ErrorIs(t, payment.CheckUsageDays(day.AddDate(0, 0, 1-days), day), want)
	}
}
