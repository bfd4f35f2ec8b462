// Package payments makes random payment calls on real stores and on gateways whose calls fail, in a process that may
// die between any two steps. The gateways are the sandbox, and Stripe's adapter with a fake Stripe over HTTP.
package payments

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	sqlpayments "github.com/atrium-hq/atrium/adapters/sqlstore/payments"
	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// onEach runs a test in a world of its own on each engine, both at once.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for engine, url := range map[string]func(*testing.T) string{
		"SQLite": func(t *testing.T) string {
			return "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db"))
		},
		"PostgreSQL": func(t *testing.T) string { return migrated.Postgres(t) },
	} {
		t.Run("on "+engine, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, url(t)))
		})
	}
}

func mac(text string) string {
	h := hmac.New(sha256.New, []byte("key"))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

var plans = payment.Plans{
	{ID: "basic", PriceRef: "price_basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1},
	{ID: "pro", PriceRef: "price_pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1},
	{ID: "trial", PriceRef: "price_trial", Price: payment.Money{Amount: 500, Currency: "usd"}, Interval: payment.Month,
		IntervalCount: 1, TrialDays: 14},
}

// world is a database with a sandbox.
type world struct {
	stores  ports.Stores
	orgs    [2]identity.OrgID
	objects ports.SandboxObjects
	calm    map[identity.OrgID]*stripesim.Simulator // without faults
	receive *payments.Service
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, seal.Create(file))
	ring, err := seal.Open(seal.Config{KeyFile: file})
	require.NoError(t, err)
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 10, Synchronous: "normal", StatementTimeout: proof.Patience},
		ring.Sealer(seal.Answers), sql.OpenDB)
	require.NoError(t, err)
	t.Cleanup(closeDB)
	ids, err := db.EnsureOrgs(t.Context(), []string{"one", "two"})
	require.NoError(t, err)
	w := &world{stores: db.Stores(), orgs: [2]identity.OrgID{ids["one"], ids["two"]},
		objects: sqlpayments.NewSandboxObjects(db.DB), calm: map[identity.OrgID]*stripesim.Simulator{}}
	for _, org := range w.orgs {
		w.calm[org] = w.simulator(org, nil)
	}
	w.receive = w.service()
	return w
}

// simulator returns an org's simulated gateway, whose calls go wrong as trouble says; nil: they do not.
func (w *world) simulator(org identity.OrgID, trouble stripesim.Trouble) *stripesim.Simulator {
	s := stripesim.New(stripesim.Config{
		Org: org, Objects: w.objects, Plans: plans, MAC: mac,
		Deliver: func(ctx context.Context, body []byte, signature string) error {
			return w.receive.Receive(ctx, org, payment.Sandbox, body, signature, time.Now().UTC())
		},
	})
	s.SetTrouble(trouble)
	return s
}

// before returns the adapter in front of a simulator.
func before(s *stripesim.Simulator) ports.Gateway {
	return stripe.New(stripe.Config{SecretKey: secret.New(stripesim.Key), Transport: s.Transport()})
}

// service returns the payments service at the calm gateways.
func (w *world) service() *payments.Service {
	return newService(w.stores, func(org identity.OrgID) payments.Terms {
		s := w.calm[org]
		return payments.Terms{Kind: payment.Sandbox, Account: stripesim.Account, Gateway: before(s), Payer: s,
			WebhookKeys: []secret.String{s.WebhookKey()}, Plans: plans}
	})
}

// newService returns the payments service, which sends no mail and has the default quotas.
func newService(s ports.Stores, terms payments.TermsOf) *payments.Service {
	return payments.NewService(s.Atomic, s.PaymentStores, payments.Deps{
		Workspaces: s.Workspaces, Jobs: s.Jobs, Digester: fixture.Digester{}, Terms: terms,
		Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
	})
}

func at(by identity.Actor) identity.Actor {
	by.At = time.Now().UTC().Truncate(time.Microsecond)
	return by
}

// addCard adds a test card that works.
func (w *world) addCard(t *testing.T, by identity.Actor) {
	t.Helper()
	i, err := w.receive.SetupIntent(t.Context(), at(by), fmt.Sprint("card ", time.Now().UnixNano()), payment.OffSession)
	require.NoError(t, err)
	card := payment.Card{Number: secret.New("4242424242424242"), ExpMonth: 12, ExpYear: time.Now().Year() + 3}
	_, err = w.receive.ConfirmIntent(t.Context(), at(by), i.SetupIntent, card)
	require.NoError(t, err)
}

func TestTwoOrgsDoNotMeet(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		one, two := fixture.NewTeam(t, w.stores, w.orgs[0]).Owner, fixture.NewTeam(t, w.stores, w.orgs[1]).Owner
		w.addCard(t, one)
		w.addCard(t, two)
		ownWallet, err := w.receive.Methods(t.Context(), at(one))
		require.NoError(t, err)
		_, _, err = w.receive.SetDefault(t.Context(), at(two), ownWallet.Methods[0].ID)
		assert.ErrorIs(t, err, payment.ErrMethodNotFound)
		assert.ErrorIs(t, w.receive.RemoveMethod(t.Context(), at(two), ownWallet.Methods[0].ID, ""),
			payment.ErrMethodNotFound)
		body := []byte(`{"id":"evt_x","object":"event","type":"customer.updated","created":1,"data":{"object":{"object":"customer","id":"cus_x"}}}`)
		signature := payment.Sign(w.calm[w.orgs[0]].WebhookKey(), body, time.Now())
		assert.ErrorIs(t, w.receive.Receive(t.Context(), w.orgs[1], payment.Sandbox, body, signature, time.Now()),
			payment.ErrSignature)
		assert.NoError(t, w.receive.Receive(t.Context(), w.orgs[0], payment.Sandbox, body, signature, time.Now()))
		_, err = w.stores.Inbox.Get(t.Context(), w.orgs[1], stripesim.Account, "evt_x")
		assert.ErrorIs(t, err, payment.ErrEventNotFound)
	})
}
