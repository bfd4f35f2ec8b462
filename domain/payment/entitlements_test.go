package payment_test

import (
	"errors"
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
			limits := metered.Limits(base, metered.Entitling(tt.s, tt.at, grace))
			e := metered.Entitlements(&payment.Customer{Subscription: tt.s}, tt.at, grace, limits,
				quota.Amounts{Members: 2, ChatTemplates: 1}, map[string]int64{"messages": 101})
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
				if got[name] != want {
					t.Errorf("%s: %+v, want %+v", name, got[name], want)
				}
			}
			_, listed := got["streams"]
			assert.That(t, !listed && len(got) == len(quota.Kinds()), "limits %+v", got)
		})
	}
}

func TestNewUsageReport(t *testing.T) {
	for name, tt := range map[string]struct {
		role     identity.Role
		feature  string
		quantity int64
		want     error
	}{
		"an admin reports usage":        {identity.Admin, "messages", 1, nil},
		"the largest quantity":          {identity.Admin, "messages", payment.MaxUsage, nil},
		"a larger quantity":             {identity.Admin, "messages", payment.MaxUsage + 1, fault.ErrInvalid},
		"nothing":                       {identity.Admin, "messages", 0, fault.ErrInvalid},
		"a negative quantity":           {identity.Admin, "messages", -1, fault.ErrInvalid},
		"an unknown feature":            {identity.Admin, "tokens", 1, payment.ErrUnknownFeature},
		"a feature that Atrium counts":  {identity.Admin, "members", 1, payment.ErrUnknownFeature},
		"a member cannot report usage":  {identity.Member, "messages", 1, payment.ErrRoleRequired},
		"someone outside the workspace": {identity.NoRole, "messages", 1, identity.ErrWorkspaceNotFound},
	} {
		by := identity.Actor{Org: "org", Workspace: "acme", User: "ann", Role: tt.role, Ceiling: identity.Owner}
		got, err := payment.NewUsageReport(by, metered, tt.feature, tt.quantity, "k", payment.Period{})
		assert.That(t, errors.Is(err, tt.want) && (tt.want != nil || got == (payment.UsageReport{Feature: tt.feature,
			Quantity: tt.quantity, Key: "k"})), "%s: %+v, %v", name, got, err)
	}
}
