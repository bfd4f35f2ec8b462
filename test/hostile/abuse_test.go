package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/fixture"
	"github.com/atrium-hq/atrium/test/proof"
)

func TestInvitationsAreNoMailCannon(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		loud := "URGENT call 1 900 555 0100 https://evil.example now!!"
		a := w.attacker.do(t, "PATCH", "/api/workspaces/"+w.attacker.workspace, object{"name": loud})
		if a.status != http.StatusOK && a.status != http.StatusUnprocessableEntity {
			t.Fatalf("renaming returns %d: %s", a.status, a.text)
		}
		path := "/api/workspaces/" + w.attacker.workspace + "/invitations"
		sent := 0
		for i := range proof.Sample(70, 300) {
			a := w.attacker.do(t, "POST", path, object{"email": fmt.Sprintf("stranger-%d@victim.example", i), "role": "member"})
			if a.status == http.StatusTooManyRequests {
				break // limited by the rate of requests or mails
			}
			if a.status == http.StatusConflict {
				continue
			}
			if a.is(t, 201).at(t, "mailed") == "true" {
				sent++
			}
			if w.attacker.do(t, "DELETE", path+"/"+a.at(t, "id"), nil).status == http.StatusTooManyRequests {
				break
			}
		}
		for i := range 5 { // one mailbox under many addresses
			w.attacker.do(t, "POST", path, object{"email": fmt.Sprintf("one+%d@victim.example", i), "role": "member"})
		}
		time.Sleep(500 * time.Millisecond) // mails leave after the answer; waiting longer could only find more
		letters := w.smtp.Letters()
		if len(letters) == 0 || len(letters) > 50 {
			t.Errorf("%d mails left, of %d that were called sent: none or more than 50 a day and workspace", len(letters), sent)
		}
		mailbox := 0
		for _, l := range letters {
			if strings.HasPrefix(l.To, "one+") {
				mailbox++
			}
			for _, never := range []string{"evil.example", "900", "!!"} {
				if strings.Contains(l.Subject, never) || strings.Contains(l.Text, loud) {
					t.Fatalf("a mail carries the attacker's text: %q", l.Subject)
				}
			}
		}
		if mailbox > 1 {
			t.Errorf("one mailbox got %d mails under plus-addresses", mailbox)
		}
	})
}

func TestAWorkspaceCannotFillTheDisk(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newWorld(t, database, arena+"\n    quotas: {prompt_versions: 20}")
		attacker := w.stranger("mallory")
		template := attacker.do(t, "POST", "/api/prompt-templates", object{"name": "big"}).is(t, 201).at(t, "id")
		path := "/api/prompt-templates/" + template + "/versions"
		text := strings.Repeat("x", 200<<10)
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			return attacker.status(ctx, "POST", path, object{"text": text})
		}, samples, pace, w.reads)
		if statuses[http.StatusCreated] > 20 || statuses[http.StatusConflict] == 0 {
			t.Errorf("with a quota of 20 versions the attacker was answered %v", statuses)
		}
		last := attacker.do(t, "POST", path, object{"text": "one more"})
		for last.status == http.StatusTooManyRequests { // until the attacker's own limit of requests lets one through
			pause(t.Context(), 200*time.Millisecond)
			last = attacker.do(t, "POST", path, object{"text": "one more"})
		}
		last.refused(t, 409, "quota_exceeded")
	})
}

func TestCardsCannotBeTriedInBulk(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		made := 0
		for range 20 {
			a := w.attacker.do(t, "POST", "/api/payments/setup-intent", object{})
			if a.status == http.StatusCreated {
				made++
				continue
			}
			if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
				t.Fatalf("%s returns %d: %s", a.call, a.status, a.text)
			}
		}
		if made > 3 {
			t.Errorf("%d setup intents were open at once, more than 3", made)
		}
	})
}

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
		claims := partner.Claims("atrium", time.Now())
		claims["sub"], claims["email"], claims["groups"] = "evil", "ceo@arena.example", []string{"ops"}
		evil := *chief
		evil.token = partner.Token(claims)
		a := evil.do(t, "GET", "/api/me", nil)
		if a.status == http.StatusOK && (a.at(t, "user.id") == me.at(t, "user.id") || a.at(t, "user.operator") == "true") {
			t.Errorf("the partner's issuer speaks for another's account: %s", a.text)
		}
	})
}

func TestStrangersStayOutsideUnlessTheOrgIsOpen(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newWorld(t, database, "issuers: [{url: ISSUER, audiences: [atrium]}]")
		stranger := w.stranger("eve")
		stranger.do(t, "GET", "/api/me", nil).refused(t, 403, "sign_up_closed")
		stranger.do(t, "POST", "/api/workspaces", object{"name": "mine"}).refused(t, 403, "sign_up_closed")
	})
}

func TestWhoIsRemovedKeepsNoKey(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database)
		mate := w.stranger("mate")
		me := mate.do(t, "GET", "/api/me", nil).is(t, 200)
		path := "/api/workspaces/" + w.attacker.workspace
		invited := w.attacker.do(t, "POST", path+"/invitations", object{"email": "mate@arena.example", "role": "admin"}).is(t, 201)
		token := invited.at(t, "accept_url")
		token = token[strings.LastIndexAny(token, "#/=")+1:]
		mate.do(t, "POST", "/api/invitations/accept", object{"token": token}).is(t, 200)
		key := mate.in(w.attacker.workspace).do(t, "POST", "/api/api-keys", object{"name": "stays", "kind": "service", "role_ceiling": "admin"}).is(t, 201)
		program := *mate
		program.token = key.at(t, "token")
		program.do(t, "GET", "/api/events", nil).is(t, 200)
		// A lower credential ends no higher one.
		small := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "small", "role_ceiling": "member"}).is(t, 201)
		large := w.attacker.do(t, "POST", "/api/api-keys", object{"name": "large", "role_ceiling": "owner"}).is(t, 201)
		low := *w.attacker
		low.token, low.workspace = small.at(t, "token"), ""
		low.do(t, "DELETE", "/api/api-keys/"+large.at(t, "id"), nil).refused(t, 403, "role_ceiling")

		w.attacker.do(t, "DELETE", path+"/members/"+me.at(t, "user.id"), nil).is(t, 204)
		for late := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			if program.do(t, "GET", "/api/events", nil).status == http.StatusUnauthorized {
				return
			}
			if time.Now().After(late) {
				t.Fatal("the service key of a removed admin still reads the trail")
			}
		}
	})
}
