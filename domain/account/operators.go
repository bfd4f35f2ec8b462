package account

import (
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ErrOperatorByRules is returned when operator rights that claim rules grant are to be revoked.
var ErrOperatorByRules = &fault.Error{
	Kind: fault.Conflict, Code: "operator_by_rules",
	Detail: "Claim rules of the organisation make this person an operator. Change the rules, or the person's claims.",
}

// SetOperator makes the person an operator of the org, or revokes the right that was granted by hand. It requires the
// same caller as Disable, and Actor.SteppedUp to make a new operator. ErrLastOperator if callers revoke their own
// right, and no other operator is left.
// ErrOperatorByRules if the person stays an operator because of claim rules; the right that was given by hand is kept
// then. It changes nothing if the person already has the right, or lacks it.
func (a *Access) SetOperator(by identity.Actor, operator bool) error {
	if err := a.mayChange(by, ""); err != nil {
		return err
	}
	u := a.User
	switch {
	case u.OperatorByHand == operator && u.Operator == operator:
		return nil
	case !operator && len(u.OperatorBy) > 0:
		return ErrOperatorByRules
	case !operator && by.User == u.ID && len(a.Operators) == 1:
		return ErrLastOperator
	}
	if operator {
		if err := by.SteppedUp(); err != nil {
			return err
		}
	}
	changes := map[string]any{"operator": event.Change{From: u.Operator, To: operator}}
	u.Operator, u.OperatorByHand = operator, operator
	u.update(by, a.MemberOf, changes)
	return nil
}
