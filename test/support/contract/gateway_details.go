package contract

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// described are details with every field.
func described() payment.Details {
	return payment.Details{
		Name: "Acme GmbH", Email: "bills@example.com", Workspace: "wsp_1",
		Address: payment.Address{
			Line1: "Am Markt 1", Line2: "2. Stock", City: "Köln", PostalCode: "50667", State: "NW", Country: "DE",
		},
		TaxIDs: []payment.TaxID{{Type: "eu_vat", Value: "DE123456789"}, {Type: "gb_vat", Value: "GB123456789"}},
	}
}

// billedTo fails t unless the newest invoice of a customer shows d.
func (g GatewayStage) billedTo(t *testing.T, c payment.CustomerID, d payment.Details) {
	t.Helper()
	all, err := g.Invoices(t.Context(), c, "")
	must(t, err)
	d.Workspace, d.Taxed = "", false
	require.That(t, len(all) != 0 && all[0].BilledTo != nil, "no invoice shows its recipient: %+v", all)
	assert.NoDiff(t, "billed to", cmp.Diff(d, *all[0].BilledTo))
}

func gatewayDetails(t *testing.T, g GatewayStage) {
	ctx, c, d, k := t.Context(), g.customer(t, "4242"), described(), key()
	must(t, g.UpdateCustomer(ctx, k, c, d))
	must(t, g.UpdateCustomer(ctx, k, c, d))
	must(t, g.UpdateCustomer(ctx, key(), c, d))
	g.mustSubscribe(t, c, g.order(0))
	g.billedTo(t, c, d)
	next := d
	next.Name, next.Address = "Acme Ltd", payment.Address{Country: "GB"}
	next.TaxIDs = []payment.TaxID{{Type: "gb_vat", Value: "GB123456789"}, {Type: "us_ein", Value: "12-3456789"}}
	g.Lose(1)
	k = key()
	if err := g.UpdateCustomer(ctx, k, c, next); err != nil {
		require.That(t, payment.OutcomeUnknown(err), "%v", err)
		must(t, g.UpdateCustomer(ctx, k, c, next))
	}
	g.billedTo(t, c, d) // an invoice that is final does not change
	g.Advance(t, 32*24*time.Hour)
	g.billedTo(t, c, next)

	item := d
	item.TaxIDs = []payment.TaxID{{Type: "br_cnpj", Value: "01.234.456/5432-10"}, {Type: "eu_vat", Value: "nonsense"}}
	wantErr(t, g.UpdateCustomer(ctx, key(), c, item), payment.ErrTaxIDInvalid)
	g.Advance(t, 32*24*time.Hour)
	g.billedTo(t, c, next)

	must(t, g.UpdateCustomer(ctx, key(), c, payment.Details{Name: "Acme"}))
	g.Advance(t, 32*24*time.Hour)
	g.billedTo(t, c, payment.Details{Name: "Acme"})
	err := g.UpdateCustomer(ctx, key(), "cus_nobody", d)
	assert.That(t, err != nil && !payment.OutcomeUnknown(err), "a customer that does not exist: %v", err)
}

func gatewayTaxes(t *testing.T, g GatewayStage) {
	ctx, c, d := t.Context(), g.customer(t, "4242"), described()
	order := g.order(0)
	order.AutomaticTax = true
	_, err := g.Subscribe(ctx, key(), c, order)
	wantErr(t, err, payment.ErrAddressInvalid)
	require.That(t, g.only(t, c) == nil, "there is a subscription without an address")
	d.TaxIDs, d.Taxed, d.Address = nil, true, payment.Address{Country: "US"}
	wantErr(t, g.UpdateCustomer(ctx, key(), c, d), payment.ErrAddressInvalid)
	d.Address = described().Address
	must(t, g.UpdateCustomer(ctx, key(), c, d))
	g.mustSubscribe(t, c, order)
	all, err := g.Invoices(ctx, c, "")
	must(t, err)
	i := all[0]
	assert.That(t, i.Tax > 0 && i.Subtotal+i.Tax == i.Total && i.AmountPaid == i.Total &&
		i.Subtotal == g.Plans[0].Price.Amount*2, "%+v", i)
	g.Advance(t, 32*24*time.Hour)
	if all, err = g.Invoices(ctx, c, ""); err != nil || len(all) != 2 || all[0].Tax != i.Tax ||
		all[0].Total != i.Total {
		t.Errorf("at renewal: %+v, %v", all, err)
	}
}

func gatewayFingerprints(t *testing.T, g GatewayStage) {
	fingerprint := func(last4 string) string {
		w, err := g.Wallet(t.Context(), g.customer(t, last4))
		must(t, err)
		return w.Methods[0].Fingerprint
	}
	one, second, other := fingerprint("4242"), fingerprint("4242"), fingerprint("4444")
	assert.That(t, one != "" && one == second && one != other,
		"the fingerprints are %q and %q, and %q of another card", one, second, other)
}
