package payment

import "github.com/atrium-hq/atrium/domain/identity"

// TrialRules are an org's conditions for trials, in addition to one trial per workspace.
type TrialRules struct {
	CardRequired bool // a trial needs a valid payment method
	OncePerEmail bool // an owner's address can have one trial
	OncePerCard  bool // a card, or another payment method, can have one trial

	WithoutCard TrialEnd // what becomes of a trial that ends without a payment method; "" is CancelTrial
}

// TrialEnd is what becomes of a subscription when its trial ends without a payment method that could be charged.
type TrialEnd string

// The ends of trials.
const (
	CancelTrial TrialEnd = "cancel" // the subscription ends
	PauseTrial  TrialEnd = "pause"  // it is Paused until it is resumed with a payment method
)

// Exclusive reports whether only one workspace can have a trial with marks of a kind.
func (r TrialRules) Exclusive(k TrialMarkKind) bool {
	return (k == EmailMark && r.OncePerEmail) || (k == CardMark && r.OncePerCard)
}

// TrialMarkKind is a kind of TrialMark.
type TrialMarkKind string

// The kinds.
const (
	EmailMark TrialMarkKind = "email" // an owner's address
	CardMark  TrialMarkKind = "card"  // a payment method's fingerprint
)

// TrialMark is a digest of an address or a card with which a workspace has begun a trial.
type TrialMark struct {
	Kind   TrialMarkKind
	Digest string
}

// CheckMarks returns ErrTrialUsed if the rules allow a trial to one workspace with one of marks. claims are those
// marks of a trial of by's workspace that another workspace has used before.
func (r TrialRules) CheckMarks(by identity.Actor, marks []TrialMark) error {
	if err := MayManage(by); err != nil {
		return err
	}
	if r.Refused(marks) != "" {
		return ErrTrialUsed
	}
	return nil
}

// Refused returns the first of marks, which another workspace has used before, that prevents a trial; "" if none does.
func (r TrialRules) Refused(marks []TrialMark) TrialMarkKind {
	for _, m := range marks {
		if r.Exclusive(m.Kind) {
			return m.Kind
		}
	}
	return ""
}

// endTrial sets whether a change ends the trial: if the caller asks for it, and with a plan that has no trial, which no
// one can try out in the trial of another plan.
func (c *Customer) endTrial(op *Operation, ch Changes, plans Plans) error {
	s := c.Subscription
	if s.Status != Trialing {
		return nil
	}
	price, isCharged := s.Item.Rate.Price, true
	if plan, err := plans.Find(op.Plan); err == nil {
		isCharged = !plan.ByTransfer()
	}
	if plan, err := plans.Find(op.Plan); err == nil && (op.Sold != nil || price == (Money{})) {
		price = plan.Price
		op.EndTrial = op.Sold != nil && plan.TrialDays == 0
	}
	op.EndTrial = op.EndTrial || ch.EndTrial
	if op.EndTrial && isCharged && price.Amount > 0 && c.DefaultMethod() == nil {
		return ErrMethodRequired
	}
	return nil
}

// BeginsTrial reports whether the operation under key, which is in progress, begins a trial.
func (c *Customer) BeginsTrial(key string) bool {
	return c.Pending != nil && c.Pending.Kind == Subscribe && c.Pending.Key == key && c.Pending.TrialDays > 0
}

// Fingerprint returns the fingerprint of the method that pays for the operation in progress, or "".
func (c *Customer) Fingerprint() string {
	if c.Pending == nil {
		return ""
	}
	if m := c.method(c.Pending.Method); m != nil {
		return m.Fingerprint
	}
	return ""
}
