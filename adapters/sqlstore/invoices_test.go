package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestInvoicesThatDidNotChangeAreNotWritten(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db, rows := open(t, url, databases.Keyring(t)), databases.Raw(t, url)
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		by := fixture.NewTeam(t, s, ids["one"]).Owner
		customer, err := payment.NewCustomer(by, "sandbox", "acct", "key", payment.Details{})
		require.NoError(t, err)
		if _, err := s.Payments.Reserve(ctx, by, customer); err != nil {
			t.Fatal(err)
		}
		invoices := []payment.Invoice{
			{ID: "in_1", Number: "1", Status: payment.Paid, Currency: "usd", Total: 900, CreatedAt: fixture.At,
				BilledTo: &payment.Details{Name: "Zoë"},
				Lines:    []payment.InvoiceLine{{Description: "1 × team", Amount: 900}}},
			{ID: "in_2", Status: payment.Draft, Currency: "usd", CreatedAt: fixture.At},
		}
		apply := func(all []payment.Invoice) error {
			_, err := s.Payments.Update(ctx, by, "acct", func(c *payment.Customer) error {
				c.Mirror(by, c.Look(), payment.Seen{Invoices: &all}, nil)
				return nil
			})
			return err
		}
		require.NoError(t, apply(invoices))
		refuse := `CREATE TRIGGER once BEFORE UPDATE ON payment_invoices
			BEGIN SELECT RAISE(ABORT, 'written again'); END`
		if strings.HasPrefix(url, "postgres") {
			refuse = `CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'written again'; END $$;
				CREATE TRIGGER once BEFORE UPDATE ON payment_invoices FOR EACH ROW EXECUTE FUNCTION once()`
		}
		if _, err := rows.ExecContext(ctx, refuse); err != nil {
			t.Fatal(err)
		}
		if err := apply(invoices); err != nil {
			t.Errorf("what did not change: %v", err)
		}
		invoices[0].Status = payment.Void
		if err := apply(invoices); err == nil || !strings.Contains(err.Error(), "written again") {
			t.Errorf("what changed: %v", err)
		}
	})
}
