package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	sqlpayments "github.com/atrium-hq/atrium/adapters/sqlstore/payments"
	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Gateways holds the current terms of each org; a reload replaces them.
type Gateways struct {
	present   atomic.Pointer[map[identity.OrgID]payments.Terms]
	sandboxes atomic.Pointer[map[identity.OrgID]*stripesim.Simulator]
	objects   ports.SandboxObjects
	mac       func(text string) string
	receiver  *payments.Service // receives the events of sandboxes; set when the use cases are composed
	unsure    atomic.Pointer[[]error]

	verifying  sync.Mutex // held while prices are verified; guards the fields below
	slugs      map[identity.OrgID]string
	unanswered bool // whether a gateway did not respond the last time
}

// newGateways returns a configuration's gateways.
func newGateways(
	ctx context.Context, c configs.Config, db *sqlstore.Store, envelope *seal.Envelope, o *Orgs,
) (*Gateways, error) {
	g := &Gateways{objects: sqlpayments.NewSandboxObjects(db.DB), mac: func(text string) string {
		// Two fingerprints, since each is cut to 64 bits.
		return envelope.Fingerprint([]byte(text), []byte("sandbox 1")) + envelope.Fingerprint([]byte(text),
			[]byte("sandbox 2"))
	}}
	return g, g.load(ctx, c, o)
}

// How the prices of plans, add-ons and credit packs are verified at the gateways.
const (
	pricesWithin = 5 * time.Second  // for all plans of one org; a start does not fail if it is exceeded
	pricesEvery  = 5 * time.Minute  // while all prices are known
	pricesAgain  = 15 * time.Second // while some could not be looked up
)

// load reads the terms from settings. A plan whose price was not verified at its gateway cannot be bought, and a
// warning names it.
func (g *Gateways) load(ctx context.Context, c configs.Config, o *Orgs) error {
	present, sandboxes := map[identity.OrgID]payments.Terms{}, map[identity.OrgID]*stripesim.Simulator{}
	slugs := map[identity.OrgID]string{}
	for _, settings := range c.Orgs {
		org, ok := o.Directory().BySlug(settings.Slug)
		if !ok {
			continue
		}
		t, simulator, err := g.termsOf(org.ID, settings.Payments)
		if err != nil {
			return fmt.Errorf("payments of the org %s: %w", org.Slug, err)
		}
		t.Limits = c.Payments.CardLimits
		if simulator != nil {
			sandboxes[org.ID] = simulator
		}
		for _, products := range []payment.Plans{t.Plans, t.AddOns, t.CreditPacks} {
			for i := range products {
				products[i].Unavailable = true
			}
		}
		present[org.ID], slugs[org.ID] = t, org.Slug
	}
	g.verifying.Lock()
	defer g.verifying.Unlock()
	g.slugs = slugs
	g.verify(ctx, present)
	g.sandboxes.Store(&sandboxes)
	return nil
}

// verify looks up the prices of all products and stores the result. If a gateway does not respond, its plans
// stay as they are in present.
func (g *Gateways) verify(ctx context.Context, present map[identity.OrgID]payments.Terms) {
	var unsure []error
	isPending := false
	for org, t := range present {
		if t.Gateway == nil {
			continue
		}
		callCtx, cancel := context.WithTimeout(ctx, pricesWithin)
		products, err := t.Gateway.Prices(callCtx, slices.Concat(t.Plans, t.AddOns, t.CreditPacks))
		cancel()
		if err == nil {
			plans, addOns := len(t.Plans), len(t.Plans)+len(t.AddOns)
			t.Plans, t.AddOns, t.CreditPacks = products[:plans], products[plans:addOns], products[addOns:]
			present[org] = t
		} else {
			isPending = true
			unsure = append(unsure, fmt.Errorf("the prices of the org %s were not looked up: %w", g.slugs[org], err))
		}
		for _, p := range slices.Concat(t.Plans, t.AddOns, t.CreditPacks) {
			if !p.Unavailable || p.Retired {
				continue
			}
			kind, difference := "plan or add-on", "interval"
			if p.IsPack() {
				kind, difference = "credit pack", "for each period instead of once"
			}
			unsure = append(unsure, fmt.Errorf("the %s %s of the org %s cannot be bought: the gateway was not asked, "+
				"does not sell its price, or sells it for another amount or %s", kind, p.ID, g.slugs[org], difference))
		}
	}
	g.unanswered = isPending
	g.present.Store(&present)
	g.unsure.Store(&unsure)
}

// runPrices verifies prices periodically, until ctx ends.
func (g *Gateways) runPrices(ctx context.Context) {
	for {
		g.verifying.Lock()
		wait := pricesEvery
		if g.unanswered {
			wait = pricesAgain
		}
		g.verifying.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		g.verifying.Lock()
		g.verify(ctx, maps.Clone(*g.present.Load()))
		g.verifying.Unlock()
	}
}

// termsOf returns the terms of an org, and the simulator of a sandbox.
func (g *Gateways) termsOf(
	org identity.OrgID, p configs.Payments,
) (t payments.Terms, simulator *stripesim.Simulator, err error) {
	var keys []secret.String
	for _, ref := range p.WebhookSecrets {
		key, err := ref.Resolve()
		if err != nil {
			return t, nil, fmt.Errorf("webhook_secrets: %w", err)
		}
		keys = append(keys, key)
	}
	t = payments.Terms{
		Kind: payment.GatewayKind(p.Gateway), WebhookKeys: keys, PublishableKey: p.Stripe.PublishableKey,
		Reads: new(payments.Reads),
	}
	t.Plans, t.Grace = p.Terms()
	t.AddOns, t.CreditPacks = p.Extras(), p.Packs()
	t.MailedNotices, t.AutomaticTax, t.Trials = p.MailedNotices, p.AutomaticTax, p.Trials
	t.PlansRequireSignIn = p.PlansRequireSignIn
	t.Losses = payment.LossRules{OnRefund: p.OnRefund, OnDispute: p.OnDispute}
	t.Returns = payment.ReturnPolicy{Origins: p.ReturnOrigins, Loopback: t.Kind == payment.Sandbox}
	switch t.Kind {
	case payment.Sandbox:
		t.Plans, t.AddOns = priced(t.Plans, "price_"), priced(t.AddOns, "price_add_on_")
		t.CreditPacks = priced(t.CreditPacks, "price_credit_pack_")
		simulator = stripesim.New(stripesim.Config{
			Org: org, Objects: g.objects, Plans: slices.Concat(t.Plans, t.AddOns, t.CreditPacks), MAC: g.mac,
			Deliver: func(ctx context.Context, body []byte, signature string) error {
				return g.receiver.Receive(ctx, org, payment.Sandbox, body, signature,
					time.Now().UTC().Truncate(time.Microsecond))
			},
		})
		t.Gateway = stripe.New(stripe.Config{
			SecretKey: secret.New(stripesim.Key), Transport: simulator.Transport(),
		})
		t.Account, t.Payer, t.PublishableKey = stripesim.Account, simulator, ""
		t.WebhookKeys = slices.Concat(keys, []secret.String{simulator.WebhookKey()})
		t.Clock = simulator.Now
	case payment.Stripe:
		key, err := p.Stripe.SecretKey.Resolve()
		if err != nil {
			return t, nil, fmt.Errorf("stripe.secret_key: %w", err)
		}
		t.Gateway = stripe.New(stripe.Config{SecretKey: key, Account: p.Stripe.Account, BaseURL: p.Stripe.BaseURL})
		t.Account, t.Connected = "stripe "+stripe.Mode(key), p.Stripe.Account
		if p.Stripe.Account != "" {
			t.Account += " " + p.Stripe.Account
		}
	}
	return t, simulator, nil
}

// priced returns plans that all have prices at the gateway. A sandbox needs none in the configuration.
func priced(plans payment.Plans, prefix string) payment.Plans {
	plans = slices.Clone(plans)
	for i := range plans {
		p := &plans[i]
		p.PriceRef = cmp.Or(p.PriceRef, prefix+string(p.ID))
		if p.Metered != nil {
			metered := *p.Metered
			metered.PriceRef = cmp.Or(metered.PriceRef, p.PriceRef+"_"+metered.Feature)
			p.Metered = &metered
		}
	}
	return plans
}

// Terms returns an org's current terms; empty terms if a reload has just removed the org.
func (g *Gateways) Terms(org identity.OrgID) payments.Terms { return (*g.present.Load())[org] }

// Sandbox returns an org's sandbox; an error if its payments go through another gateway.
func (g *Gateways) Sandbox(org identity.OrgID) (*stripesim.Simulator, error) {
	s, ok := (*g.sandboxes.Load())[org]
	if !ok {
		return nil, errors.New("the payments of this org do not go through the sandbox")
	}
	return s, nil
}

// Unsure returns why some plans cannot be bought.
func (g *Gateways) Unsure() []error { return *g.unsure.Load() }
