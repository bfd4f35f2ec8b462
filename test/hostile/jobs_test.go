package hostile

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestStalledRefreshesDelayNoOtherOrgsPayments(t *testing.T) {
	onEach(t, func(t *testing.T, database string) {
		w := newAttack(t, database, "ATRIUM_CONNECTIONS_PREVIEW_LIMITS_WORKSPACE_PER_MINUTE=10000",
			"ATRIUM_PAYMENTS_CARD_LIMITS_SETUP_INTENTS_PER_HOUR=0", "ATRIUM_PAYMENTS_CARD_LIMITS_OPEN_SETUP_INTENTS=0")
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
	connected := w.attacker.do(w.t, "POST", "/api/connections", object{"kind": "postgres", "credential": credential})
	connection := connected.is(w.t, 201).at(w.t, "id")
	for i := range n {
		attached := w.attacker.do(w.t, "POST", "/api/datasources", object{
			"type":     "contacts",
			"location": object{"connection_id": connection, "schema": "public", "table": "people_" + strconv.Itoa(i)},
		})
		sources = append(sources, attached.is(w.t, 201).at(w.t, "id"))
	}
	return sources, proxy
}

// payments returns a sample of a victim's payments: a card is added at the gateway, and the sample ends when a job has
// processed the gateway's event about it.
func (w *world) payments(t *testing.T) func(context.Context, int) error {
	t.Helper()
	db := w.Open(t)
	added := make([]int, len(w.victims)) // cards
	workspaces := make([]string, len(w.victims))
	for i, v := range w.victims {
		workspaces[i] = v.do(t, "GET", "/api/me", nil).is(t, 200).at(t, "workspaces.0.id")
	}
	return func(ctx context.Context, i int) error {
		i %= len(w.victims)
		if err := w.addCard(ctx, w.victims[i]); err != nil {
			return err
		}
		added[i]++
		return awaitEvents(ctx, db, workspaces[i], added[i])
	}
}

// addCard adds a card as a payer's browser would.
func (w *world) addCard(ctx context.Context, v *client) error {
	intent, err := v.try(ctx, "POST", "/api/payments/setup-intent", object{})
	if err != nil {
		return err
	}
	if intent.status != http.StatusCreated {
		return fmt.Errorf("%s returns %d: %s", intent.call, intent.status, intent.text)
	}
	path := "/api/payments/sandbox/setup-intents/" + intent.at(w.t, "id") + "/confirm"
	card := object{"number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2034}
	a, err := v.try(ctx, "POST", path, object{"client_secret": intent.at(w.t, "client_secret"), "card": card})
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s returns %d: %s", a.call, a.status, a.text)
	}
	return err
}

// awaitEvents waits until n events of a workspace about added cards are processed. Not all events of a gateway become
// done: the creation of a customer is reported before Atrium knows the customer's id, and is ignored.
func awaitEvents(ctx context.Context, db *sql.DB, workspace string, n int) error {
	const processed = `SELECT COUNT(*) FROM payment_events WHERE workspace_id = $1 AND type = 'setup_intent.succeeded'
		AND state = 'done'`
	for late := time.Now().Add(2 * program.Patience); ; pause(ctx, 5*time.Millisecond) {
		var found int
		if err := db.QueryRowContext(ctx, processed, workspace).Scan(&found); err != nil {
			return err
		}
		if found >= n {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("%d of %d events about added cards are processed", found, n)
		}
	}
}
