package e2e

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

const previewPath = mine + "/preview"

func TestPreviewsOfChanges(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold)
		ann, member := s.user(t, "owner"), s.user(t, "member")
		upgrade := object{"plan_id": "pro"}
		ann.do(t, "POST", previewPath, upgrade).problem(t, 404, "no_active_subscription")
		ann.card(t, cardNumber)
		ann.subscribe(t, "basic")
		member.do(t, "POST", previewPath, upgrade).problem(t, 403, "billing_role_required")
		ann.do(t, "POST", previewPath, object{"plan_id": "other"}).problem(t, 404, "plan_not_found")

		t.Run("a change costs what its preview says", func(t *testing.T) {
			s.must(t, "payments", "sandbox", "advance", "10d")
			p := ann.do(t, "POST", previewPath, upgrade).is(t, 200)
			p.has(t, map[string]string{
				"plan_id": "pro", "quantity": "1", "at_renewal": "false", "due_next.amount": "2900",
				"credit.amount": "0",
				"due_next_at":   ann.get(t, mine).at("current_period_end"), "gateway": "sandbox",
			})
			ann.get(t, mine).has(t, map[string]string{"plan_id": "basic"})
			ann.do(t, "PATCH", mine, object{"plan_id": "pro", "preview": p.at("signature")}).is(t, 200)
			ann.get(t, payments+"/invoices").has(t,
				map[string]string{"data.0.amount_paid.amount": p.at("due_today.amount")})
		})
		t.Run("a promotion code", func(t *testing.T) {
			extra := object{"quantity": 2, "promotion_code": "tenoff"}
			ann.do(t, "POST", previewPath, object{"quantity": 2, "promotion_code": "EXPIRED"}).
				problem(t, 422, "promotion_code_invalid")
			p := ann.do(t, "POST", previewPath, extra).is(t, 200)
			p.has(t, map[string]string{"due_next.amount": "5220"})
			extra["preview"] = p.at("signature")
			other := object{"quantity": 2, "preview": p.at("signature")}
			ann.do(t, "PATCH", mine, other).problem(t, 409, "preview_outdated")
			ann.do(t, "PATCH", mine, extra).is(t, 200).has(t, map[string]string{"discount.percent_off": "10"})
			ann.get(t, payments+"/invoices").has(t,
				map[string]string{"data.0.amount_paid.amount": p.at("due_today.amount")})
			ann.do(t, "DELETE", mine, nil).is(t, 204)
			ann.subscribe(t, "pro")
		})
		reductions := object{"plan_id": "basic"}
		old := ann.do(t, "POST", previewPath, reductions).is(t, 200)
		old.has(t, map[string]string{"at_renewal": "true", "due_today.amount": "0", "due_next.amount": "900"})
		carriedValues := func(change object, signature string) object {
			extra := object{"preview": signature}
			for name, value := range change {
				extra[name] = value
			}
			return extra
		}
		t.Run("another change, another subscription, or another price is refused", func(t *testing.T) {
			other := object{"plan_id": "basic", "quantity": 2}
			ann.do(t, "PATCH", mine, carriedValues(other, old.at("signature"))).problem(t, 409, "preview_outdated")
			s.must(t, "payments", "sandbox", "advance", "16m")
			ann.do(t, "PATCH", mine, carriedValues(reductions, old.at("signature"))).problem(t, 409, "preview_outdated")
			previous := ann.do(t, "POST", previewPath, object{"quantity": 3}).is(t, 200)
			ann.do(t, "PATCH", mine, object{"quantity": 2}).is(t, 200)
			ann.do(t, "PATCH", mine, carriedValues(object{"quantity": 3}, previous.at("signature"))).
				problem(t, 409, "preview_outdated")
			ann.get(t, mine).has(t, map[string]string{"plan_id": "pro", "quantity": "2", "pending_change": "null"})
		})
		t.Run("a preview of another workspace does not exist", func(t *testing.T) {
			bob := s.user(t, "owner", "--workspace", "elsewhere")
			bob.card(t, cardNumber)
			bob.subscribe(t, "pro")
			p := bob.do(t, "POST", previewPath, reductions).is(t, 200)
			ann.do(t, "PATCH", mine, carriedValues(reductions, p.at("signature"))).problem(t, 404, "preview_not_found")
			ann.do(t, "PATCH", mine, carriedValues(reductions, "forged")).problem(t, 404, "preview_not_found")
		})
		t.Run("a subscription that ends has no preview of another plan", func(t *testing.T) {
			ann.do(t, "PATCH", mine, object{"cancel_at_period_end": true}).is(t, 200)
			ann.do(t, "POST", previewPath, reductions).problem(t, 409, "subscription_ends")
		})
	})
}

func TestPreviewsOfAGatewayThatFails(t *testing.T) {
	t.Parallel()
	api, stripe := newStripe(t)
	s := start(t, sqlite, stripe)
	ann := s.user(t, "owner")
	api.AddCard(ann.customer(t), "4242")
	ann.subscribe(t, "basic")
	upgrade := object{"plan_id": "pro"}
	p := ann.do(t, "POST", previewPath, upgrade).is(t, 200)
	p.has(t, map[string]string{"due_today.amount": "2000", "due_next.amount": "2900"})
	api.Provoke(whose(stripeapi.Garbage, "POST /v1/invoices/create_preview"))
	ann.do(t, "POST", previewPath, upgrade).problem(t, 502, "gateway_error")
	ann.do(t, "PATCH", mine, object{"plan_id": "pro", "preview": p.at("signature")}).problem(t, 502, "gateway_error")
	api.Provoke(whose(stripeapi.Dropped, "POST /v1/invoices/create_preview"))
	ann.do(t, "POST", previewPath, upgrade).problem(t, 503, "gateway_unavailable")
	api.Provoke(whose(stripeapi.Silent, "POST /v1/invoices/create_preview"))
	ann.do(t, "POST", previewPath, upgrade).problem(t, 504, "gateway_timeout")
	api.Provoke(nil)
	a := ann.do(t, "PATCH", mine, object{"plan_id": "pro", "preview": p.at("signature")}).is(t, 200)
	a.has(t, map[string]string{"plan_id": "pro"})
	if charges := api.Charges(); len(charges) != 2 || charges[1].Amount != 2000 {
		t.Errorf("%+v", charges)
	}
}
