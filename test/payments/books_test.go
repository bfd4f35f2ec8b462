package payments

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/require"
)

// checkBooks compares the invoices that Atrium has in the end with the charges and the refunds, and the events with the
// invoices: however many calls were lost, each paid invoice has one event, and the refunds of its events add up.
func (m *modelWalk) checkBooks(t *testing.T) {
	t.Helper()
	if m.api.Deleted(m.customer) {
		return
	}
	m.later(2 * time.Minute)
	m.api.Advance(2 * time.Minute)
	var invoices []payment.Invoice
	for q := (page.Query{Limit: 100}); ; {
		bills, err := m.Invoices(t.Context(), m.now(), payment.Paid, q)
		require.That(t, err == nil && !bills.Stale, "%+v, %v", bills, err)
		invoices = append(invoices, bills.Items...)
		if q.After = bills.Next; q.After == "" {
			break
		}
	}
	charged, events := map[string]int64{}, m.eventSums(t)
	for _, c := range m.api.Charges() {
		charged[c.Invoice] += c.Amount
	}
	for _, i := range invoices {
		id := string(i.ID)
		if stripesim.CustomerOf(id) != m.customer {
			continue
		}
		require.That(t, i.AmountPaid == charged[id] && i.AmountRefunded == m.refunds[id],
			"invoice %s is paid with %d and refunded %d, the gateway has charged %d and refunded %d", id, i.AmountPaid,
			i.AmountRefunded, charged[id], m.refunds[id])
		require.That(t, events["invoice.paid "+id] == i.AmountPaid+1 && events["invoice.refunded "+id] == m.refunds[id],
			"the events of the invoice %s say %d and %d, it is %+v", id, events["invoice.paid "+id]-1,
			events["invoice.refunded "+id], i)
		delete(charged, id)
	}
	for id := range charged {
		require.That(t, stripesim.CustomerOf(id) != m.customer, "Atrium has no paid invoice %s", id)
	}
}

// eventSums returns the sums of the amounts in the events of invoices, and of the messages in those of credit packs, by
// their type and subject. Each invoice.paid counts one more, so that a second one is noticed if nothing was paid.
func (m *modelWalk) eventSums(t *testing.T) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for q := (page.Query{Limit: 1000}); ; {
		events, err := m.world.stores.Events.List(t.Context(), m.by.Workspace, event.Filter{}, q)
		require.NoError(t, err)
		for _, e := range events.Items {
			var data struct {
				Amount int64
				Limits struct{ Messages int64 }
			}
			_ = json.Unmarshal(e.Encoded, &data) // of other types it may be something else
			switch key := e.Type + " " + e.Subject; e.Type {
			case "invoice.paid":
				sums[key] += data.Amount + 1
			case "invoice.refunded":
				sums[key] += data.Amount
			case "credit_pack.purchased", "credit_pack.expired":
				sums[key] += data.Limits.Messages
			}
		}
		if q.After = events.Next; q.After == "" {
			return sums
		}
	}
}
