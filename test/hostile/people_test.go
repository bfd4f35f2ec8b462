package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAPartnersIssuerTakesOverNoAccount(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		partner := fixture.NewIssuer(t, "ES256")
		w := newWorld(t, database, fmt.Sprintf(`sign_up: open
    issuers:
      - {url: ISSUER, audiences: [atrium]}
      - {url: %q, audiences: [atrium]}
    claim_rules:
      - {issuer: ISSUER, claim: groups, value: ops, operator: true}`, partner.URL))
		chief := w.stranger("ceo", object{"groups": []string{"ops"}})
		me := chief.do(t, "GET", "/api/me", nil).is(t, 200)
		if me.at(t, "user.operator") != "true" {
			t.Fatalf("the rule gives nothing: %s", me.text)
		}
		var tokens []string
		for i := range 50 {
			claims := partner.Claims("atrium", time.Now())
			claims["sub"], claims["email"], claims["groups"] = fmt.Sprint("evil-", i), "ceo@arena.example",
				[]string{"ops"}
			tokens = append(tokens, partner.Token(claims))
		}
		var next atomic.Int64
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			evil := *chief
			evil.token = tokens[int(next.Add(1))%len(tokens)]
			a := evil.ask(ctx, "GET", "/api/me", nil)
			if strings.Contains(a.text, me.at(t, "user.id")) || strings.Contains(a.text, `"operator":true`) {
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
	onEach(t, func(t *testing.T, database string) {
		w := newWorld(t, database, "issuers: [{url: ISSUER, audiences: [atrium]}]")
		stranger := w.stranger("eve")
		stranger.do(t, "GET", "/api/me", nil).refused(t, 403, "sign_up_closed")
		stranger.do(t, "POST", "/api/workspaces", object{"name": "mine"}).refused(t, 403, "sign_up_closed")
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
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		mate := w.stranger("mate")
		me := mate.do(t, "GET", "/api/me", nil).is(t, 200)
		path := "/api/workspaces/" + w.attacker.workspace
		invited := w.attacker.do(t, "POST", path+"/invitations",
			object{"email": "mate@arena.example", "role": "admin"}).is(t, 201)
		token := invited.at(t, "accept_url")
		token = token[strings.LastIndexAny(token, "#/=")+1:]
		mate.do(t, "POST", "/api/invitations/accept", object{"token": token}).is(t, 200)
		service := object{"name": "stays", "kind": "service", "role_ceiling": "admin"}
		key := mate.in(w.attacker.workspace).do(t, "POST", "/api/api-keys", service).is(t, 201)
		script := *mate
		script.token = key.at(t, "token")
		script.do(t, "GET", "/api/events", nil).is(t, 200)

		// A leaked key with a lower role tries to end one with a higher role.
		small := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "small", "role_ceiling": "member"}).is(t, 201)
		large := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "large", "role_ceiling": "owner"}).is(t, 201)
		low, high := *w.attacker, *w.attacker
		low.token, low.workspace = small.at(t, "token"), ""
		high.token, high.workspace = large.at(t, "token"), ""
		low.do(t, "DELETE", "/api/api-keys/"+large.at(t, "id"), nil).refused(t, 403, "role_ceiling")
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			return low.status(ctx, "DELETE", "/api/api-keys/"+large.at(t, "id"), nil)
		}, samples, pace, w.reads)
		if statuses[http.StatusNoContent] > 0 {
			t.Errorf("a lower key's attempts to revoke a higher one were answered %v", statuses)
		}
		high.patient(t, "GET", "/api/me", nil).is(t, 200)

		high.patient(t, "DELETE", path+"/members/"+me.at(t, "user.id"), nil).is(t, 200) // with what ended
		for late := time.Now().Add(program.Patience); ; pause(t.Context(), 50*time.Millisecond) {
			if script.do(t, "GET", "/api/events", nil).status == http.StatusUnauthorized {
				return
			}
			if time.Now().After(late) {
				t.Fatal("the service key of a removed admin still reads the trail")
			}
		}
	})
}
