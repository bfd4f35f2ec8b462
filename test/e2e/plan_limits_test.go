package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const entitlements = payments + "/entitlements"

// limitedSettings sell two plans. Workspaces without a plan have the limits of the small one, as quotas.
const limitedSettings = `quotas: {prompt_templates: 1, prompt_versions: 1, chat_templates: 1, storage_bytes: 20000, members: 2, connections: 1, sources: 1, streams: 1}
    egress: {allow: [127.0.0.0/8]}
    registry: {agents: [{id: assistant, name: Assistant, version: 1.0.0}]}
    payments: {gateway: sandbox, grace_days: 7, plans: [
      {id: small, name: Small, price: {amount: 900, currency: usd}, interval: month, features: [Chats], limits: {prompt_templates: 1, prompt_versions: 1, chat_templates: 1, storage_bytes: 20000, members: 2, connections: 1, sources: 1, streams: 1, messages: 10}},
      {id: large, name: Large, price: {amount: 2900, currency: usd}, interval: month, limits: {prompt_templates: 100, prompt_versions: 100, chat_templates: 100, storage_bytes: 2000000, members: 50, connections: 40, sources: 40, streams: 40}}]}`

// limited is a workspace whose limits are reached with a code.
type limited struct {
	*realm
	shop  *shopWarehouse
	owner *client
	code  string
	slug  string
}

// full expects that a limit was reached, and that the large plan lifts it.
func (l *limited) full(t *testing.T, a *answer, name string) {
	t.Helper()
	a.problem(t, 409, l.code).has(t, map[string]string{"plan_limit.name": name, "plan_limit.upgrade_plan_id": "large"})
	if !strings.Contains(a.text, "The plan Large allows more") {
		t.Errorf("%s does not name the plan", a)
	}
}

func TestPlanLimits(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, limitedSettings)
		shop := newShop(t)
		for code, slug := range map[string]string{"quota_exceeded": "free", "plan_limit_reached": "paying"} {
			l := &limited{realm: r, shop: shop, owner: r.user(t, "owner", "--workspace", slug), code: code, slug: slug}
			if code == "plan_limit_reached" {
				l.owner.card(t, cardNumber)
				l.owner.subscribe(t, "small")
			}
			t.Run(code+": members", l.members)
			t.Run(code+": connections and sources", l.warehouses)
			t.Run(code+": streams", l.streams)
			t.Run(code+": templates", l.templates)
			t.Run(code+": texts", l.texts)
		}
	})
}

func (l *limited) members(t *testing.T) {
	o := l.owner
	invitations := "/api/workspaces/" + o.workspace + "/invitations"
	address := l.slug + "-guest@example.com"
	l.invite(t, o, address, "member")
	l.full(t, o.do(t, "POST", invitations, object{"email": "one.more@example.com", "role": "viewer"}), "members")
	token, _ := l.invite(t, o, address, "viewer") // renewing adds no one
	if token == "" {
		t.Error("the invitation was not renewed")
	}
	chat := chats + "/" + o.create(t, chats, object{"name": "one"}).at("id")
	l.full(t, o.do(t, "POST", chat+"/members", object{"email": "guest.of.chat@example.com", "role": "viewer"}),
		"members")
	o.do(t, "DELETE", chat, nil).is(t, 204)

	extra := l.user(t, "viewer", "--workspace", l.slug) // the command line adds members beyond the limit
	guest := l.person(t, l.slug+"-guest")
	l.full(t, accept(t, guest, token), "members")
	o.do(t, "DELETE", "/api/workspaces/"+o.workspace+"/members/"+extra.id, nil).is(t, 204)
	accept(t, guest, token).is(t, 200)
	o.get(t, entitlements).has(t, map[string]string{"limits.members.limit": "2", "limits.members.used": "2",
		"limits.members.remaining": "0", "limits.members.counted_by": "atrium"})
}

func (l *limited) warehouses(t *testing.T) {
	o := l.owner
	first := o.create(t, connections, l.shop.connection("secret")).at("id")
	l.full(t, o.do(t, "POST", connections, l.shop.connection("secret")), "connections")
	o.create(t, sources, l.shop.people(t, first))
	l.full(t, o.do(t, "POST", sources, l.shop.people(t, first)), "sources")
	o.do(t, "DELETE", connections+"/"+first, nil).is(t, 200)
	o.create(t, connections, l.shop.connection("secret"))
	l.full(t, o.do(t, "POST", connections+"/"+first+"/verify", object{"credential": l.shop.credential("secret")}),
		"connections")
	o.get(t, connections+"/"+first).has(t, map[string]string{"status": "revoked"})
}

func (l *limited) streams(t *testing.T) {
	first := l.owner.stream(t, "")
	l.full(t, l.owner.do(t, "GET", "/api/presence/stream", nil), "streams")
	l.owner.get(t, entitlements).has(t, map[string]string{"limits.streams.used": "1"})
	first.close()
	l.await(t, func() bool { return l.owner.get(t, entitlements).at("limits.streams.used") == "0" })
	l.owner.stream(t, "").close()
}

func (l *limited) templates(t *testing.T) {
	o := l.owner
	draft := func(i int) object { return object{"name": fmt.Sprint("template ", i), "type": "text"} }
	first := templates + "/" + o.create(t, templates, draft(1)).at("id")
	l.full(t, o.do(t, "POST", templates, draft(2)), "prompt_templates")
	o.do(t, "DELETE", first, nil).is(t, 204)
	second := templates + "/" + o.create(t, templates, draft(3)).at("id")
	l.full(t, o.do(t, "POST", first+"/restore", nil), "prompt_templates")
	o.create(t, second+"/versions", object{"text": "x"})
	l.full(t, o.do(t, "POST", second+"/versions", object{"text": "y"}), "prompt_versions")

	chat := chats + "/" + o.create(t, chats, object{"name": "first"}).at("id")
	l.full(t, o.do(t, "POST", chats, object{"name": "second"}), "chat_templates")
	o.do(t, "DELETE", chat, nil).is(t, 204)
	o.create(t, chats, object{"name": "third"})
	l.full(t, o.do(t, "POST", chat+"/restore", nil), "chat_templates")
}

func (l *limited) texts(t *testing.T) {
	o, long := l.owner, strings.Repeat("x", 15_000)
	prompt := templates + "/" + o.get(t, templates).at("data.0.id")
	chat := chats + "/" + o.get(t, chats).at("data.0.id")
	l.full(t, o.do(t, "PATCH", prompt+"/versions/v1", object{"text": strings.Repeat("x", 20_000)}), "storage_bytes")
	o.do(t, "PATCH", prompt, object{"metadata": object{"x": strings.Repeat("x", 9_000)}}).is(t, 200)
	l.full(t, o.do(t, "PATCH", chat, object{"instructions": long}), "storage_bytes")
	l.full(t, o.do(t, "PATCH", prompt, object{"metadata": object{"x": long}}), "storage_bytes")
	o.do(t, "PATCH", prompt, object{"name": "renamed"}).is(t, 200)
}

func TestADowngradeKeepsEverything(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+limitedSettings))
		o := s.user(t, "owner")
		o.card(t, cardNumber)
		o.subscribe(t, "large")
		var texts []string
		for i := range 3 {
			texts = append(texts, templates+"/"+
				o.create(t, templates, object{"name": fmt.Sprint("kept ", i), "type": "text"}).at("id"))
		}
		o.get(t, entitlements).has(t, map[string]string{"plan_id": "large", "limits.prompt_templates.limit": "100",
			"limits.prompt_templates.source": "plan", "limits.messages.limit": "null",
			"limits.messages.source": "none"})
		o.do(t, "PATCH", mine, object{"plan_id": "small"}).is(t, 200).has(t,
			map[string]string{"pending_change.plan_id": "small"})
		s.must(t, "payments", "sandbox", "advance", "32d")
		s.await(t, func() bool { return o.get(t, mine).at("plan_id") == "small" })
		o.get(t, entitlements).has(t, map[string]string{"plan_id": "small", "status": "active", "entitled": "true",
			"features.0": "Chats", "limits.prompt_templates.used": "3", "limits.prompt_templates.limit": "1",
			"limits.prompt_templates.remaining": "0"})
		for _, path := range texts {
			o.get(t, path)
		}
		o.do(t, "PATCH", texts[0], object{"name": "still mine"}).is(t, 200)
		o.do(t, "POST", templates, object{"name": "another", "type": "text"}).problem(t, 409, "plan_limit_reached")
		o.do(t, "DELETE", texts[0], nil).is(t, 204)
		o.do(t, "POST", templates, object{"name": "another", "type": "text"}).problem(t, 409, "plan_limit_reached")
	})
}

func TestUsageReports(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs:\n  - slug: default\n    "+limitedSettings))
		o, member := s.user(t, "owner"), s.user(t, "member")
		const usage = payments + "/usage"
		report := func(by *client, feature string, quantity any, extra ...string) *answer {
			body := object{"feature": feature, "quantity": quantity}
			if len(extra) > 0 {
				body["idempotency_key"] = extra[0]
			}
			return by.do(t, "POST", usage, body)
		}
		t.Run("without a plan the limit is 0, and usage counts", func(t *testing.T) {
			report(o, "messages", 2).is(t, 200).has(t, map[string]string{"used": "2", "limit": "0", "remaining": "0",
				"repeated": "false"})
			o.get(t, entitlements).has(t, map[string]string{"plan_id": "null", "status": "null", "entitled": "false",
				"features": "[]", "limits.messages.used": "2", "limits.messages.counted_by": "application",
				"limits.members.source": "quota"})
		})
		o.card(t, cardNumber)
		o.subscribe(t, "small")
		t.Run("a report with a key counts once", func(t *testing.T) {
			report(o, "messages", 7, "one").is(t, 200).has(t, map[string]string{"feature": "messages", "used": "7",
				"limit": "10", "remaining": "3", "repeated": "false"})
			report(o, "messages", 7, "one").is(t, 200).has(t, map[string]string{"used": "7", "repeated": "true"})
			report(o, "messages", 8, "one").problem(t, 422, "idempotency_key_reused")
			report(o, "messages", 5, "two").is(t, 200).has(t, map[string]string{"used": "12", "remaining": "0"})
			member.get(t, entitlements).has(t,
				map[string]string{"limits.messages.used": "12", "limits.messages.limit": "10",
					"limits.messages.remaining": "0"})
		})
		t.Run("the header Idempotency-Key works too", func(t *testing.T) {
			body := object{"feature": "messages", "quantity": 1}
			a := o.do(t, "POST", usage, body, "Idempotency-Key: h").is(t, 200)
			b := o.do(t, "POST", usage, body, "Idempotency-Key: h").is(t, 200)
			if a.text != b.text || b.header.Get("Idempotency-Replayed") != "true" || a.at("used") != "13" {
				t.Errorf("%s\n%s", a, b)
			}
		})
		t.Run("bad reports are refused", func(t *testing.T) {
			for _, quantity := range []any{0, -1_000_000_000_001, 1_000_000_000_001, 1.5, "3", nil} {
				report(o, "messages", quantity).problem(t, 422, "invalid_fields")
			}
			for _, feature := range []string{"tokens", "members", "storage_bytes"} {
				report(o, feature, 1).problem(t, 422, "unknown_feature")
			}
			report(o, "messages", 1, strings.Repeat("k", 256)).problem(t, 422, "invalid_fields")
			report(member, "messages", 1).problem(t, 403, "billing_role_required")
			o.do(t, "POST", usage, object{"feature": "messages", "quantity": 1},
				"Workspace-Id: wsp_01jb4rqnx1e5btz2s1v2j9k3mn").problem(t, 400, "workspace_mismatch")
		})
		t.Run("the next period begins at 0", func(t *testing.T) {
			s.must(t, "payments", "sandbox", "advance", "32d")
			report(o, "messages", 1).is(t, 200).has(t, map[string]string{"used": "1"})
		})
	})
}
