package payment

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Errors about credit packs.
var (
	ErrPackNotFound = &fault.Error{Kind: fault.NotFound, Code: "credit_pack_not_found",
		Detail: "This organisation has no such credit pack."}
	ErrPackUnavailable = &fault.Error{Kind: fault.Invalid, Code: "credit_pack_unavailable",
		Detail: "The credit pack cannot be bought at the moment."}
)

// IsPack reports whether p is a credit pack: it is bought once, and adds to limits until that is used or expires.
func (p *Plan) IsPack() bool { return p.Interval == "" }

// FindPack is Find for credit packs, or ErrPackNotFound.
func (p Plans) FindPack(id PlanID) (*Plan, error) {
	pack, err := p.Find(id)
	if err != nil {
		return nil, ErrPackNotFound
	}
	return pack, nil
}

// buyablePack is buyable for credit packs. ErrPackUnavailable.
func (p Plans) buyablePack(id PlanID) (*Plan, error) {
	pack, err := p.FindPack(id)
	if err == nil && !pack.OnSale() {
		err = ErrPackUnavailable
	}
	return pack, err
}

// PackOrder is a request to the gateway for credit packs.
type PackOrder struct {
	Pack     Plan
	Quantity int
	Method   MethodID // that is charged

	AutomaticTax bool // as in an Order
}

// PackSale is a purchase of credit packs, as the gateway notes it with the invoice. What was sold stays what it was,
// even if the configuration changes.
type PackSale struct {
	Pack     PlanID           `json:"pack"`
	Quantity int              `json:"quantity"`
	Limits   map[string]int64 `json:"limits"`         // what each pack adds, by the name of the limit
	Days     int              `json:"days,omitempty"` // after which what is left expires; 0 if it does not
	Key      string           `json:"key"`            // of the call that sold it
}

// CreditPack is what a purchase adds to one limit.
type CreditPack struct {
	Invoice   InvoiceID // that paid it
	Pack      PlanID
	Feature   string // the name of the limit
	Granted   int64
	Used      int64
	BoughtAt  time.Time // at the gateway
	ExpiresAt time.Time // zero if it does not expire

	IsRefunded bool // in full
	IsDisputed bool
}

// Remaining returns what is left of p.
func (p *CreditPack) Remaining() int64 { return p.Granted - p.Used }

// HasExpired reports whether p has expired at now, the time at the gateway.
func (p *CreditPack) HasExpired(now time.Time) bool {
	return !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt)
}

// compare orders credit packs as they are spent: the one that expires soonest first, then the oldest.
func (p *CreditPack) compare(o *CreditPack) int {
	if p.ExpiresAt.IsZero() != o.ExpiresAt.IsZero() {
		if o.ExpiresAt.IsZero() {
			return -1
		}
		return 1
	}
	return cmp.Or(p.ExpiresAt.Compare(o.ExpiresAt), p.BoughtAt.Compare(o.BoughtAt), cmp.Compare(p.Invoice, o.Invoice))
}

// Credits returns what an invoice adds to limits, by their names: nothing before it is paid.
func (i *Invoice) Credits() (credits []CreditPack) {
	if i.Pack == nil || i.Status != Paid {
		return nil
	}
	expiry := time.Time{}
	if i.Pack.Days > 0 {
		expiry = i.PaidAt.AddDate(0, 0, i.Pack.Days)
	}
	for _, feature := range slices.Sorted(maps.Keys(i.Pack.Limits)) {
		credits = append(credits, CreditPack{
			Invoice: i.ID, Pack: i.Pack.Pack, Feature: feature,
			Granted: i.Pack.Limits[feature] * int64(i.Pack.Quantity), BoughtAt: i.PaidAt, ExpiresAt: expiry,
			IsRefunded: i.Refunded(), IsDisputed: i.Disputed(),
		})
	}
	return credits
}

// PackID returns the credit packs that an invoice sells; "" if it bills something else.
func (i *Invoice) PackID() PlanID {
	if i.Pack == nil {
		return ""
	}
	return i.Pack.Pack
}

// PackRules say which credit packs can be spent.
type PackRules struct {
	Now    time.Time // at the gateway
	Losses LossRules
}

// spendable reports whether p can be spent, if anything is left of it.
func (r PackRules) spendable(p *CreditPack) bool { return !r.hasLost(p) && !p.HasExpired(r.Now) }

// hasLost reports whether what is left of p has ended with a refund or a dispute.
func (r PackRules) hasLost(p *CreditPack) bool {
	return (p.IsRefunded && r.Losses.OnRefund == EndPlan) || (p.IsDisputed && r.Losses.OnDispute == EndPlan)
}

// Spendable returns the credit packs of which something is left that can be spent, in the order in which they are.
func (r PackRules) Spendable(packs []CreditPack) (all []CreditPack) {
	for _, p := range packs {
		if p.Remaining() > 0 && r.spendable(&p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b CreditPack) int { return a.compare(&b) })
	return all
}

// Tally is a workspace's usage of one feature in one period, and its credit packs for that feature.
type Tally struct {
	Used      int64
	FromPacks int64 // of Used, what credit packs have paid for
	Packs     []CreditPack
}

// Add counts a report. The allowance of the plan is spent first, then credit packs by PackRules.Spendable; a correction
// gives back in the opposite order. Past usage is never charged to a credit pack later, whatever becomes of the
// allowance. ErrUsageBelowZero or ErrUsageLimit if the report does not count: then nothing changes. Used never exceeds
// MaxUsageSum.
func (t *Tally) Add(r *UsageReport) error {
	next := t.Used + r.Quantity
	switch {
	case next < 0:
		return ErrUsageBelowZero
	case r.Quantity < 0:
		t.giveBack(r.Rules, -r.Quantity)
	case r.Allowance != nil:
		excess := r.Quantity - min(r.Quantity, max(0, *r.Allowance-(t.Used-t.FromPacks)))
		credit := sumOf(r.Rules.Spendable(t.Packs))
		if r.IsLimited && excess > credit {
			return ErrUsageLimit
		}
		t.spend(r.Rules, min(excess, credit))
	}
	t.Used = min(next, MaxUsageSum)
	return nil
}

// spend takes an amount from the credit packs, which have it.
func (t *Tally) spend(rules PackRules, amount int64) {
	t.FromPacks += amount
	for _, p := range t.ordered(rules) {
		part := min(amount, p.Remaining())
		p.Used, amount = p.Used+part, amount-part
	}
}

// giveBack returns what a correction takes from usage that credit packs have paid for. What was paid by a pack that can
// no longer be spent is lost.
func (t *Tally) giveBack(rules PackRules, amount int64) {
	amount = min(amount, t.FromPacks)
	t.FromPacks -= amount
	for _, p := range slices.Backward(t.ordered(rules)) {
		part := min(amount, p.Used)
		p.Used, amount = p.Used-part, amount-part
	}
}

// ordered returns the credit packs of t that can be spent, in the order in which they are.
func (t *Tally) ordered(rules PackRules) (all []*CreditPack) {
	for n := range t.Packs {
		if rules.spendable(&t.Packs[n]) {
			all = append(all, &t.Packs[n])
		}
	}
	slices.SortFunc(all, (*CreditPack).compare)
	return all
}

// sumOf returns what is left of credit packs.
func sumOf(packs []CreditPack) (sum int64) {
	for n := range packs {
		sum += packs[n].Remaining()
	}
	return min(sum, MaxUsageSum)
}

// PackRequest is a caller's request for credit packs.
type PackRequest struct {
	Pack     PlanID
	Quantity int // 1 to MaxPacks

	AutomaticTax bool // whether the org charges tax automatically
}

// MaxPacks is the number of credit packs that one purchase can have.
const MaxPacks = 1000

// BuyPack starts to charge the default method for credit packs, under key. If the call was made before, isDone is true
// and err is nil. now is the time at the gateway. ErrMethodRequired, ErrPackNotFound, ErrPackUnavailable.
func (c *Customer) BuyPack(
	by identity.Actor, now time.Time, key string, w PackRequest, packs Plans,
) (isDone bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if c.HasDone(by.At, key, Changes{}) {
		return true, nil
	}
	if isResumed, err := c.resumes(by, Buy, key); isResumed || err != nil {
		return false, err
	}
	pack, err := packs.buyablePack(w.Pack)
	if err != nil {
		return false, err
	}
	if err := c.unpaused(); err != nil {
		return false, err
	}
	op := &Operation{Kind: Buy, Key: key, At: by.At, Plan: pack.ID, Quantity: w.Quantity, Sold: pack.snapshot(),
		AutomaticTax: w.AutomaticTax}
	if m := c.DefaultMethod(); m != nil && !m.Expired(now) {
		op.Method = m.ID
	} else if pack.total(w.Quantity) > 0 {
		return false, ErrMethodRequired
	}
	c.begin(by, op, "credit_pack.requested", string(c.ID),
		map[string]any{"credit_pack_id": pack.ID, "quantity": w.Quantity})
	return false, nil
}

// PackOrder returns the request to the gateway for a Buy.
func (o *Operation) PackOrder(pack Plan) PackOrder {
	return PackOrder{Pack: pack, Quantity: o.Quantity, Method: o.Method, AutomaticTax: o.AutomaticTax}
}

// recordPacks records that credit packs were bought by an invoice that has just been paid.
func (c *Customer) recordPacks(by identity.Actor, i *Invoice) {
	credits := i.Credits()
	if len(credits) == 0 {
		return
	}
	limits := map[string]int64{}
	for _, p := range credits {
		limits[p.Feature] = p.Granted
	}
	data := map[string]any{"credit_pack_id": i.Pack.Pack, "quantity": i.Pack.Quantity, "limits": limits,
		"amount": i.AmountPaid, "currency": i.Currency}
	if expiry := credits[0].ExpiresAt; !expiry.IsZero() {
		data["expires_at"] = expiry
	}
	c.Record(by, "credit_pack.purchased", string(i.ID), data)
}

// ExpirePacks records what was left of credit packs that have expired, one event for each invoice. Nothing is left of
// what has ended with a refund or a dispute.
func (c *Customer) ExpirePacks(by identity.Actor, rules PackRules, packs []CreditPack) {
	var first []CreditPack // of each invoice
	rests := map[InvoiceID]map[string]int64{}
	for _, p := range slices.SortedFunc(slices.Values(packs), func(a, b CreditPack) int { return a.compare(&b) }) {
		if p.Remaining() == 0 || rules.hasLost(&p) {
			continue
		}
		if rests[p.Invoice] == nil {
			first, rests[p.Invoice] = append(first, p), map[string]int64{}
		}
		rests[p.Invoice][p.Feature] = p.Remaining()
	}
	for _, p := range first {
		c.Record(by, "credit_pack.expired", string(p.Invoice), map[string]any{
			"credit_pack_id": p.Pack, "limits": rests[p.Invoice], "expires_at": p.ExpiresAt,
		})
	}
}
