package payment_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// lost returns a paid invoice of the subscription sub, of which an amount was refunded.
func lost(refunded int64, disputes ...payment.Dispute) payment.Invoice {
	return payment.Invoice{ID: "in_1", Status: payment.Paid, Currency: "usd", AmountPaid: 900, AmountRefunded: refunded,
		Disputes: disputes, Reason: payment.SubscriptionCycle, Subscription: "sub"}
}

func TestAPaymentThatIsLostEndsASubscriptionIfTheRulesSaySo(t *testing.T) {
	end := payment.LossRules{OnRefund: payment.EndPlan, OnDispute: payment.EndPlan}
	open := payment.Dispute{ID: "du", Status: payment.DisputeOpen}
	other := lost(900)
	other.Subscription = "other"
	free := lost(0)
	free.AmountPaid = 0
	for name, tt := range map[string]struct {
		rules    payment.LossRules
		invoices []payment.Invoice
		want     bool
	}{
		"a refund in full ends it":  {end, []payment.Invoice{lost(900)}, true},
		"a partial one does not":    {end, []payment.Invoice{lost(899)}, false},
		"an open dispute does":      {end, []payment.Invoice{lost(0, open)}, true},
		"as does one that was lost": {end, []payment.Invoice{lost(0, payment.Dispute{Status: "lost"})}, true},
		"one that was won does not": {end, []payment.Invoice{lost(0, payment.Dispute{Status: "won"})}, false},
		"nor does an inquiry": {end, []payment.Invoice{lost(0,
			payment.Dispute{Status: "open", Inquiry: true})}, false},
		"an earlier payment does not count":    {end, []payment.Invoice{lost(0), lost(900)}, false},
		"an invoice without payment is no one": {end, []payment.Invoice{free, lost(900)}, true},
		"nor is another subscription's":        {end, []payment.Invoice{other, lost(0)}, false},
		"by default both keep it":              {payment.LossRules{}, []payment.Invoice{lost(900, open)}, false},
		"a refund, only by its own rule": {payment.LossRules{OnDispute: payment.EndPlan},
			[]payment.Invoice{lost(900)}, false},
		"a dispute, only by its own rule": {payment.LossRules{OnRefund: payment.EndPlan},
			[]payment.Invoice{lost(0, open)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "it ends", tt.rules.Forfeited("sub", tt.invoices), tt.want)
		})
	}
}

func TestWhatHappensToAnInvoiceIsRecordedOnce(t *testing.T) {
	open := lost(0)
	open.Status, open.AmountPaid = payment.Open, 0
	dispute := func(status payment.DisputeStatus, isInquiry bool) payment.Invoice {
		return lost(0, payment.Dispute{ID: "du", Amount: 900, Reason: "fraudulent", Status: status, Inquiry: isInquiry})
	}
	for name, tt := range map[string]struct {
		stored  *payment.Invoice
		current payment.Invoice
		want    string
	}{
		"a new one that is paid":            {nil, lost(0), "invoice.paid"},
		"an open one that was paid":         {&open, lost(0), "invoice.paid"},
		"a new one that is open":            {nil, open, ""},
		"one that has not changed":          {new(lost(0)), lost(0), ""},
		"a refund":                          {new(lost(0)), lost(100), "invoice.refunded 100 of 100"},
		"another refund":                    {new(lost(100)), lost(900), "invoice.refunded 800 of 900"},
		"a refund that failed":              {new(lost(900)), lost(0), "invoice.refunded -900 of 0"},
		"one that nobody saw before":        {nil, lost(900), "invoice.paid, invoice.refunded 900 of 900"},
		"a dispute":                         {new(lost(0)), dispute("open", false), "dispute.opened"},
		"a dispute that is closed":          {new(dispute("open", false)), dispute("lost", false), "dispute.closed"},
		"one that was missed while open":    {new(lost(0)), dispute("won", false), "dispute.opened, dispute.closed"},
		"one that stays closed":             {new(dispute("won", false)), dispute("won", false), ""},
		"an inquiry":                        {new(lost(0)), dispute("open", true), "dispute.opened"},
		"an inquiry that becomes a dispute": {new(dispute("open", true)), dispute("open", false), "dispute.opened"},
		"an inquiry that ends":              {new(dispute("open", true)), dispute("closed", true), "dispute.closed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &payment.Customer{Invoices: []payment.Invoice{tt.current}}
			stored := map[payment.InvoiceID]payment.Invoice{}
			if tt.stored != nil {
				stored[tt.stored.ID] = *tt.stored
			}
			c.RecordInvoices(owner, stored)
			var types []string
			for _, e := range c.Recorded() {
				text := e.Type
				if e.Type == "invoice.refunded" {
					text += fmt.Sprint(" ", e.Data["amount"], " of ", e.Data["amount_refunded"])
				}
				types = append(types, text)
			}
			assert.Equal(t, "events", strings.Join(types, ", "), tt.want)
		})
	}
}
