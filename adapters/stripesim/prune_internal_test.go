package stripesim

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestACustomerForgetsWhatNothingRefersTo(t *testing.T) {
	now := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	s, err := New(Config{}).open("", settings{}, nil)
	require.NoError(t, err)
	s.clock = now
	s.setups["seti_x00000000"] = &setupIntent{}
	s.payments["pi_open"] = &paymentIntent{ID: "pi_open"}
	s.subscriptions = append(s.subscriptions,
		&subscription{ID: "live", Status: "active", setup: s.setups["seti_x00000000"]})
	s.invoices = append(s.invoices, &invoice{ID: "open", Status: "open", intent: s.payments["pi_open"]})
	for i := range 1000 {
		n := fmt.Sprintf("%08d", i+1)
		s.setups["seti_x"+n] = &setupIntent{ID: "seti_x" + n}
		s.payments["pi_"+n] = &paymentIntent{}
		s.subscriptions = append(s.subscriptions, &subscription{ID: "sub_" + n, Status: "canceled"})
		s.invoices = append(s.invoices, &invoice{ID: "in_" + n, Status: "paid"})
		s.answers[n] = &kept{At: now.Add(time.Duration(i) * time.Second)}
	}
	s.setups["seti_x00000000"].ID = "seti_x00000000"
	for range 2 { // what is left stays
		s.prune()
	}
	assert.That(t, len(s.invoices) == payment.MirroredInvoices+1 && s.invoices[0].ID == "open" &&
		s.invoices[100].ID == "in_00001000", "%d invoices", len(s.invoices))
	assert.That(t, len(s.subscriptions) == maxEnded+1 && s.subscriptions[0].ID == "live",
		"%d subscriptions", len(s.subscriptions))
	assert.That(t, len(s.setups) == maxIntents+1 && s.setups["seti_x00000000"] != nil &&
		s.setups["seti_x00001000"] != nil, "%d setup intents", len(s.setups))
	assert.That(t, len(s.payments) == 1 && s.payments["pi_open"] != nil, "%d payment intents", len(s.payments))
	assert.That(t, len(s.answers) == maxAnswers && s.answers["00001000"] != nil && s.answers["00000900"] == nil,
		"%d responses", len(s.answers))
}
