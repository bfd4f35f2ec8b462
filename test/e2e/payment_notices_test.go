package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/fixture"
)

// TestNotices moves the sandbox's clock over the end of a trial and a failed renewal, on two nodes. Each notice is one
// event, and one mail to the owner.
func TestNotices(t *testing.T) {
	smtp := fixture.NewSMTP(t, "none")
	s := start(t, postgres, configured("orgs:\n  - slug: default\n    "+strings.Replace(soldSettings, "grace_days: 7,", "grace_days: 7, mailed_notices: [payment.failed, trial.ending, card.expiring],", 1)),
		knowsWebhookKey, set("mail.smtp.addr", smtp.Addr()), set("mail.smtp.from", "atrium@example.com"), set("mail.smtp.tls", "none"))
	other := s.deployment.start(t)
	ann := s.user(t, "owner")
	s.user(t, "admin") // gets no mail
	ann.card(t, cardNumber)
	ann.subscribe(t, "try")
	given := func(kind string) int {
		types := ann.get(t, "/api/events?limit=100&type="+kind).each(t, "type")
		return len(slices.DeleteFunc(types, func(is string) bool { return is != kind }))
	}
	mailed := func(subject string) (n int) {
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
		s.await(t, func() bool { return given(kind) == 1 && mailed(text) == 1 })
		for _, event := range strings.Fields(s.must(t, "payments", "events", "list", "--limit", "100")) {
			if strings.HasPrefix(event, "evt_") {
				s.must(t, "payments", "events", "replay", event)
			}
		}
		for _, node := range []*client{ann, ann.at(other)} {
			node.get(t, mine)
			node.get(t, payments+"/methods")
		}
		s.await(t, func() bool { return s.only(t, `SELECT COUNT(*) FROM payment_events WHERE state = 'received'`) == "0" })
		if given(kind) != 1 || mailed(text) != 1 {
			t.Errorf("%s was given %d times and mailed %d times", kind, given(kind), mailed(text))
		}
	}
	t.Run("the end of a trial", func(t *testing.T) {
		s.must(t, "payments", "sandbox", "advance", "10d")
		if given("trial.ending") != 0 {
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
		ann.get(t, "/api/events?type=payment.failed").has(t, map[string]string{"data.0.data.plan_id": "try", "data.0.data.status": "past_due", "data.0.actor": "null"})
	})
}
