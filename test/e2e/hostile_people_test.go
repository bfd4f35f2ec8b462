package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestAPartnersIssuerTakesOverNoAccount(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		partner := fixture.NewIssuer(t, "ES256")
		w := newWorld(t, engine, fmt.Sprintf(`sign_up: open
    issuers:
      - {url: ISSUER, audiences: [atrium]}
      - {url: %q, audiences: [atrium]}
    claim_rules:
      - {issuer: ISSUER, claim: groups, value: ops, operator: true}`, partner.URL))
		chief := w.stranger("ceo", object{"groups": []string{"ops"}})
		me := chief.do(t, "GET", "/api/me", nil).is(t, 200)
		if me.at("user.operator") != "true" {
			t.Fatalf("the rule gives nothing: %s", me.text)
		}
		var tokens []string
		for i := range 50 {
			claims := partner.Claims("atrium", time.Now())
			claims["sub"], claims["email"], claims["groups"] = fmt.Sprint("evil-", i), "ceo@example.com",
				[]string{"ops"}
			tokens = append(tokens, partner.Token(claims))
		}
		var next atomic.Int64
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			evil := *chief
			evil.token = tokens[int(next.Add(1))%len(tokens)]
			a := evil.ask(ctx, "GET", "/api/me", nil)
			if strings.Contains(a.text, me.at("user.id")) || strings.Contains(a.text, `"operator":true`) {
				t.Errorf("the partner's issuer speaks for another's account: %s", a.text)
			}
			return a.status
		}, samples, pace, w.reads)
		if statuses[http.StatusOK] == 0 {
			t.Errorf("the partner's own people were answered %v", statuses)
		}
	})
}

func TestStrangersStayOutsideUnlessTheOrgIsOpen(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newWorld(t, engine, "issuers: [{url: ISSUER, audiences: [atrium]}]")
		stranger := w.stranger("eve")
		stranger.do(t, "GET", "/api/me", nil).problem(t, 403, "sign_up_closed")
		stranger.do(t, "POST", "/api/workspaces", object{"name": "mine"}).problem(t, 403, "sign_up_closed")
		var strangers []*client
		for i := range 50 {
			strangers = append(strangers, w.stranger(fmt.Sprint("stranger-", i)))
		}
		var next atomic.Int64
		statuses := w.underUntil(http.StatusTooManyRequests, 4, func(ctx context.Context, _ int) int {
			return strangers[int(next.Add(1))%len(strangers)].status(ctx, "GET", "/api/me", nil)
		}, samples, pace, w.reads)
		if statuses[http.StatusOK] > 0 || statuses[http.StatusForbidden] == 0 ||
			statuses[http.StatusTooManyRequests] == 0 {
			t.Errorf("strangers were answered %v", statuses)
		}
	})
}

func TestWhoIsRemovedKeepsNoKey(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		mate := w.stranger("mate")
		me := mate.do(t, "GET", "/api/me", nil).is(t, 200)
		path := "/api/workspaces/" + w.attacker.workspace
		invitation := w.attacker.do(t, "POST", path+"/invitations",
			object{"email": "mate@example.com", "role": "admin"}).is(t, 201)
		accept(t, mate, tokenIn(invitation.at("accept_url"))).is(t, 200)
		service := object{"name": "stays", "kind": "service", "role_ceiling": "admin"}
		key := mate.create(t, "/api/api-keys", service, "Workspace-Id: "+w.attacker.workspace)
		script := *mate
		script.token = key.at("token")
		script.do(t, "GET", "/api/events", nil).is(t, 200)

		// A leaked key with a lower role tries to end one with a higher role.
		small := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "small", "role_ceiling": "member"}).is(t, 201)
		large := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "large", "role_ceiling": "owner"}).is(t, 201)
		low, high := *w.attacker, *w.attacker
		low.token, high.token = small.at("token"), large.at("token")
		low.do(t, "DELETE", "/api/api-keys/"+large.at("id"), nil).problem(t, 403, "role_ceiling")
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			return low.status(ctx, "DELETE", "/api/api-keys/"+large.at("id"), nil)
		}, samples, pace, w.reads)
		if statuses[http.StatusNoContent] > 0 {
			t.Errorf("a lower key's attempts to revoke a higher one were answered %v", statuses)
		}
		high.patient(t, "GET", "/api/me", nil).is(t, 200)

		high.patient(t, "DELETE", path+"/members/"+me.at("user.id"), nil).is(t, 200) // with what ended
		proof.Eventually(t, "the service key of a removed admin reads no trail", func() bool {
			return script.do(t, "GET", "/api/events", nil).status == http.StatusUnauthorized
		})
	})
}
