package contract

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/billing"
)

// Elsewhere is what people do at a gateway without Atrium: in its dashboard, or on its page for the payer. What a
// gateway does not have is nil, and then the tests that need it do not exist for that gateway.
type Elsewhere struct {
	// Draft creates an invoice that is not finished.
	Draft func(t *testing.T, c billing.CustomerID, amount int64) billing.InvoiceID
}

// GatewayChangedElsewhere is the suite for ports.Gateway about what someone else has changed.
func GatewayChangedElsewhere(t *testing.T, open func(*testing.T) GatewayStage) {
	e := open(t).Elsewhere
	for name, test := range map[string]struct {
		possible bool
		run      func(*testing.T, GatewayStage)
	}{
		"a draft that a person is writing is neither shown nor paid": {e.Draft != nil, elsewhereDrafts},
	} {
		if test.possible {
			t.Run(name, func(t *testing.T) { test.run(t, open(t)) })
		}
	}
}

func elsewhereDrafts(t *testing.T, g GatewayStage) {
	ctx := t.Context()
	c := g.customer(t, "4242")
	_, err := g.Subscribe(ctx, key(), c, g.order(0))
	must(t, err)
	before, _ := g.paid(t, c)
	draft := g.Elsewhere.Draft(t, c, 500000)
	all, err := g.Invoices(ctx, c)
	must(t, err)
	for _, i := range all {
		if i.ID == draft {
			t.Errorf("it is shown: %+v", i)
		}
	}
	_, err = g.Pay(ctx, key(), c, draft)
	wantErr(t, err, billing.ErrInvoiceNotFound)
	if sum, _ := g.paid(t, c); sum != before {
		t.Errorf("paid %d, want %d", sum, before)
	}
}
