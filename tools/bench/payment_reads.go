package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// readsOfPayments are the reads that need no call to the gateway while the mirror is fresh.
var readsOfPayments = []string{"plans", "methods", "subscriptions/me", "invoices", "entitlements", "details"}

// paymentReads compares the reads of the mirror with the floor. The mirror is filled before, and stays fresh. The
// subscription of stripe-mock has a pending update, for which each read would ask the gateway: it is removed.
func (m *machine) paymentReads(ctx context.Context, d database, b beside) (contest, error) {
	contestants := []*contestant{{name: "the floor", target: newTarget(b.floor, b.prompt.active(), b.owner.Token)}}
	for _, name := range readsOfPayments {
		c := &contestant{
			name: "`GET " + name + "`", target: newTarget(b.atrium, "/api/payments/"+name, b.owner.Token), of: b.atrium,
		}
		contestants = append(contestants, c)
	}
	for _, c := range contestants {
		if _, _, err := c.load(ctx, 1, time.Millisecond); err != nil {
			return contest{}, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	db, err := d.open("")
	if err != nil {
		return contest{}, err
	}
	fresh := time.Now().Add(time.Hour).UnixMicro()
	_, err = db.ExecContext(ctx, fmt.Sprintf(`UPDATE payment_customers SET wallet_at = %d, subscription_at = %d,
		invoices_at = %d`, fresh, fresh, fresh))
	if err == nil {
		_, err = db.ExecContext(ctx, `UPDATE payment_subscriptions SET confirming = FALSE`)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return contest{}, err
	}
	return contest{d.named(), contestants}, m.inRounds(ctx, 16, contestants)
}

// tableOfReads prints what paymentReads has found.
func (m *machine) tableOfReads(held []contest) {
	m.section("Reads of payments", "", "answers", "/ floor (aim ≥ 0.5)", "p50, p99", "allocations", "CPU")
	for _, h := range held {
		for _, c := range h.contestants {
			allocations, cpu := "", ""
			if n := float64(len(c.took)); c.of != nil && n > 0 {
				allocations, cpu = fmt.Sprintf("%.0f", c.used.allocations/n), fmt.Sprintf("%.0f µs", c.used.cpu/n*1e6)
			}
			m.row(h.where+", "+c.name, c.rate(), c.ratio(), c.percentiles(), allocations, cpu)
		}
	}
}
