package quota

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Errors of Check.
var (
	// ErrExceeded reports that a limit of the configuration is reached. Check names it.
	ErrExceeded = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "A quota of the workspace is used up."}

	// ErrPlanLimit reports that a limit of the workspace's plan is reached. Check names it, and the plan
	// that allows more.
	ErrPlanLimit = &fault.Error{Kind: fault.Conflict, Code: "plan_limit_reached",
		Detail: "A limit of the workspace's plan is reached."}
)

// Limits are the limits of one workspace, and where they come from.
type Limits struct {
	Amounts

	// Plan is the plan that the workspace is entitled to; the zero Offer without a plan. Limited
	// holds the kinds that this plan limits. The organisation's configuration limits the others.
	Plan    Offer
	Limited map[Kind]bool

	// Seats has what each unit of Plan's quantity allows, for the kinds that grow with it.
	Seats map[Kind]int64

	// Added has what add-ons allow besides the plan, by the names of kinds.
	Added map[string]int64

	// Others are the plans that the workspace can change to, in display order.
	Others []Offer
}

// Offer is a plan, with the limits for a workspace that has it.
type Offer struct {
	ID, Name string
	Amounts
}

// LimitError is ErrPlanLimit or ErrExceeded with the limit that is reached.
type LimitError struct {
	Kind    Kind
	Limit   int64
	Plan    bool   // whether the workspace's plan sets the limit
	Counted bool   // by the application, in a period
	Lifted  *Offer // the first plan that allows what was refused; nil if none does

	// Quantity of the workspace's plan that allows what was refused; 0 if none does.
	Quantity int
}

func (e *LimitError) Error() string { return e.fault().Detail }

// Unwrap returns the error that the caller gets.
func (e *LimitError) Unwrap() error { return e.fault() }

func (e *LimitError) fault() *fault.Error {
	advice := "delete what you no longer need."
	if e.Counted {
		advice = "wait until the period ends."
	}
	switch {
	case e.Quantity > 0:
		advice = fmt.Sprintf("Raise the quantity of the plan to %d, or %s", e.Quantity, advice)
	case e.Lifted != nil:
		advice = fmt.Sprintf("The plan %s allows more: change to it, or %s", e.Lifted.Name, advice)
	default:
		advice = strings.ToUpper(advice[:1]) + advice[1:]
	}
	if e.Counted {
		return ErrPlanLimit.Because(fmt.Sprintf("The limit of %s is %d in this period. Nothing was counted. %s", e.Kind,
			e.Limit, advice))
	}
	if e.Plan {
		return ErrPlanLimit.Because(fmt.Sprintf("The plan of this workspace limits %s to %d. %s", e.Kind,
			e.Limit, advice))
	}
	return ErrExceeded.Because(fmt.Sprintf("The quota %s of this workspace is %d. %s", e.Kind, e.Limit, advice))
}

// Check returns a *LimitError if used, which includes the planned addition, exceeds l in one of kinds.
func (l *Limits) Check(usage Amounts, kinds ...Kind) error {
	for _, k := range kinds {
		if usage.Get(k) <= l.Get(k) {
			continue
		}
		e := &LimitError{Kind: k, Limit: l.Get(k), Plan: l.Limited[k],
			Quantity: SeatsFor(usage.Get(k)-l.Added[string(k)], l.Seats[k])}
		for i := range l.Others {
			if o := &l.Others[i]; o.Get(k) >= usage.Get(k) {
				e.Lifted = o
				break
			}
		}
		return e
	}
	return nil
}

// MaxSeats is the largest quantity of a plan.
const MaxSeats = 10_000

// SeatsFor returns the quantity that allows an amount of what each unit has n of; 0 if no quantity does.
func SeatsFor(amount, n int64) int {
	if n <= 0 {
		return 0
	}
	quantity := (amount + n - 1) / n
	if quantity > MaxSeats {
		return 0
	}
	return int(quantity)
}

// What concurrent transactions of one workspace can add together, and more: a request adds one thing and at most some
// mebibytes, and few workspace requests run at a time.
const (
	reservedThings = 1000
	reservedBytes  = 64 << 20
)

// Near reports whether additions of concurrent transactions, which used does not count yet, could exceed l in one
// of kinds.
func (l *Limits) Near(usage Amounts, kinds ...Kind) bool {
	return slices.ContainsFunc(kinds, func(k Kind) bool {
		reserve := int64(reservedThings)
		if k == StorageBytes {
			reserve = reservedBytes
		}
		return usage.Get(k) > l.Get(k)-reserve
	})
}

// Bounds reports whether l limits a kind.
func (l *Limits) Bounds(k Kind) bool { return l.Get(k) != Unlimited }
