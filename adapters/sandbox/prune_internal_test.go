package sandbox

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

func TestAnAccountForgetsWhatNothingRefersTo(t *testing.T) {
	now := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	b := &account{ID: "cus_1", Answers: map[string]answer{}}
	first := &subscription{ID: "sub_live", Status: payment.Active, Intent: "seti_0"}
	b.Subscriptions = append(b.Subscriptions, first)
	unpaid := b.write(first, 500, payment.Open, now)
	b.bill(first, 900, true, now)
	b.Intents = append(b.Intents, &intent{ID: "pi_unpaid", Status: wantsAction, Subscription: first.ID})
	for i := range 1000 {
		n := itoa(i)
		b.Intents = append(b.Intents, &intent{ID: payment.IntentID("seti_" + n), Status: wantsMethod})
		b.Subscriptions = append(b.Subscriptions, &subscription{
			ID: payment.SubscriptionID("sub_" + n), Status: payment.Canceled,
		})
		b.void(b.write(first, 900, payment.Open, now))
		b.Answers[n] = answer{At: now.Add(time.Duration(i) * time.Second)}
	}
	for range 2 { // what is left stays
		if _, err := encode(b); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.Invoices) != payment.MirroredInvoices+1 || b.Invoices[0] != unpaid ||
		b.Invoices[100].Number != "SANDBOX-1002" {
		t.Errorf("%d invoices, the last one of %+v", len(b.Invoices), b.Invoices[len(b.Invoices)-1])
	}
	if next := b.write(first, 900, payment.Open, now); next.Number != "SANDBOX-1003" {
		t.Errorf("the next invoice has the number %s", next.Number)
	}
	if !b.hasPaid() {
		t.Error("the customer is one who has never paid")
	}
	if len(b.Subscriptions) != maxEnded+1 || b.Subscriptions[0] != first || b.subscription("sub_999") == nil {
		t.Errorf("%d subscriptions", len(b.Subscriptions))
	}
	if len(b.Intents) != maxIntents+2 || b.intent("seti_0") == nil || b.intent("pi_unpaid") == nil ||
		b.intent("seti_999") == nil {
		t.Errorf("%d intents", len(b.Intents))
	}
	_, oldest := b.Answers["900"]
	if _, older := b.Answers["899"]; len(b.Answers) != maxAnswers || !oldest || older {
		t.Errorf("%d answers", len(b.Answers))
	}
}
