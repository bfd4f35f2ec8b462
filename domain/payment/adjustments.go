package payment

import (
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ErrNotInTrial is returned when a trial is to be extended that is over, or never was.
var ErrNotInTrial = &fault.Error{
	Kind: fault.Conflict, Code: "not_in_trial", Detail: "The subscription of the workspace is not in a trial.",
}

// AdjustmentKind is a kind of Adjustment.
type AdjustmentKind string

// The kinds.
const (
	Comp           AdjustmentKind = "comp"            // the subscription costs nothing
	TrialExtension AdjustmentKind = "trial_extension" // the trial ends later
	CreditGrant    AdjustmentKind = "credit"          // is deducted from the next invoices
)

// Limits of adjustments.
const (
	maxCompMonths = 36
	maxTrialDays  = 730
	maxReason     = 500 // characters
)

// Adjustment is what operators give to a workspace.
type Adjustment struct {
	Kind   AdjustmentKind `json:"kind"`
	Reason string         `json:"reason"`
	Plan   PlanID         `json:"plan,omitempty"`   // for a Comp; "" for the plan that the workspace has
	Months int            `json:"months,omitempty"` // for a Comp; 0 for as long as the subscription lasts
	Days   int            `json:"days,omitempty"`   // for a TrialExtension
	Credit Money          `json:"credit,omitzero"`  // for a CreditGrant
}

// Check returns what is wrong with the fields of a.
func (a *Adjustment) Check() error {
	var errs fault.Fields
	if errs.AddText("/reason", a.Reason, maxReason); a.Reason == "" {
		errs.Add("/reason", "required", "Must say why, for the audit trail.")
	}
	number := func(pointer string, n, from, to int) {
		if n < from || n > to {
			errs.Add(pointer, "out_of_range", "Must be "+strconv.Itoa(from)+" to "+strconv.Itoa(to)+".")
		}
	}
	foreign := func(pointer string, isSet bool) {
		if isSet {
			errs.Add(pointer, "not_allowed_value", "Belongs to another kind.")
		}
	}
	if a.Kind == Comp {
		number("/months", a.Months, 0, maxCompMonths)
	} else {
		foreign("/plan_id", a.Plan != "")
		foreign("/months", a.Months != 0)
	}
	if a.Kind == TrialExtension {
		number("/days", a.Days, 1, maxTrialDays)
	} else {
		foreign("/days", a.Days != 0)
	}
	if a.Kind == CreditGrant {
		number("/amount", int(a.Credit.Amount), 1, 99_999_999)
		if !KnowsCurrency(a.Credit.Currency) {
			errs.Add("/currency", "not_allowed_value", "Must be a currency of the gateway in lower case, such as usd.")
		} else if a.Credit != a.Credit.Rounded() {
			errs.Add("/amount", "not_allowed_value", "Must end with 0, because gateways charge no third decimal.")
		}
	} else {
		foreign("/amount", a.Credit.Amount != 0)
		foreign("/currency", a.Credit.Currency != "")
	}
	return errs.Err()
}

// Request returns the request for a subscription that is free by a Comp. free is the promotion that makes it so.
func (a *Adjustment) Request(free Promotion) SubscribeRequest {
	return SubscribeRequest{Plan: a.Plan, Quantity: 1, Promotion: &free, NoTrial: true, Adjustment: a}
}

// Changes returns the subscription's changes for a. free is the promotion for a Comp, nil for other kinds.
func (a *Adjustment) Changes(free *Promotion) Changes { return Changes{Promotion: free, Adjustment: a} }

// adjust sets what an adjustment changes. A Comp keeps the plan: ErrSubscriptionExists for another one.
func (o *Operation) adjust(s *Subscription, a *Adjustment) error {
	switch o.Adjustment = a; {
	case a == nil:
	case a.Kind == TrialExtension && s.Status != Trialing:
		return ErrNotInTrial
	case a.Kind == TrialExtension:
		o.TrialUntil = s.TrialEnd.AddDate(0, 0, a.Days)
	case a.Kind == Comp && a.Plan != "" && a.Plan != s.Plan:
		return ErrSubscriptionExists.Because("The workspace has a subscription of another plan. Leave out plan_id " +
			"to make it free, or change its plan first.")
	}
	return nil
}

// recordAdjustment records an operation's adjustment, which has taken effect.
func (c *Customer) recordAdjustment(by identity.Actor, op *Operation) {
	if op.Adjustment != nil {
		c.record(by, op.Adjustment, op.Plan, op.TrialUntil)
	}
}

// RecordCredit records a CreditGrant that the gateway has booked.
func (c *Customer) RecordCredit(by identity.Actor, a *Adjustment) error {
	if err := c.allow(by); err != nil {
		return err
	}
	c.record(by, a, "", time.Time{})
	c.touch(by)
	return nil
}

func (c *Customer) record(by identity.Actor, a *Adjustment, plan PlanID, trialEnd time.Time) {
	data := map[string]any{"kind": a.Kind, "reason": a.Reason}
	switch a.Kind {
	case Comp:
		if data["plan_id"] = plan; a.Months > 0 {
			data["months"] = a.Months
		}
	case TrialExtension:
		data["days"], data["trial_end"] = a.Days, trialEnd
	case CreditGrant:
		data["amount"], data["currency"] = a.Credit.Amount, a.Credit.Currency
	}
	c.Record(by, "payment.adjusted", string(c.ID), data)
}
