package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestTwoIssuers serves an org that accepts the tokens of its own provider and of a partner's, which may vouch for
// partner.test.
func TestTwoIssuers(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		ownIssuer, partner := fixture.NewIssuer(t, "ES256"), fixture.NewIssuer(t, "ES256")
		s := start(t, engine, configured(fmt.Sprintf(`
orgs:
  - slug: default
    sign_up: open
    issuers:
      - {url: %[1]q, audiences: [atrium], trust_email: true}
      - {url: %[2]q, audiences: [atrium], email_domains: [partner.test]}
    claim_rules:
      - {issuer: %[1]q, claim: groups, value: engineering, workspace: research, role: owner}
      - {issuer: %[1]q, claim: groups, value: ops, operator: true}
      - {issuer: %[2]q, claim: groups, value: guests, workspace: research, role: viewer}
`, ownIssuer.URL, partner.URL)))
		corp, evil := &realm{s, ownIssuer}, &realm{s, partner}
		s.user(t, "owner", "--workspace", "research")
		staff := object{"groups": []string{"engineering", "ops"}}
		ceo := corp.person(t, "ceo", staff)

		t.Run("a partner's issuer takes over neither accounts nor roles", func(t *testing.T) {
			for _, extra := range []object{{}, staff} {
				batch := evil.person(t, "evil", object{"email": ceo.email}, extra)
				if batch.id == ceo.id {
					t.Fatalf("the partner's token opens the account of %s: %s", ceo.email, batch.get(t, "/api/me"))
				}
				batch.get(t, "/api/me").has(t, map[string]string{"user.email": "null", "user.operator": "false",
					"workspaces.0.id": ""})
				batch.do(t, "POST", "/api/api-keys", object{"name": "evil"}, "Workspace-Id: research").problem(t, 404,
					"workspace_not_found")
			}
			ceo.get(t, "/api/me").has(t, map[string]string{"user.operator": "true", "workspaces.0.my_role": "owner"})
		})
		t.Run("an account from a partner's issuer does not become a later user's", func(t *testing.T) {
			early := evil.person(t, "early", object{"email": "cfo@example.com"})
			cfo := corp.person(t, "cfo")
			if early.id == cfo.id {
				t.Fatal("the account that the partner's issuer made is theirs")
			}
			cfo.get(t, "/api/me").has(t, map[string]string{"user.email": "cfo@example.com"})
		})
		t.Run("a partner's issuer vouches for its own domain, and its rules apply to its own tokens",
			func(t *testing.T) {
				knownText := "pat@partner.test"
				s.must(t, "user", "create", "--email", knownText, "--role", "member")
				pat := evil.person(t, "pat", object{"email": knownText, "groups": []string{"guests", "engineering"}})
				pat.get(t, "/api/me").has(t, map[string]string{
					"user.email": knownText, "workspaces.0.slug": "research", "workspaces.0.my_role": "viewer",
					"workspaces.1.slug": "default", "workspaces.1.my_role": "member",
				})
			})
		t.Run("a token of one issuer takes nothing that the rules of the other gave", func(t *testing.T) {
			s.must(t, "user", "link", "--email", ceo.email, "--issuer", partner.URL, "--subject", "ceo-at-partner")
			abroad := evil.person(t, "ceo-at-partner", object{"email": ceo.email})
			abroad.get(t, "/api/me").has(t, map[string]string{"user.id": ceo.id, "user.operator": "true",
				"workspaces.0.my_role": "owner", "workspaces.1.id": ""})
			corp.again(ceo, "ceo").get(t, "/api/me").has(t,
				map[string]string{"user.operator": "false", "workspaces.0.id": ""})
		})
		t.Run("an operator of the deployment sees who verified an address", func(t *testing.T) {
			for email, by := range map[string]string{"cfo@example.com": ownIssuer.URL, "pat@partner.test": "operator"} {
				var out object
				if err := json.Unmarshal([]byte(s.must(t, "user", "show", "--email", email, "--json")),
					&out); err != nil || out["email_verified_by"] != by {
					t.Errorf("%s: %v, %v", email, out, err)
				}
			}
			if text := s.must(t, "user", "show", "--email", "pat@partner.test"); !strings.Contains(text,
				"verified by operator") || !strings.Contains(text, "viewer of research, by the claim rules of "+
				partner.URL) {
				t.Error(text)
			}
		})
	})
}

// TestIssuersThatLeaveItOpen starts with configurations that do not say which issuer vouches for which address.
func TestIssuersThatLeaveItOpen(t *testing.T) {
	t.Parallel()
	ownIssuer, partner := fixture.NewIssuer(t, "ES256"), fixture.NewIssuer(t, "ES256")
	for name, tt := range map[string]struct{ more, rule, want string }{
		"a rule that names no issuer": {"", "claim_rules: [{claim: groups, value: ops, operator: true}]",
			"claim_rules[0].issuer: must be set where an org has several issuers"},
		"two that may vouch for the same, unsaid": {", email_domains: [partner.test]", "",
			"issuers[0].trust_email: must be set"},
		"one that is not trusted and lists domains": {", trust_email: false, email_domains: [partner.test]", "",
			"issuers[1].trust_email: must not be false"},
	} {
		t.Run(name+" is refused by doctor and at the start", func(t *testing.T) {
			d := deploy(t, sqlite, configured(
				fmt.Sprintf("orgs:\n  - slug: default\n    issuers: [{url: %q, audiences: [atrium]}, {url: %q, "+
					"audiences: [atrium]%s}]\n    %s\n", ownIssuer.URL, partner.URL, tt.more, tt.rule)))
			if got := d.run(t, "doctor"); got.code != 1 || !strings.Contains(got.stdout, "FAILED  configuration") ||
				!strings.Contains(got.stdout, tt.want) {
				t.Errorf("doctor: %+v", got)
			}
			if got := d.run(t, "serve"); got.code == 0 || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("serve: %+v", got)
			}
		})
	}
	t.Run("two issuers that vouch for the same domain cause a warning", func(t *testing.T) {
		d := deploy(t, sqlite, configured(fmt.Sprintf("orgs:\n  - slug: default\n    issuers: [{url: %q, audiences: "+
			"[atrium], trust_email: true}, {url: %q, audiences: [atrium], trust_email: true}]\n", ownIssuer.URL,
			partner.URL)))
		if got := d.run(t, "doctor"); got.code != 0 || !strings.Contains(got.stdout, "WARNING sign-in") ||
			!strings.Contains(got.stdout, ownIssuer.URL+" and "+partner.URL+" may vouch for the same addresses") {
			t.Errorf("doctor: %+v", got)
		}
	})
}

// withoutRefusals returns the number of events that are not about refused sign-ins.
func withoutRefusals(kinds []string) int {
	return len(slices.DeleteFunc(kinds, func(kind string) bool { return kind == "sign_in.refused" }))
}

func TestWhoMaySignUp(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, `sign_up: claims
    workspaces_by: operators
    personal_workspaces: true
    claim_rules:
      - {claim: groups, value: staff, workspace: default, role: member}
      - {claim: groups, value: ops, operator: true}`)
		owner := r.user(t, "owner")
		refuses := func(t *testing.T, c *client) {
			t.Helper()
			previous, _ := r.trail(t)
			c.do(t, "GET", "/api/me", nil).problem(t, 403, "sign_up_closed")
			c.do(t, "POST", "/api/workspaces", object{"name": "Mine"}).problem(t, 403, "sign_up_closed")
			current, text := r.trail(t)
			if withoutRefusals(current) != withoutRefusals(previous) {
				t.Errorf("a refusal left\n%s", text)
			}
		}
		t.Run("a stranger with a valid token is refused, and only an event an hour is stored", func(t *testing.T) {
			refuses(t, r.bearer(r.token("eve")))
			owner.get(t, "/api/events?type=sign_in.refused").has(t, map[string]string{
				"data.0.data.reason": "sign_up_closed", "data.0.subject": owner.workspace, "data.0.actor": "null"})
			if out := r.run(t, "user", "show", "--email", "eve@example.com"); out.code != 1 {
				t.Errorf("there is an account: %+v", out)
			}
		})
		t.Run("a person with a role by a claim rule can sign up, and stays", func(t *testing.T) {
			ann := r.person(t, "ann", object{"groups": []string{"staff"}})
			r.again(ann, "ann").get(t, "/api/me").has(t, map[string]string{"user.id": ann.id})
		})
		t.Run("a person with an account can sign in", func(t *testing.T) {
			existing := r.user(t, "viewer")
			r.person(t, "known", object{"email": existing.email}).get(t, "/api/me").has(t,
				map[string]string{"user.id": existing.id})
		})
		t.Run("an invited person can sign up with the verified address", func(t *testing.T) {
			token, _ := r.invite(t, owner, "Bob@example.com", "viewer")
			refuses(t, r.bearer(r.token("bob", object{"email_verified": false})))
			r.bearer(r.token("carl")).do(t, "POST", "/api/invitations/accept", object{"token": token}).problem(t, 403,
				"sign_up_closed")
			accept(t, r.bearer(r.token("bob")), token).is(t, 200)
			r.person(t, "bob").get(t, "/api/me")
		})
		t.Run("a person whose invitation was withdrawn cannot sign up", func(t *testing.T) {
			invitations := "/api/workspaces/" + owner.workspace + "/invitations"
			response := owner.create(t, invitations, object{"email": "dora@example.com", "role": "viewer"})
			owner.do(t, "DELETE", invitations+"/"+response.at("id"), nil).is(t, 204)
			refuses(t, r.bearer(r.token("dora")))
		})
		t.Run("a person who is invited to a chat can sign up", func(t *testing.T) {
			id := owner.create(t, "/api/chat-templates", object{"name": "support"}).at("id")
			owner.do(t, "POST", "/api/chat-templates/"+id+"/members",
				object{"email": "gus@example.com", "role": "viewer"})
			r.person(t, "gus")
		})
		t.Run("only operators create workspaces", func(t *testing.T) {
			ann := r.person(t, "ann", object{"groups": []string{"staff"}})
			for _, c := range []*client{ann, owner} {
				c.do(t, "POST", "/api/workspaces", object{"name": "Mine"}).problem(t, 403, "workspaces_by_operators")
			}
			r.person(t, "opal", object{"groups": []string{"ops"}}).create(t, "/api/workspaces",
				object{"name": "Theirs"})
		})
	})
}

func TestRequiredClaims(t *testing.T) {
	t.Parallel()
	issuer := fixture.NewIssuer(t, "ES256")
	d := deploy(t, sqlite, configured(fmt.Sprintf("orgs:\n  - slug: default\n    sign_up: open\n    issuers: [{url: "+
		"%q, audiences: [atrium], require: [{claim: hd, value: corp.test}]}]\n", issuer.URL)))
	r := &realm{d.start(t), issuer}
	existing := r.user(t, "member")
	for _, lacking := range []object{{}, {"hd": "other.test"}, {"email": existing.email}} {
		r.bearer(r.token("ann", lacking)).do(t, "GET", "/api/me", nil).problem(t, 403, "required_claim_missing")
	}
	ann := r.person(t, "ann", object{"hd": "corp.test"})
	r.again(ann, "ann").do(t, "GET", "/api/me", nil).problem(t, 403, "required_claim_missing")
	if got := d.run(t, "doctor", "oidc", "--token-file", tokenFile(t, r.token("ann"))); got.code != 1 ||
		!strings.Contains(got.stdout, "refused with required_claim_missing: it lacks hd=corp.test") {
		t.Errorf("doctor: %+v", got)
	}
}
