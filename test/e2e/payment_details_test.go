package e2e

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/stripeapi"
)

const billingDetails = payments + "/details"

// company are billing details with every field.
func company() object {
	return object{
		"name": "Acme GmbH", "email": "bills@example.com",
		"address": object{"line1": "Am Markt 1", "line2": "2. Stock", "city": "Köln", "postal_code": "50667",
			"state": "NW", "country": "DE"},
		"tax_ids": []object{{"type": "eu_vat", "value": "DE123456789"}},
	}
}

func TestBillingDetails(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, sold, func(d *deployment) {
			configured("orgs:\n  - slug: default\n    " + strings.Replace(soldSettings, "grace_days: 7,",
				"grace_days: 7, automatic_tax: true,", 1))(d)
		})
		ann, member := s.user(t, "owner"), s.user(t, "member")
		t.Run("a workspace that has entered none", func(t *testing.T) {
			ann.get(t, billingDetails).has(t, map[string]string{
				"name": "null", "email": "null", "address": "null", "tax_ids": "[]", "gateway": "sandbox",
			})
			member.do(t, "GET", billingDetails, nil).problem(t, 403, "billing_role_required")
			member.do(t, "PUT", billingDetails, company()).problem(t, 403, "billing_role_required")
		})
		t.Run("automatic tax needs an address", func(t *testing.T) {
			ann.card(t, cardNumber)
			ann.do(t, "POST", payments+"/subscriptions", object{"plan_id": "basic"}).problem(t, 422,
				"billing_address_invalid")
			ann.do(t, "POST", packPath, object{"credit_pack_id": "pack"}).problem(t, 422, "billing_address_invalid")
			ann.do(t, "GET", mine, nil).problem(t, 404, "no_active_subscription")
		})
		t.Run("wrong ones are refused, and the old ones stay", func(t *testing.T) {
			for field, d := range map[string]object{
				"/address/country": {"address": object{"country": "XX"}},
				"/tax_ids/0/type":  {"tax_ids": []object{{"type": "eu_tav", "value": "DE123456789"}}},
				"/name":            {"name": "A\u202eB"},
				"/address/street":  {"address": object{"country": "DE", "street": "x"}},
				"/email":           {"email": "nobody"},
			} {
				ann.do(t, "PUT", billingDetails, d).problem(t, 422, "invalid_fields").has(t,
					map[string]string{"errors.0.pointer": field})
			}
			ann.do(t, "PUT", billingDetails, object{"tax_ids": []object{{"type": "eu_vat",
				"value": "nonsense"}}}).problem(t, 422, "tax_id_invalid")
			ann.do(t, "PUT", billingDetails, object{"address": object{"country": "US"}}).problem(t, 422,
				"billing_address_invalid")
			ann.get(t, billingDetails).has(t, map[string]string{"name": "null", "address": "null", "tax_ids": "[]"})
		})
		t.Run("they are shown, and so are they and the tax on invoices", func(t *testing.T) {
			d := company()
			d["tax_ids"] = []object{}
			ann.do(t, "PUT", billingDetails, d).is(t, 200).has(t, map[string]string{
				"name": "Acme GmbH", "email": "bills@example.com", "address.city": "Köln",
				"address.country": "DE", "tax_ids": "[]",
			})
			ann.get(t, billingDetails).has(t, map[string]string{"address.line2": "2. Stock", "address.state": "NW"})
			ann.subscribe(t, "basic")
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.subtotal.amount": "900", "data.0.tax.amount": "180", "data.0.total.amount": "1080",
				"data.0.amount_paid.amount":   "1080",
				"data.0.billing_details.name": "Acme GmbH", "data.0.billing_details.address.postal_code": "50667",
			})
			ann.do(t, "PUT", billingDetails, company()).is(t, 200).has(t,
				map[string]string{"tax_ids.0.value": "DE123456789"})
			s.must(t, "payments", "sandbox", "advance", "32d")
			s.await(t, func() bool { return ann.get(t, payments+"/invoices").at("data.1.id") != "" })
			ann.get(t, payments+"/invoices").has(t, map[string]string{
				"data.0.tax.amount": "0", "data.0.billing_details.tax_ids.0.value": "DE123456789",
				"data.1.billing_details.tax_ids": "[]",
			})
		})
		t.Run("without an answer the old ones stay", func(t *testing.T) {
			for trouble, want := range map[string]struct {
				status int
				code   string
			}{"error": {503, "gateway_unavailable"}, "timeout_after": {504, "gateway_timeout"}} {
				s.must(t, "payments", "sandbox", "provoke", trouble, trouble, trouble, trouble, trouble, trouble)
				ann.do(t, "PUT", billingDetails, object{"name": "Other"}).problem(t, want.status, want.code)
				s.must(t, "payments", "sandbox", "provoke")
				ann.get(t, billingDetails).has(t, map[string]string{"name": "Acme GmbH"})
			}
		})
		t.Run("the audit trail names what changed, and not the values", func(t *testing.T) {
			a := ann.get(t, "/api/events?type=payment_details.changed").has(t,
				map[string]string{"data.0.data.changed": `["tax_ids"]`})
			if strings.Contains(a.text, "DE123456789") || strings.Contains(a.text, "Acme GmbH") {
				t.Error(a)
			}
		})
	})
}

func TestDetailsReachStripe(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		api, stripe := newStripe(t)
		s := start(t, engine, stripe)
		ann := s.user(t, "owner")
		customer := ann.customer(t)
		contains := func(name, email string) func() bool {
			return func() bool {
				actual, destination, _, _ := api.Described(customer)
				return actual == name && destination == email
			}
		}
		t.Run("a workspace is renamed while Stripe is away", func(t *testing.T) {
			api.Provoke(whose(stripeapi.Unavailable, "POST /v1/customers", "GET /v1/customers"))
			ann.do(t, "PATCH", "/api/workspaces/"+ann.workspace, object{"name": "Other Name"}).is(t, 200)
			s.await(t, func() bool {
				return s.only(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'payment.details' AND state = 'queued'`) == "1"
			})
			api.Provoke(nil)
			// The job has ended, too: else it may reach Stripe after the next change, which another job then repeats.
			s.await(t, func() bool {
				s.sql(t, `UPDATE jobs SET due_at = 1
					WHERE kind = 'payment.details' AND state = 'queued' AND due_at > 1`)
				return s.only(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'payment.details'
					AND state <> 'succeeded'`) == "0" && contains("Other Name", ann.email)()
			})
		})
		t.Run("billing details", func(t *testing.T) {
			ann.do(t, "PUT", billingDetails, company()).is(t, 200)
			name, email, country, taxIDs := api.Described(customer)
			if name != "Acme GmbH" || email != "bills@example.com" || country != "DE" || len(taxIDs) != 1 {
				t.Error(name, email, country, taxIDs)
			}
			ann.do(t, "PUT", billingDetails, object{}).is(t, 200)
			s.await(t, contains("Other Name", ann.email))
		})
		t.Run("a gateway that makes no sense", func(t *testing.T) {
			api.Provoke(whose(stripeapi.Garbage, "POST /v1/customers", "GET /v1/customers"))
			ann.do(t, "PUT", billingDetails, company()).problem(t, 502, "gateway_error")
			api.Provoke(nil)
			ann.get(t, billingDetails).has(t, map[string]string{"name": "null"})
			s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'payment.details' AND state = 'queued'`)
			s.await(t, contains("Other Name", ann.email))
		})
	})
}
