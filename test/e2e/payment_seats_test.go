package e2e

import (
	"testing"
)

const seatSettings = `payments: {gateway: sandbox, grace_days: 7, plans: [
      {id: team, name: Team, price: {amount: 900, currency: usd}, interval: month,
        limits: {members: {per_seat: 1}, sources: 5, messages: {per_seat: 100}}}]}`

func TestSeats(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+seatSettings))
		o := s.user(t, "owner", "--workspace", "seated")
		invitations := "/api/workspaces/" + o.workspace + "/invitations"
		invite := func(t *testing.T, name string) *answer {
			t.Helper()
			return o.do(t, "POST", invitations, object{"email": name + "@example.com", "role": "viewer"})
		}
		o.card(t, cardNumber)
		t.Run("a plan names what each seat has", func(t *testing.T) {
			o.get(t, payments+"/plans").has(t, map[string]string{"data.0.limits": `{"sources":5}`,
				"data.0.limits_per_seat.members": "1", "data.0.limits_per_seat.messages": "100"})
		})
		o.create(t, payments+"/subscriptions", object{"plan_id": "team", "quantity": 2})
		t.Run("limits are those of all seats", func(t *testing.T) {
			o.get(t, entitlements).has(t, map[string]string{"limits.members.limit": "2", "limits.members.used": "1",
				"limits.members.source": "plan", "limits.messages.limit": "200", "limits.sources.limit": "5"})
		})
		t.Run("a refusal names the quantity that allows one more", func(t *testing.T) {
			invite(t, "two").is(t, 201)
			invite(t, "three").problem(t, 409, "plan_limit_reached").has(t, map[string]string{
				"plan_limit.name": "members", "plan_limit.limit": "2", "plan_limit.quantity": "3",
				"plan_limit.upgrade_plan_id": "null",
				"detail": "The plan of this workspace limits members to 2. Raise the quantity of the plan to 3, " +
					"or delete what you no longer need."})
		})
		t.Run("a seat more is bought at the price of its preview", func(t *testing.T) {
			preview := o.do(t, "POST", mine+"/preview", object{"quantity": 3}).is(t, 200)
			o.do(t, "PATCH", mine, object{"quantity": 3, "preview": preview.at("signature")}).is(t, 200)
			invite(t, "three").is(t, 201)
			o.get(t, entitlements).has(t, map[string]string{"limits.members.limit": "3",
				"limits.members.remaining": "0"})
		})
	})
}

const crewSettings = `payments: {gateway: sandbox, grace_days: 7, plans: [
      {id: crew, name: Crew, price: {amount: 900, currency: usd}, interval: month, seats: members}]}`

func TestSeatsFollowTheMembers(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+crewSettings))
		o := s.user(t, "owner", "--workspace", "seated")
		invitations := "/api/workspaces/" + o.workspace + "/invitations"
		invite := func(t *testing.T, name string) *answer {
			t.Helper()
			return o.do(t, "POST", invitations, object{"email": name + "@example.com", "role": "viewer"})
		}
		invite(t, "two").is(t, 201)
		o.card(t, cardNumber)
		o.get(t, payments+"/plans").has(t, map[string]string{"data.0.seats": "members",
			"data.0.limits_per_seat": `{"members":1}`})
		t.Run("each member and open invitation needs a seat", func(t *testing.T) {
			one := object{"plan_id": "crew", "quantity": 1}
			o.do(t, "POST", payments+"/subscriptions", one).problem(t, 409, "seats_in_use")
			o.do(t, "POST", payments+"/checkout-session", object{"plan_id": "crew", "quantity": 1,
				"success_url": "http://localhost/a", "cancel_url": "http://localhost/b"}).
				problem(t, 409, "seats_in_use")
			o.create(t, payments+"/subscriptions", object{"plan_id": "crew"}).has(t,
				map[string]string{"subscription.quantity": "2", "subscription.plan.seats": "members"})
			o.get(t, entitlements).has(t, map[string]string{"limits.members.limit": "2", "limits.members.used": "2"})
		})
		var third string
		t.Run("one more needs one more", func(t *testing.T) {
			invite(t, "three").problem(t, 409, "plan_limit_reached").has(t,
				map[string]string{"plan_limit.quantity": "3"})
			o.do(t, "PATCH", mine, object{"quantity": 3}).is(t, 200)
			third = invite(t, "three").is(t, 201).at("id")
		})
		t.Run("seats in use cannot be given up", func(t *testing.T) {
			s.await(t, func() bool { // jobs that follow the members change the subscription, too
				return s.only(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'payment.details' AND ended_at = 0`) == "0"
			})
			o.do(t, "PATCH", mine, object{"quantity": 2}).problem(t, 409, "seats_in_use")
			o.do(t, "POST", mine+"/preview", object{"quantity": 2}).problem(t, 409, "seats_in_use")
		})
		t.Run("one less is a seat less from the renewal on, unless another comes", func(t *testing.T) {
			o.do(t, "DELETE", invitations+"/"+third, nil).is(t, 204)
			s.await(t, func() bool { return o.get(t, mine).at("pending_change.quantity") == "2" })
			third = invite(t, "four").is(t, 201).at("id")
			s.await(t, func() bool { return o.get(t, mine).at("pending_change") == "null" })
			o.do(t, "DELETE", invitations+"/"+third, nil).is(t, 204)
			s.await(t, func() bool { return o.get(t, mine).at("pending_change.quantity") == "2" })
			s.must(t, "payments", "sandbox", "advance", "32d")
			s.await(t, func() bool { return o.get(t, mine).at("quantity") == "2" })
			o.get(t, payments+"/invoices").has(t, map[string]string{"data.0.total.amount": "1800"})
		})
	})
}
