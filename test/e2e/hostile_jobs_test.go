package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestStalledRefreshesDelayNoOtherOrgsPayments(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine, set("connections.preview_limits.workspace_per_minute", "10000"),
			set("payments.card_limits.setup_intents_per_hour", "0"),
			set("payments.card_limits.open_setup_intents", "0"))
		sources, network := w.attachTables(proof.Sample(10, 100))
		network.Swallow(true)
		defer network.Swallow(false)
		var next atomic.Int64
		statuses := w.under(4, func(ctx context.Context, _ int) int {
			defer pause(ctx, 10*time.Millisecond)
			source := sources[int(next.Add(1))%len(sources)]
			return w.attacker.status(ctx, "POST", "/api/datasources/"+source+"/refresh", nil)
		}, proof.Sample(8, 40), 300*time.Millisecond, w.payments(t))
		if statuses[http.StatusAccepted] < len(sources) {
			t.Errorf("of %d refreshes fewer were queued: %v", len(sources), statuses)
		}
	})
}

// attachTables gives the attacker n sources in tables of one warehouse, which is reached through a proxy.
func (w *world) attachTables(n int) (sources []string, network *fixture.Proxy) {
	w.t.Helper()
	credential, proxy := w.warehouse(n)
	connection := w.attacker.create(w.t, connections, object{"kind": "postgres", "credential": credential}).at("id")
	for i := range n {
		attachedResponse := w.attacker.create(w.t, "/api/datasources", object{
			"type":     "contacts",
			"location": object{"connection_id": connection, "schema": "public", "table": "people_" + strconv.Itoa(i)},
		})
		sources = append(sources, attachedResponse.at("id"))
	}
	return sources, proxy
}

// payments returns a sample of a victim's payments: a card is added at the gateway, and the sample ends when a job has
// processed the gateway's event about it.
func (w *world) payments(t *testing.T) func(context.Context, int) error {
	t.Helper()
	db := w.open(t)
	additions := make([]int, len(w.victims)) // cards
	return func(ctx context.Context, i int) error {
		i %= len(w.victims)
		if err := w.addCard(ctx, w.victims[i]); err != nil {
			return err
		}
		additions[i]++
		return awaitEvents(ctx, db, w.victims[i].workspace, additions[i])
	}
}

// addCard adds a card as a payer's browser would.
func (w *world) addCard(ctx context.Context, v *client) error {
	intent, err := v.served(ctx, http.StatusCreated, "POST", "/api/payments/setup-intent", object{})
	if err != nil {
		return err
	}
	path := "/api/payments/sandbox/setup-intents/" + intent.at("id") + "/confirm"
	card := object{"number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2034}
	_, err = v.served(ctx, http.StatusOK, "POST", path,
		object{"client_secret": intent.at("client_secret"), "card": card})
	return err
}

// awaitEvents waits until n events of a workspace about added cards are processed. Not all events of a gateway become
// done: the creation of a customer is reported before Atrium knows the customer's id, and is ignored.
func awaitEvents(ctx context.Context, db *sql.DB, workspace string, n int) error {
	const processed = `SELECT COUNT(*) FROM payment_events WHERE workspace_id = $1 AND type = 'setup_intent.succeeded'
		AND state = 'done'`
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	var found int
	var err error
	if !proof.Poll(ctx, func() bool {
		err = db.QueryRowContext(ctx, processed, workspace).Scan(&found)
		return err != nil || found >= n
	}) {
		return fmt.Errorf("%d of %d events about added cards are processed", found, n)
	}
	return err
}
