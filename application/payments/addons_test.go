package payments_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// pack is an add-on.
var pack = payment.Plan{ID: "pack", Name: "Pack", Price: payment.Money{Amount: 500, Currency: "usd"},
	Interval: payment.Month, IntervalCount: 1, PriceRef: "price_pack", Limits: map[string]int64{"members": 4}}

// extendable returns a service whose workspace has a subscription, and whose org sells an add-on.
func extendable(t *testing.T) *mockedService {
	s := mockedWith(t, subscribed("pm_1"))
	rate := payment.Rate{Ref: "price_basic", Price: plans[0].Price, Interval: payment.Month, IntervalCount: 1}
	s.kept.Subscription.Item = payment.SoldItem{ID: "si_1", Rate: rate}
	s.kept.Subscription.Items = []payment.Item{{ID: "si_1", Rate: rate, Quantity: 1}}
	plan := plans[0]
	plan.Limits = map[string]int64{"members": 1}
	s.terms.Plans, s.terms.AddOns = payment.Plans{plan}, payment.Plans{pack}
	return s
}

func TestAnAddOnIsBought(t *testing.T) {
	s := extendable(t)
	order := payment.Changes{AddOns: []payment.AddOnOrder{{ID: "pack", Quantity: 2}}}
	bought := held(payment.Active)
	bought.PlanRef = "price_basic"
	bought.Items = []payment.Item{{ID: "si_1", Rate: payment.Rate{Ref: "price_basic"}, Quantity: 1},
		{ID: "si_2", Rate: payment.Rate{Ref: "price_pack"}, Quantity: 2}}
	s.subscriptions.Amend(any, "k", customer1, payment.SubscriptionID("sub_1"), any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID, a payment.Amendment,
		) (payment.GatewaySubscription, error) {
			assert.That(t, len(a.AddOns) == 1 && a.AddOns[0] == payment.ItemOrder{Ref: "price_pack", Quantity: 2} &&
				!a.Resell && a.Item == "si_1", "%+v", a)
			return bought, nil
		})
	s.subscriptions.Subscriptions(any, customer1).AnyTimes().Return([]payment.GatewaySubscription{bought}, nil)
	v, err := s.ChangeSubscription(s.ctx, owner, "k", nil, order)
	require.NoError(t, err)
	assert.That(t, len(v.Parts) == 2 && v.Parts[1].Kind == payment.AddOnComponent && v.Parts[1].Quantity == 2,
		"%+v", v.Parts)
	limits, err := s.Quotas(s.ctx, identity.Actor{Org: "org", Workspace: "acme", At: now})
	require.NoError(t, err)
	assert.That(t, limits.Get(quota.Members) == 9, "%+v", limits)
}

func TestAnAddOnMustBeSold(t *testing.T) {
	s := extendable(t)
	unknown := payment.Changes{AddOns: []payment.AddOnOrder{{ID: "none", Quantity: 2}}}
	_, err := s.ChangeSubscription(s.ctx, owner, "k", nil, unknown)
	require.ErrorIs(t, err, payment.ErrAddOnNotFound)
	_, err = s.PreviewChange(s.ctx, owner, unknown)
	require.ErrorIs(t, err, payment.ErrAddOnNotFound)
	s.unsold = true
	_, err = s.ChangeSubscription(s.ctx, owner, "k", nil,
		payment.Changes{AddOns: []payment.AddOnOrder{{ID: "pack", Quantity: 2}}})
	require.ErrorIs(t, err, payment.ErrAddOnUnavailable)
	s.terms.AddOns[0].Retired = true
	assert.That(t, len(s.AddOns(owner)) == 0, "a retired add-on is offered")
}
