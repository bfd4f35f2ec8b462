package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestInvitationsAreNoMailCannon(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		loud := "URGENT call 1 900 555 0100 https://evil.example now!!"
		a := w.attacker.do(t, "PATCH", "/api/workspaces/"+w.attacker.workspace, object{"name": loud})
		if a.status != http.StatusOK && a.status != http.StatusUnprocessableEntity {
			t.Fatalf("renaming returns %d: %s", a.status, a.text)
		}
		path := "/api/workspaces/" + w.attacker.workspace + "/invitations"
		invite := func(ctx context.Context, email string) *answer {
			return w.attacker.ask(ctx, "POST", path, object{"email": email, "role": "member"})
		}
		var sent, next atomic.Int64
		note := func(a *answer) {
			if strings.Contains(a.text, `"mailed":true`) {
				sent.Add(1)
			}
		}
		for i := range 8 { // one mailbox under many addresses
			note(invite(t.Context(), fmt.Sprintf("one+%d@victim.example", i)))
		}
		w.under(4, func(ctx context.Context, _ int) int {
			a := invite(ctx, fmt.Sprintf("stranger-%d@victim.example", next.Add(1)))
			if note(a); a.status == http.StatusCreated {
				w.attacker.status(ctx, "DELETE", a.header.Get("Location"), nil)
			}
			return a.status
		}, samples, pace, w.reads)
		// mails leave after the answer
		proof.Eventually(t, "all mails have left", func() bool { return len(w.smtp.Letters()) >= int(sent.Load()) })
		letters := w.smtp.Letters()
		if len(letters) == 0 || len(letters) > 20 {
			t.Errorf("%d mails left: none, or more than 20 an hour of one user", len(letters))
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
		if mailbox != 5 {
			t.Errorf("one mailbox got %d mails under plus-addresses, want 5 a day", mailbox)
		}
	})
}

func TestAWorkspaceCannotFillTheDisk(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newWorld(t, engine, openArena+"\n    quotas: {prompt_versions: 20}")
		attacker := w.stranger("mallory")
		path := attacker.template(t, "big") + "/versions"
		text := strings.Repeat("x", 200<<10)
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			return attacker.status(ctx, "POST", path, object{"text": text})
		}, samples, pace, w.reads)
		if statuses[http.StatusCreated] > 20 {
			t.Errorf("with a quota of 20 versions the attacker was answered %v", statuses)
		}
		for range 20 - statuses[http.StatusCreated] { // a busy machine may not have got that far
			attacker.patient(t, "POST", path, object{"text": "another"})
		}
		attacker.patient(t, "POST", path, object{"text": "one more"}).problem(t, 409, "quota_exceeded")
	})
}

func TestCardsCannotBeTriedInBulk(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine)
		type intent struct{ id, secret string }
		var mu sync.Mutex
		var intents []intent
		declined := map[string]any{"number": "4000 0000 0000 0002", "exp_month": 12, "exp_year": 2034}
		attempt := func(ctx context.Context, i intent) int {
			path := "/api/payments/sandbox/setup-intents/" + i.id + "/confirm"
			return w.attacker.status(ctx, "POST", path, object{"client_secret": i.secret, "card": declined})
		}
		statuses := w.under(4, func(ctx context.Context, caller int) int {
			a := w.attacker.ask(ctx, "POST", "/api/payments/setup-intent", object{})
			mu.Lock()
			if a.status == http.StatusCreated {
				intents = append(intents, intent{a.at("id"), a.at("client_secret")})
			}
			open := intents
			mu.Unlock()
			if a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") == "" {
				t.Errorf("%s returns 429 without Retry-After", a.call)
			}
			if len(open) > 0 {
				return attempt(ctx, open[caller%len(open)])
			}
			return a.status
		}, samples, pace, w.reads)
		if len(intents) == 0 || len(intents) > 3 {
			t.Fatalf("%d setup intents were open at the same time", len(intents))
		}
		tried := statuses[http.StatusPaymentRequired]
		for range 20 { // if the measurement has ended earlier, until the payments are paused
			if attempt(t.Context(), intents[0]) == http.StatusPaymentRequired {
				tried++
			}
		}
		if tried > 14 { // ten, and those that were under way
			t.Errorf("%d cards were tried", tried)
		}
		w.attacker.patient(t, "POST", "/api/payments/setup-intent", object{}).problem(t, 409, "payments_paused")
	})
}
