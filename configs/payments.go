package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
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
}

// Stripe configures an org's account at Stripe.
type Stripe struct {
	SecretKey      SecretRef
	PublishableKey string // for browsers
	Account        string // of Stripe Connect, on whose behalf SecretKey is used; empty: the key's own
	BaseURL        string // empty: https://api.stripe.com
}

// Plan is payment.Plan as it is configured.
type Plan struct {
	ID            string
	Name          string
	Description   string
	Price         Price
	Interval      string
	IntervalCount int // 0: 1
	TrialDays     int
	Features      []string
	Limits        Document // by name: a number, or {per_seat: number}
	GatewayPrice  string   // the price's id at Stripe
	Seats         string   // members: each needs a seat; or empty
	Metered       Metered
	Sold          *bool // nil: true; false: only who has the plan keeps it
}

// Metered configures what a feature's usage costs, in addition to the price of its plan.
type Metered struct {
	Feature      string // as applications report it; empty: nothing is billed by usage
	Amount       int    // per unit, in the minor unit of the plan's currency
	GatewayPrice string // the id of the metered price at Stripe
}

// Price is an amount in a currency's minor unit.
type Price struct {
	Amount   int
	Currency string
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

const maxPlanID = 64 // bytes

var planForm = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$`)

// Terms returns the plans, for billing.
func (p Payments) Terms() (plans payment.Plans, grace time.Duration) {
	for _, c := range p.Plans {
		limits, seatLimits, _ := c.limits() // Load has validated them
		plans = append(plans, payment.Plan{
			ID: payment.PlanID(c.ID), Name: c.Name, Description: c.Description,
			Price:    payment.Money{Amount: int64(c.Price.Amount), Currency: c.Price.Currency},
			Interval: payment.Interval(c.Interval), IntervalCount: max(c.IntervalCount, 1), TrialDays: c.TrialDays,
			Features: c.Features, Limits: limits, SeatLimits: seatLimits,
			Seats: quota.Kind(c.Seats), PriceRef: c.GatewayPrice,
			Metered: c.Metered.price(), Retired: c.Sold != nil && !*c.Sold,
		})
	}
	return plans, time.Duration(p.GraceDays) * day
}

// price returns the metered price, for billing, or nil.
func (m Metered) price() *payment.MeteredPrice {
	if m.Feature == "" {
		return nil
	}
	return &payment.MeteredPrice{Feature: m.Feature, Amount: int64(m.Amount), PriceRef: m.GatewayPrice}
}

func (m Metered) validate(found *problems, key, gateway string) {
	if m == (Metered{}) {
		return
	}
	if len(m.Feature) > maxPlanID || !planForm.MatchString(m.Feature) ||
		slices.Contains(quota.Kinds(), quota.Kind(m.Feature)) {
		found.add(key+".feature",
			"must be 1 to 64 of a-z, 0-9, dot, hyphen and underscore, and none that Atrium counts")
	}
	inRange(found, key+".amount", m.Amount, 0, 99_999_999, "0 to 99999999, in the minor unit of the plan's currency")
	if gateway == string(payment.Stripe) && m.GatewayPrice == "" {
		found.add(key+".gateway_price", "must be the id of a metered price at Stripe")
	}
}

// limit is a number, or a number for each seat.
type limit struct {
	amount  int64
	perSeat *int64
}

func (l *limit) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &l.amount) == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	in := struct {
		PerSeat *int64 `json:"per_seat"`
	}{}
	err := d.Decode(&in)
	if l.perSeat = in.PerSeat; err == nil && (in.PerSeat == nil || *in.PerSeat < 1 || *in.PerSeat > maxPerSeat) {
		err = errPerSeat
	}
	return err
}

// maxPerSeat keeps the limit of the largest quantity within an int64.
const maxPerSeat = 1_000_000_000_000

var errPerSeat = errors.New("per_seat must be 1 to 1000000000000")

// limits returns the plan's limits, and those of each seat.
func (p Plan) limits() (limits, seatLimits map[string]int64, err error) {
	var all map[string]limit
	if len(p.Limits) > 0 {
		err = json.Unmarshal(p.Limits, &all)
	}
	limits, seatLimits = map[string]int64{}, map[string]int64{}
	if p.Seats != "" {
		seatLimits[p.Seats] = 1
	}
	for name, l := range all {
		if l.perSeat != nil {
			seatLimits[name] = *l.perSeat
		} else {
			limits[name] = l.amount
		}
	}
	return limits, seatLimits, err
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
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func (p Plan) validate(found *problems, key, gateway string) {
	if len(p.ID) > maxPlanID || !planForm.MatchString(p.ID) {
		found.add(key+".id", "must be 1 to 64 of a-z, 0-9, dot, hyphen and underscore")
	}
	if n := len([]rune(p.Name)); n < 1 || n > maxName {
		found.add(key+".name", "must have 1 to %d characters", maxName)
	}
	inRange(found, key+".price.amount", p.Price.Amount, 0, 99_999_999,
		"0 to 99999999, in the minor unit of the currency")
	if !payment.KnowsCurrency(p.Price.Currency) {
		found.add(key+".price.currency", "must be a currency of Stripe in lower case, such as usd")
	}
	if price := (payment.Money{Amount: int64(p.Price.Amount), Currency: p.Price.Currency}); price != price.Rounded() {
		found.add(key+".price.amount", "must end with 0, because gateways charge no third decimal")
	}
	oneOf(found, key+".interval", p.Interval, "day", "week", "month", "year")
	inRange(found, key+".interval_count", p.IntervalCount, 0, 36, "1 to 36")
	inRange(found, key+".trial_days", p.TrialDays, 0, 730, "0 to 730")
	if p.Seats != "" {
		oneOf(found, key+".seats", p.Seats, string(quota.Members))
	}
	limits, seatLimits, err := p.limits()
	if _, isSet := limits[p.Seats]; isSet || (p.Seats != "" && seatLimits[p.Seats] != 1) {
		found.add(key+".limits."+p.Seats, "follows from seats: each member needs one")
	}
	if err != nil {
		found.add(key+".limits", "must be whole numbers by name, or {per_seat: number}")
	}
	maps.Copy(limits, seatLimits)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if k := misspelled(name); k != "" { // it would limit nothing
			found.add(key+".limits."+name,
				"is not a limit that Atrium knows, which is %s. For a limit of your own, choose "+
					"a name that differs more", k)
		}
	}
	p.Metered.validate(found, key+".metered", gateway)
	if gateway == string(payment.Stripe) && p.GatewayPrice == "" {
		found.add(key+".gateway_price", "must be the id of a price at Stripe, such as price_1MoBy5LkdIwHu7ixZhnattbh")
	}
}

// misspelled returns the limit of Atrium's that a name differs from by one or two letters, or "" if not found.
func misspelled(name string) quota.Kind {
	kinds := quota.Kinds()
	n := slices.IndexFunc(kinds, func(k quota.Kind) bool { return distance(name, string(k)) <= 2 })
	if n < 0 || slices.Contains(kinds, quota.Kind(name)) {
		return ""
	}
	return kinds[n]
}

// distance returns the number of bytes that must be inserted, deleted or replaced to change a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, row[j+1]+1, replaced)
		}
	}
	return row[len(b)]
}

// samplePayments are the plans of the org of the embedded default, in a sandbox: no money moves.
func samplePayments() Payments {
	return Payments{Gateway: string(payment.Sandbox), GraceDays: 7, Plans: []Plan{
		{
			ID: "starter", Name: "Starter", Description: "For one person.", Price: Price{Amount: 900, Currency: "usd"},
			Interval: "month", IntervalCount: 1, TrialDays: 14,
			Features: []string{"1,000 messages per month"}, Limits: Document(`{"messages":1000}`),
			Sold: new(true),
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
	}}
}
