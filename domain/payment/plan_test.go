package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
)

func TestARetiredPlanIsKeptAndNotBought(t *testing.T) {
	retired := pro
	retired.Retired, retired.Limits = true, map[string]int64{"members": 3}
	sold, seats := payment.Plans{basic, retired}, 3
	t.Run("nobody subscribes to it", func(t *testing.T) {
		_, err := customer(card("pm_1", 1)).Subscribe(owner, now, "k",
			payment.SubscribeRequest{Plan: "pro", Quantity: 1}, sold)
		wantErr(t, err, payment.ErrPlanUnavailable)
	})
	t.Run("nobody changes to it", func(t *testing.T) {
		_, err := subscribed("basic", payment.Active, card("pm_1", 1)).ChangeSubscription(owner, "k", nil,
			payment.Changes{Plan: &retired.ID}, sold)
		wantErr(t, err, payment.ErrPlanUnavailable)
	})
	t.Run("who has it buys more seats of it", func(t *testing.T) {
		c := subscribed("pro", payment.Active, card("pm_1", 1))
		_, err := c.ChangeSubscription(owner, "k", nil, payment.Changes{Quantity: &seats}, sold)
		wantErr(t, err, nil)
	})
	t.Run("who has it keeps its limits", func(t *testing.T) {
		held := sold.Entitling(subscribed("pro", payment.Active).Subscription, now, time.Hour)
		if limits := sold.Limits(quota.Amounts{}, held); limits.Get("members") != 3 {
			t.Errorf("%+v", limits)
		}
	})
	t.Run("no limit advises to buy it", func(t *testing.T) {
		if others := sold.Limits(quota.Amounts{}, nil).Others; len(others) != 1 || others[0].ID != "basic" {
			t.Errorf("%+v", others)
		}
	})
	t.Run("only who has it sees it", func(t *testing.T) {
		if all := sold.Offered("pro"); len(all) != 2 {
			t.Errorf("%+v", all)
		}
		if all := sold.Offered("basic"); len(all) != 1 || all[0].ID != "basic" {
			t.Errorf("%+v", all)
		}
	})
}
