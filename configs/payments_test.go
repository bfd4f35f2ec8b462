package configs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/payment"
)

func TestWhatAnOrgSells(t *testing.T) {
	t.Setenv("TEST_KEY", "sk_test_c4n4ry")
	key := inFile(t, "whsec_c4n4ry\n")
	c := parse(t, configs.Source{
		File: inFile(t, `orgs: [{slug: a, payments: {gateway: stripe, grace_days: 3, webhook_secrets: ['file:`+key+
			`'], stripe: {secret_key: 'env:TEST_KEY'},
		plans: [{id: team, name: Team, price: {amount: 900, currency: usd}, interval: month,
			limits: {members: {per_seat: 2}, sources: 3}, gateway_price: price_1,
			currency_options: {jpy: 130, eur: 800}, days_until_due: 30}, {id: crew, name: Crew,
			price: {amount: 900, currency: usd}, interval: month, seats: members, gateway_price: price_2}],
		add_ons: [{id: more, name: More, price: {amount: 500, currency: usd}, interval: month, limits: {sources: 2},
			gateway_price: price_3}]}}]`)})
	p := c.Orgs[0].Payments
	plans, grace := p.Terms()
	extras := p.Extras()
	options := []payment.Money{{Amount: 800, Currency: "eur"}, {Amount: 130, Currency: "jpy"}}
	if plans[0].DaysUntilDue != 30 || !slices.Equal(plans[0].CurrencyOptions, options) {
		t.Errorf("%+v", plans[0])
	}
	if len(extras) != 1 || extras[0].Limits["sources"] != 2 || extras[0].Price.Amount != 500 || !extras[0].OnSale() {
		t.Errorf("add-ons %+v", extras)
	}
	if len(plans) != 2 || plans[1].Seats != "members" || plans[1].SeatLimits["members"] != 1 ||
		plans[0].Price != (payment.Money{Amount: 900, Currency: "usd"}) ||
		plans[0].IntervalCount != 1 || plans[0].Limits["sources"] != 3 || len(plans[0].Limits) != 1 ||
		plans[0].SeatLimits["members"] != 2 || len(plans[0].SeatLimits) != 1 || grace != 72*time.Hour {
		t.Errorf("%+v, %s", plans, grace)
	}
	for ref, want := range map[configs.SecretRef]string{p.Stripe.SecretKey: "sk_test_c4n4ry",
		p.WebhookSecrets[0]: "whsec_c4n4ry"} {
		if s, err := ref.Resolve(); err != nil || s.Reveal() != want {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if d := parse(t, configs.Source{}).Orgs[0].Payments; d.Gateway != "sandbox" || len(d.Plans) == 0 {
		t.Errorf("the embedded default sells nothing: %+v", d)
	}
	if d := parse(t, configs.Source{File: inFile(t, "orgs: [{slug: a}]")}).Orgs[0].Payments; d.Gateway != "" {
		t.Errorf("an org that does not say so sells in the %s", d.Gateway)
	}
}

func TestPaymentsThatAreRefused(t *testing.T) {
	const plan = `plans: [{id: team, name: Team, price: {amount: 900, currency: usd}, interval: month, gateway_price: p}]`
	with := func(more string) string {
		return `{plans: [{id: a, name: A, price: {currency: usd}, interval: day, ` + more + `}]}`
	}
	for name, tt := range map[string]struct{ payments, want string }{
		"another gateway": {`{gateway: paypal}`, "gateway: must be stripe or sandbox"},
		"a secret in the file itself": {`{gateway: stripe, stripe: {secret_key: sk_test_c4n4ry}}`,
			"stripe.secret_key: must be env:NAME or file:PATH"},
		"a variable that is not set": {`{gateway: stripe, stripe: {secret_key: 'env:TEST_NOT_SET'}}`,
			"stripe.secret_key: leads to nothing"},
		"a file that is not there": {`{webhook_secrets: ['file:` + filepath.Join(t.TempDir(), "none") + `']}`,
			"webhook_secrets[0]: the file cannot be read"},
		"Stripe without webhooks": {`{gateway: stripe}`, "webhook_secrets: must hold"},
		"a secret key for browsers": {`{stripe: {publishable_key: sk_test_c4n4ry}}`,
			"publishable_key: is a secret key"},
		"a key sent in the clear": {`{stripe: {base_url: 'http://stripe.example.com'}}`,
			"base_url: must be an https URL"},
		"a plan twice": {
			`{plans: [{id: a, name: A, price: {currency: usd}, interval: day}, {id: a, name: A, price: {currency: usd}, interval: day}]}`, "plans[1].id: is the same as"},
		"an option in no currency":      {with(`currency_options: {xyz: 1}`), "options.xyz: must be a currency"},
		"an option in its own currency": {with(`currency_options: {usd: 1}`), "options.usd: must be a currency"},
		"an option of a fraction":       {with(`currency_options: {kwd: 5}`), "currency_options.kwd: must be 0 to"},
		"options and a metered price": {with(`currency_options: {eur: 1}, metered: {feature: words, amount: 1}`),
			"currency_options: must be empty"},
		"a due date in years": {with(`days_until_due: 366`), "days_until_due: must be 0 to 365"},
		"two plans with one price": {`{plans: [{id: a, name: A, price: {currency: usd}, interval: day, gateway_price: p},` +
			`{id: b, name: B, price: {currency: usd}, interval: day, gateway_price: p}]}`,
			"plans[1].gateway_price: is the same as orgs[0].payments.plans[0].gateway_price"},
		"a currency that no gateway has": {strings.Replace("{"+plan+"}", "currency: usd", "currency: xyz", 1),
			"currency: must be a currency of Stripe"},
		"an amount that no gateway charges": {
			strings.Replace("{"+plan+"}", "900, currency: usd", "901, currency: kwd", 1),
			"price.amount: must end with 0"},
		"a plan with an id of 65 bytes": {strings.Replace("{"+plan+"}", "team", strings.Repeat("a", 65), 1),
			"id: must be 1 to 64"},
		"a plan without a currency": {strings.Replace("{"+plan+"}", "currency: usd", "currency: US", 1),
			"currency: must be a currency of Stripe"},
		"a plan by the hour":           {strings.Replace("{"+plan+"}", "month", "hour", 1), "interval: must be day"},
		"a plan for less than nothing": {strings.Replace("{"+plan+"}", "900", "-1", 1), "price.amount: must be 0"},
		"limits that are no numbers": {strings.Replace("{"+plan+"}", "interval:", "limits: {a: b}, interval:", 1),
			"limits: must be whole numbers"},
		"a limit of nothing per seat": {
			strings.Replace("{"+plan+"}", "interval:", "limits: {a: {per_seat: 0}}, interval:", 1),
			"limits: must be whole numbers by name, or {per_seat: number}"},
		"a limit per seat with another member": {
			strings.Replace("{"+plan+"}", "interval:", "limits: {a: {per_seat: 1, more: 2}}, interval:", 1),
			"limits: must be whole numbers by name, or {per_seat: number}"},
		"an add-on twice": {`{add_ons: [{id: a, name: A, price: {currency: usd}, interval: day},` +
			`{id: a, name: A, price: {currency: usd}, interval: day}]}`, "add_ons[1].id: is the same as"},
		"an add-on with the price of a plan": {
			"{" + plan + ", add_ons: [{id: a, name: A, price: {currency: usd}, interval: day, gateway_price: p}]}",
			"add_ons[0].gateway_price: is the same as"},
		"an add-on that Stripe cannot know": {
			"{gateway: stripe, add_ons: [{id: a, name: A, price: {currency: usd}, interval: day}]}",
			"add_ons[0].gateway_price: must be the id"},
		"an add-on to what no plan limits": {
			"{" + plan + ", add_ons: [{id: a, name: A, price: {currency: usd}, interval: day, limits: {messages: 1}}]}",
			"add_ons[0].limits.messages: must be a limit of one of the plans"},
		"an add-on that adds nothing": {
			"{" + plan + ", add_ons: [{id: a, name: A, price: {currency: usd}, interval: day, limits: {members: 0}}]}",
			"add_ons[0].limits.members: must be 1 or more"},
		"an add-on with seats": {"{" + plan + ", add_ons: [{id: a, name: A, price: {currency: usd}, interval: day," +
			" limits: {members: {per_seat: 1}}}]}", "add_ons[0].limits: must be whole numbers"},
		"seats of something else": {
			strings.Replace("{"+plan+"}", "interval:", "seats: sources, interval:", 1), "seats: must be members"},
		"a limit of members beside their seats": {
			strings.Replace("{"+plan+"}", "interval:", "seats: members, limits: {members: 3}, interval:", 1),
			"limits.members: follows from seats"},
		"a limit per seat with a typo": {
			strings.Replace("{"+plan+"}", "interval:", "limits: {membres: {per_seat: 3}}, interval:", 1),
			"limits.membres: is not a limit that Atrium knows, which is members"},
		"a limit of Atrium's with a typo": {
			strings.Replace("{"+plan+"}", "interval:", "limits: {membres: 3}, interval:", 1),
			"limits.membres: is not a limit that Atrium knows, which is members"},
		"a plan that Stripe cannot know": {strings.Replace("{gateway: stripe, "+plan+"}", ", gateway_price: p", "", 1),
			"gateway_price: must be the id"},
		"a metered price of what Atrium counts": {
			strings.Replace("{"+plan+"}", "interval:", "metered: {feature: members}, interval:", 1),
			"metered.feature: must be"},
		"a metered price that Stripe cannot know": {
			strings.Replace("{gateway: stripe, "+plan+"}", "interval:", "metered: {feature: messages}, interval:", 1),
			"metered.gateway_price: must be"},
		"a grace of more than it is good": {`{grace_days: 91}`, "grace_days: must be 0 to 90"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configs.Load(configs.Source{File: inFile(t, "orgs: [{slug: a, payments: "+tt.payments+"}]")})
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(err.Error(), "orgs[0].payments.") || strings.Contains(err.Error(), "c4n4ry") {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestAPlanWithLessThanNoPlanIsNamed(t *testing.T) {
	c := parse(t, configs.Source{File: inFile(t, `orgs: [{slug: a, quotas: {chat_templates: 10, sources: 2}, payments: {
		gateway: sandbox, plans: [
		{id: small, name: Small, price: {amount: 900, currency: usd}, interval: month, limits: {chat_templates: 5,
			members: 1, messages: 1}},
		{id: large, name: Large, price: {amount: 2900, currency: usd}, interval: month, limits: {chat_templates: 10,
			sources: 3}}]}}]`)})
	all := c.Shortfalls()
	if len(all) != 2 {
		t.Fatalf("%q", all)
	}
	for i, want := range []string{
		"small of the org a limits chat_templates to 5, and a workspace without a plan has 10",
		"small of the org a limits members to 1, and a workspace without a plan has no limit"} {
		if !strings.Contains(all[i], want) {
			t.Errorf("%q does not say %q", all[i], want)
		}
	}
	if all := parse(t, configs.Source{}).Shortfalls(); len(all) != 0 {
		t.Errorf("who pays for a plan of the embedded default gets less: %q", all)
	}
}
