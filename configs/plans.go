package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Plan is payment.Plan as it is configured.
type Plan struct {
	ID            string
	Name          string
	Description   string
	Price         Price
	Interval      string
	IntervalCount int // 0: 1
	TrialDays     int
	DaysUntilDue  int // 0: the payment method is charged; else invoices are paid by transfer
	Features      []string
	Limits        Document // by name: a number, or {per_seat: number}
	GatewayPrice  string   // the price's id at Stripe
	Seats         string   // members: each needs a seat; or empty
	Metered       Metered
	Sold          *bool // nil: true; false: only who has the plan keeps it

	CurrencyOptions Document // amounts by currency
}

// AddOn is a product that can be bought beside a plan.
type AddOn struct {
	ID            string
	Name          string
	Description   string
	Price         Price
	Interval      string // the period of the plans that it can be bought with
	IntervalCount int    // 0: 1
	Limits        Document
	GatewayPrice  string
	Sold          *bool
}

// plan returns the add-on as a plan: it is priced and sold in the same way.
func (a AddOn) plan() Plan {
	return Plan{ID: a.ID, Name: a.Name, Description: a.Description, Price: a.Price, Interval: a.Interval,
		IntervalCount: a.IntervalCount, Limits: a.Limits, GatewayPrice: a.GatewayPrice, Sold: a.Sold}
}

// CreditPack is a product that is bought once.
type CreditPack struct {
	ID               string
	Name             string
	Description      string
	Price            Price
	Limits           Document // what it adds to limits that applications count, by name
	ExpiresAfterDays int      // 0: it does not expire
	GatewayPrice     string
	Sold             *bool
}

// plan returns the credit pack as a plan without a period.
func (c CreditPack) plan() Plan {
	return Plan{ID: c.ID, Name: c.Name, Description: c.Description, Price: c.Price, Limits: c.Limits,
		GatewayPrice: c.GatewayPrice, Sold: c.Sold}
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

const maxPlanID = 64 // bytes

var planForm = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$`)

// products returns plans or add-ons, for billing.
func products(all []Plan) (plans payment.Plans) {
	for _, c := range all {
		limits, seatLimits, _ := c.limits() // Load has validated them
		options, _ := c.options()
		plans = append(plans, payment.Plan{
			ID: payment.PlanID(c.ID), Name: c.Name, Description: c.Description,
			Price:    payment.Money{Amount: int64(c.Price.Amount), Currency: c.Price.Currency},
			Interval: payment.Interval(c.Interval), IntervalCount: max(c.IntervalCount, 1), TrialDays: c.TrialDays,
			Features: c.Features, Limits: limits, SeatLimits: seatLimits,
			Seats: quota.Kind(c.Seats), PriceRef: c.GatewayPrice,
			CurrencyOptions: options, DaysUntilDue: c.DaysUntilDue,
			Metered: c.Metered.price(), Retired: c.Sold != nil && !*c.Sold,
		})
	}
	return plans
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

// limits returns the plan's limits, and the limits of each seat.
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

func (p Plan) validate(found *problems, key, gateway string) {
	oneOf(found, key+".interval", p.Interval, "day", "week", "month", "year")
	p.validateProduct(found, key, gateway)
}

// validateProduct is validate for what a plan, an add-on and a credit pack have in common.
func (p Plan) validateProduct(found *problems, key, gateway string) {
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
	p.validateOptions(found, key+".currency_options")
	inRange(found, key+".days_until_due", p.DaysUntilDue, 0, 365, "0 to 365")
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

// options returns the prices in other currencies, sorted by currency.
func (p Plan) options() (options []payment.Money, err error) {
	if len(p.CurrencyOptions) == 0 {
		return nil, nil
	}
	var amounts map[string]int64
	err = json.Unmarshal(p.CurrencyOptions, &amounts)
	for _, currency := range slices.Sorted(maps.Keys(amounts)) {
		options = append(options, payment.Money{Amount: amounts[currency], Currency: currency})
	}
	return options, err
}

func (p Plan) validateOptions(found *problems, key string) {
	options, err := p.options()
	if err != nil {
		found.add(key, "must be whole numbers by currency")
	}
	if len(options) > 0 && p.Metered != (Metered{}) {
		found.add(key, "must be empty for a plan with a metered price, which has one currency")
	}
	for _, o := range options {
		if key := key + "." + o.Currency; !payment.KnowsCurrency(o.Currency) || o.Currency == p.Price.Currency {
			found.add(key, "must be a currency of Stripe in lower case, such as eur, other than that of price")
		} else if o.Amount < 0 || o.Amount > 99_999_999 || o != o.Rounded() {
			found.add(key, "must be 0 to 99999999, in the minor unit of the currency, without a third decimal")
		}
	}
}

// maxPackLimit keeps what a purchase adds to a limit within the numbers of JavaScript.
const maxPackLimit = payment.MaxUsageSum / payment.MaxPacks

func (p Payments) validatePacks(found *problems, key string, plans payment.Plans, prices map[string]string) {
	ids, metered := map[string]string{}, map[string]bool{}
	for _, plan := range plans {
		if plan.Metered != nil {
			metered[plan.Metered.Feature] = true
		}
	}
	for i, c := range p.CreditPacks {
		key := fmt.Sprintf("%s.credit_packs[%d]", key, i)
		c.plan().validateProduct(found, key, p.Gateway)
		noteTaken(found, ids, c.ID, key+".id")
		if c.GatewayPrice != "" {
			noteTaken(found, prices, c.GatewayPrice, key+".gateway_price")
		}
		inRange(found, key+".expires_after_days", c.ExpiresAfterDays, 0, 3650, "0 to 3650")
		limits, seatLimits, _ := c.plan().limits()
		if len(limits) == 0 || len(limits) > 5 || len(seatLimits) > 0 {
			found.add(key+".limits", "must be 1 to 5 whole numbers by name: what the credit pack adds")
		}
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			switch key := key + ".limits." + name; {
			case !plans.Reportable()[name] || metered[name]:
				found.add(key,
					"must be a limit of one of the plans that applications count, and without a metered price")
			case limits[name] < 1 || limits[name] > maxPackLimit:
				found.add(key, "must be 1 to %d", int64(maxPackLimit))
			}
		}
	}
}
