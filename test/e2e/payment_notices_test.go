package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestNotices moves the sandbox's clock over the end of a trial and a failed renewal, on two nodes. Each notice is one
// event, and one mail to the owner.
func TestNotices(t *testing.T) {
	smtp := fixture.NewSMTP(t, "none")
	s := start(t, postgres, configured("orgs:\n  - slug: default\n    "+strings.Replace(soldSettings, "grace_days: 7,",
		"grace_days: 7, mailed_notices: [payment.failed, trial.ending, card.expiring],", 1)),
		knowsWebhookKey, set("mail.smtp.addr", smtp.Addr()), set("mail.smtp.from", "atrium@example.com"),
		set("mail.smtp.tls", "none"))
	other := s.deployment.start(t)
	ann := s.user(t, "owner")
	s.user(t, "admin") // gets no mail
	ann.card(t, cardNumber)
	ann.subscribe(t, "try")
	grants := func(kind string) int {
		types := ann.get(t, "/api/events?limit=100&type="+kind).each(t, "type")
		return len(slices.DeleteFunc(types, func(actual string) bool { return actual != kind }))
	}
	mails := func(subject string) (n int) {
		for _, l := range smtp.Letters() {
			if strings.Contains(l.Text, subject) && l.To == ann.email {
				n++
			}
		}
		return n
	}
	// notice waits for one, and then provokes it again on both nodes.
	notice := func(t *testing.T, kind, text string) {
		t.Helper()
		s.await(t, func() bool { return grants(kind) == 1 && mails(text) == 1 })
		for _, event := range strings.Fields(s.must(t, "payments", "events", "list", "--limit", "100")) {
			if strings.HasPrefix(event, "evt_") {
				s.must(t, "payments", "events", "replay", event)
			}
		}
		for _, node := range []*client{ann, ann.at(other)} {
			node.get(t, mine)
			node.get(t, payments+"/methods")
		}
		s.await(t, func() bool {
			return s.only(t, `SELECT COUNT(*) FROM payment_events WHERE state = 'received'`) == "0"
		})
		if grants(kind) != 1 || mails(text) != 1 {
			t.Errorf("%s was given %d times and mailed %d times", kind, grants(kind), mails(text))
		}
	}
	t.Run("the end of a trial", func(t *testing.T) {
		s.must(t, "payments", "sandbox", "advance", "10d")
		if grants("trial.ending") != 0 {
			t.Error("it was told of four days before")
		}
		s.must(t, "payments", "sandbox", "advance", "2d")
		notice(t, "trial.ending", "Your trial ends on ")
	})
	t.Run("a failed payment", func(t *testing.T) {
		bad := ann.card(t, "4000000000000341")
		ann.do(t, "POST", payments+"/methods/"+bad+"/default", nil).is(t, 200)
		s.must(t, "payments", "sandbox", "advance", "4d")
		s.await(t, func() bool { return ann.get(t, mine).at("status") == "past_due" })
		notice(t, "payment.failed", "A payment for your subscription failed.")
		ann.get(t, "/api/events?type=payment.failed").has(t,
			map[string]string{"data.0.data.plan_id": "try", "data.0.data.status": "past_due", "data.0.actor": "null"})
	})
}

// TestACardThatExpires moves the sandbox's clock to 20 days before the default card expires.
func TestACardThatExpires(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, sold)
	ann := s.user(t, "owner")
	now := time.Now().UTC()
	expires := time.Date(now.Year(), now.Month()+4, 1, 12, 0, 0, 0, time.UTC) // the first moment after
	last := expires.AddDate(0, 0, -2)
	id, clientSecret := ann.intent(t)
	card := object{"number": cardNumber, "exp_month": int(last.Month()), "exp_year": last.Year(), "cvc": "123"}
	ann.do(t, "POST", confirm(id), object{"client_secret": clientSecret, "card": card}).is(t, 200)
	ann.subscribe(t, "basic")
	invoices := func(n string) func() bool {
		return func() bool { return ann.get(t, payments+"/invoices").at("data."+n+".id") != "" }
	}
	const given = "/api/events?type=card.expiring"
	s.must(t, "payments", "sandbox", "advance", "40d")
	s.await(t, invoices("1")) // a renewal, after which notices are given
	ann.get(t, given).has(t, map[string]string{"data": "[]"})
	s.must(t, "payments", "sandbox", "advance", fmt.Sprintf("%dd", int(expires.Sub(now).Hours()/24)-60))
	s.await(t, func() bool { return ann.get(t, given).at("data.0.id") != "" })
	ann.get(t, given).has(t, map[string]string{
		"data.0.data.last4": "4242", "data.0.data.payment_method_id": ann.get(t, payments+"/methods").at("data.0.id"),
		"data.1": "",
	})
}
