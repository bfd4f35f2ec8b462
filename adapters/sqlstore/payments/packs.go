package payments

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

const packColumns = `invoice_id, pack_id, feature, granted, used, bought_at, expires_at, refunded, disputed`

type packRow struct {
	Invoice   payment.InvoiceID `db:"invoice_id"`
	Pack      payment.PlanID    `db:"pack_id"`
	Feature   string            `db:"feature"`
	Granted   int64             `db:"granted"`
	Used      int64             `db:"used"`
	BoughtAt  int64             `db:"bought_at"`
	ExpiresAt int64             `db:"expires_at"`
	Refunded  bool              `db:"refunded"`
	Disputed  bool              `db:"disputed"`
}

func (r *packRow) pack() payment.CreditPack {
	return payment.CreditPack{
		Invoice: r.Invoice, Pack: r.Pack, Feature: r.Feature, Granted: r.Granted, Used: r.Used,
		BoughtAt: db.FromMicros(r.BoughtAt), ExpiresAt: db.FromMicros(r.ExpiresAt), IsRefunded: r.Refunded,
		IsDisputed: r.Disputed,
	}
}

// savePacks stores the credit packs of an invoice that has changed. What was used of them stays.
func (store *Store) savePacks(ctx context.Context, c *payment.Customer, i *payment.Invoice) error {
	for _, p := range i.Credits() {
		if _, err := store.Exec(ctx, `
			INSERT INTO credit_packs (workspace_id, account, invoice_id, feature, pack_id, granted, bought_at,
				expires_at, refunded, disputed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, account, feature, invoice_id)
				DO UPDATE SET refunded = excluded.refunded, disputed = excluded.disputed`,
			c.Workspace, c.Account, p.Invoice, p.Feature, p.Pack, p.Granted, db.Micros(p.BoughtAt),
			db.Micros(p.ExpiresAt), p.IsRefunded, p.IsDisputed); err != nil {
			return err
		}
	}
	return nil
}

// lockedPacks locks a workspace's credit packs for features, in one order, and returns them by feature. Those that have
// expired are not among them: nothing is spent of them, or given back.
func (store *Store) lockedPacks(
	ctx context.Context, ws identity.WorkspaceID, account string, rules payment.PackRules, features []string,
) (map[string][]payment.CreditPack, error) {
	conditions := db.NewConditions(`t.workspace_id = ? AND t.account = ? AND NOT t.expired
		AND (t.expires_at = 0 OR t.expires_at > ?)`, ws, account, db.Micros(rules.Now))
	db.OneOf(conditions, "t.feature", features)
	var rows []packRow
	err := store.List(ctx, &rows, `SELECT `+packColumns+` FROM credit_packs t WHERE `+conditions.SQL()+`
		ORDER BY t.feature, t.invoice_id`+store.Dialect.Lock, conditions.Args()...)
	packs := map[string][]payment.CreditPack{}
	for n := range rows {
		packs[rows[n].Feature] = append(packs[rows[n].Feature], rows[n].pack())
	}
	return packs, err
}

// savePackUsage stores how much was used of a credit pack.
func (store *Store) savePackUsage(
	ctx context.Context, ws identity.WorkspaceID, account string, p *payment.CreditPack,
) error {
	_, err := store.Exec(ctx, `UPDATE credit_packs SET used = ? WHERE workspace_id = ? AND account = ? AND feature = ?
		AND invoice_id = ?`, p.Used, ws, account, p.Feature, p.Invoice)
	return err
}
