package configs

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Payments configures the plans that an org sells and its payment gateway.
type Payments struct {
	Gateway        string // stripe or sandbox; empty: the org takes no payments
	GraceDays      int    // for which a subscription that is past due still entitles
	WebhookSecrets []SecretRef
	ReturnOrigins  []string             // of pages to which payers return from the gateway's pages
	MailedNotices  []payment.NoticeKind // mailed to a workspace's owners; all are events
	Trials         payment.TrialRules
	OnRefund       payment.Loss // a subscription's last payment; empty: keep
	OnDispute      payment.Loss // likewise
	AutomaticTax   bool         // the gateway determines the taxes of new subscriptions
	Stripe         Stripe
	Plans          []Plan
	AddOns         []AddOn
	CreditPacks    []CreditPack

	PlansRequireSignIn bool // only callers with a credential see the plans
}

// Stripe configures an org's account at Stripe.
type Stripe struct {
	SecretKey      SecretRef
	PublishableKey string // for browsers
	Account        string // of Stripe Connect, on whose behalf SecretKey is used; empty: the key's own
	BaseURL        string // empty: https://api.stripe.com
}

// SecretRef says where a secret is stored: env:NAME, or file:PATH. It is not a secret itself.
type SecretRef string

var errSecretRef = errors.New("must be env:NAME or file:PATH, where the secret is to be found")

// Resolve reads the secret. Its error never quotes the reference, which may be a secret by mistake.
func (r SecretRef) Resolve() (secret.String, error) {
	kind, place, _ := strings.Cut(string(r), ":")
	var value string
	switch kind {
	case "env":
		value = os.Getenv(place)
	case "file":
		text, err := os.ReadFile(place)
		if err != nil {
			return secret.String{}, errors.New("the file cannot be read")
		}
		value = strings.TrimRight(string(text), "\r\n")
	default:
		return secret.String{}, errSecretRef
	}
	if value == "" {
		return secret.String{}, errors.New("leads to nothing: the variable is not set, or the file is empty")
	}
	return secret.New(value), nil
}

// Terms returns the plans, for billing.
func (p Payments) Terms() (plans payment.Plans, grace time.Duration) {
	return products(p.Plans), time.Duration(p.GraceDays) * day
}

// Extras returns the add-ons, for billing.
func (p Payments) Extras() payment.Plans {
	var all []Plan
	for _, a := range p.AddOns {
		all = append(all, a.plan())
	}
	return products(all)
}

// Packs returns the credit packs, for billing.
func (p Payments) Packs() payment.Plans {
	var all []Plan
	for _, c := range p.CreditPacks {
		all = append(all, c.plan())
	}
	packs := products(all)
	for n := range packs {
		packs[n].IntervalCount, packs[n].ExpiresAfter = 0, p.CreditPacks[n].ExpiresAfterDays
	}
	return packs
}

// Shortfalls describes the plans that leave a workspace with less than its org's quotas give to those without a plan.
func (c Config) Shortfalls() (all []string) {
	for _, o := range c.Orgs {
		plans, _ := o.Payments.Terms()
		for i := range plans {
			for _, k := range plans[i].Below(o.Quotas) {
				quantity := fmt.Sprintf("has %d", o.Quotas.Get(k))
				if o.Quotas.Get(k) == quota.Unlimited {
					quantity = "has no limit"
				}
				all = append(all,
					fmt.Sprintf("the plan %s of the org %s limits %s to %d, and a workspace without a plan "+
						"%s: who pays gets less. Lower orgs[].quotas.%s, or raise the plan's limit",
						plans[i].ID, o.Slug, k, plans[i].LimitsOf(1)[string(k)], quantity, k))
			}
		}
	}
	return all
}

func (c *Config) validatePayments(found *problems) {
	l := c.Payments.CardLimits
	inRange(found, "payments.card_limits.setup_intents_per_hour", l.SetupIntentsPerHour, 0, 1000, "0 to 1000")
	inRange(found, "payments.card_limits.open_setup_intents", l.OpenSetupIntents, 0, 1000, "0 to 1000")
	inRange(found, "payments.card_limits.declines_per_day", l.DeclinesPerDay, 0, 1000, "0 to 1000")
	inRange(found, "payments.card_limits.invalid_codes_per_hour", l.InvalidCodesPerHour, 0, 1000, "0 to 1000")
	for i, o := range c.Orgs {
		o.Payments.validate(found, fmt.Sprintf("orgs[%d].payments", i))
	}
}

func (p Payments) validate(found *problems, key string) {
	if p.Gateway != "" {
		oneOf(found, key+".gateway", p.Gateway, string(payment.Stripe), string(payment.Sandbox))
	}
	inRange(found, key+".grace_days", p.GraceDays, 0, 90, "0 to 90")
	for i, origin := range p.ReturnOrigins {
		if !isOrigin(origin) {
			found.add(fmt.Sprintf("%s.return_origins[%d]", key, i),
				"must be https://host or https://host:port in lower case, http only for localhost, without a path")
		}
	}
	oneOf(found, key+".trials.without_card", string(p.Trials.WithoutCard), string(payment.CancelTrial),
		string(payment.PauseTrial))
	oneOf(found, key+".on_refund", string(p.OnRefund), string(payment.KeepPlan), string(payment.EndPlan))
	oneOf(found, key+".on_dispute", string(p.OnDispute), string(payment.KeepPlan), string(payment.EndPlan))
	for i, n := range p.MailedNotices {
		if !slices.Contains(payment.NoticeKinds(), n) {
			found.add(fmt.Sprintf("%s.mailed_notices[%d]", key, i),
				"must be payment.failed, trial.ending or card.expiring")
		}
	}
	resolve := func(key string, r SecretRef) {
		if _, err := r.Resolve(); err != nil {
			found.add(key, "%w", err)
		}
	}
	for i, r := range p.WebhookSecrets {
		resolve(fmt.Sprintf("%s.webhook_secrets[%d]", key, i), r)
	}
	if p.Gateway == string(payment.Stripe) {
		resolve(key+".stripe.secret_key", p.Stripe.SecretKey)
		if len(p.WebhookSecrets) == 0 {
			found.add(key+".webhook_secrets",
				"must hold the secret of the endpoint at Stripe, or nothing that happens there is heard of")
		}
	}
	if strings.HasPrefix(p.Stripe.PublishableKey, "sk_") || strings.HasPrefix(p.Stripe.PublishableKey, "rk_") {
		found.add(key+".stripe.publishable_key", "is a secret key: browsers would see it")
	}
	if u, err := url.Parse(p.Stripe.BaseURL); p.Stripe.BaseURL != "" &&
		(err != nil || !isBaseURL(p.Stripe.BaseURL) || (u.Scheme != "https" && !isLoopback(u.Hostname()))) {
		found.add(key+".stripe.base_url",
			"must be an https URL; http is only for loopback, since the key is sent there")
	}
	ids, prices := map[string]string{}, map[string]string{}
	for i, plan := range p.Plans {
		key := fmt.Sprintf("%s.plans[%d]", key, i)
		plan.validate(found, key, p.Gateway)
		noteTaken(found, ids, plan.ID, key+".id")
		if plan.GatewayPrice != "" { // what is sold at a price is a plan
			noteTaken(found, prices, plan.GatewayPrice, key+".gateway_price")
		}
	}
	plans, _ := p.Terms()
	p.validatePacks(found, key, plans, prices)
	addOns := map[string]string{}
	for i, a := range p.AddOns {
		key := fmt.Sprintf("%s.add_ons[%d]", key, i)
		a.plan().validate(found, key, p.Gateway)
		noteTaken(found, addOns, a.ID, key+".id")
		if a.GatewayPrice != "" {
			noteTaken(found, prices, a.GatewayPrice, key+".gateway_price")
		}
		limits, seatLimits, _ := a.plan().limits()
		if len(seatLimits) > 0 {
			found.add(key+".limits", "must be whole numbers: each unit of an add-on adds them")
		}
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			if !slices.Contains(quota.Kinds(), quota.Kind(name)) && !plans.Reportable()[name] {
				found.add(key+".limits."+name, "must be a limit of one of the plans: it adds to that")
			}
			if limits[name] < 1 {
				found.add(key+".limits."+name, "must be 1 or more: it adds to the plan's limit")
			}
		}
	}
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// samplePayments are the plans of the org of the embedded default, in a sandbox: no money moves.
func samplePayments() Payments {
	return Payments{Gateway: string(payment.Sandbox), GraceDays: 7, Plans: []Plan{
		{
			ID: "starter", Name: "Starter", Description: "For one person.", Price: Price{Amount: 900, Currency: "usd"},
			Interval: "month", IntervalCount: 1, TrialDays: 14,
			Features: []string{"1,000 messages per month"}, Limits: Document(`{"messages":1000}`),
			Sold: new(true), CurrencyOptions: Document(`{}`),
		},
		{
			ID: "team", Name: "Team", Description: "For a team that grows.",
			Price: Price{Amount: 2900, Currency: "usd"}, Interval: "month", IntervalCount: 1,
			Features: []string{"20,000 messages per month"}, Limits: Document(`{"messages":20000}`),
		},
		{
			ID: "team-yearly", Name: "Team, yearly", Description: "Two months less to pay.",
			Price: Price{Amount: 29000, Currency: "usd"}, Interval: "year", IntervalCount: 1,
			Features: []string{"20,000 messages per month"}, Limits: Document(`{"messages":20000}`),
		},
	}, AddOns: []AddOn{{
		ID: "messages", Name: "5,000 messages", Description: "More messages each month.",
		Price: Price{Amount: 500, Currency: "usd"}, Interval: "month", IntervalCount: 1,
		Limits: Document(`{"messages":5000}`), Sold: new(true),
	}}, CreditPacks: []CreditPack{{
		ID: "messages-once", Name: "10,000 messages", Description: "For half a year, beside what the plan has.",
		Price: Price{Amount: 1200, Currency: "usd"}, Limits: Document(`{"messages":10000}`), ExpiresAfterDays: 183,
		Sold: new(true),
	}}}
}
