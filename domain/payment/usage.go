package payment

import (
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
)

// Limits of usage reports.
const (
	// MaxUsage is the largest quantity of one report, and of one correction.
	MaxUsage = 1_000_000_000_000

	// MaxUsageSum is a period's largest sum, 2⁵³−1: JavaScript can represent it. A larger sum stays at it.
	MaxUsageSum = 1<<53 - 1

	// MaxUsageReports is the number of reports that one call can have.
	MaxUsageReports = 1000

	// UsageKeyLasts is the time for which a report's key is remembered.
	UsageKeyLasts = 35 * 24 * time.Hour

	// UsageDaysLimit is a history's maximum number of days.
	UsageDaysLimit = 366

	// usageAhead is how much later than the gateway's clock an application's clock can be.
	usageAhead = 5 * time.Minute
)

// Errors about usage.
var (
	ErrUnknownFeature = &fault.Error{Kind: fault.Invalid, Code: "unknown_feature",
		Detail: "No plan of this organisation limits or bills a feature of that name, or Atrium counts it itself."}
	ErrUsageKeyReused = &fault.Error{Kind: fault.Invalid, Code: "idempotency_key_reused",
		Detail: "The idempotency_key was used for another feature or another quantity."}
	ErrUsageBelowZero = &fault.Error{Kind: fault.Conflict, Code: "usage_below_zero",
		Detail: "The correction is larger than what was used in the current period. Nothing was counted."}
	ErrUsageDays = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
		Detail: "The days must be a range of at most 366 days, as from=2026-03-01 and to=2026-03-31."}

	// ErrUsageLimit says that a report exceeds its Allowance and the credit packs. Use cases handle it; no caller gets
	// it.
	ErrUsageLimit = errors.New("the usage exceeds its limit")
)

// UsageRequest is what an application says that a workspace has used.
type UsageRequest struct {
	Feature   string
	Quantity  int64     // a negative one corrects earlier reports
	Key       string    // identifies the report in its workspace, so that it counts once; "" if it may count again
	Timestamp time.Time // when it was used; zero for now
}

// UsageReport is a UsageRequest that was checked.
type UsageReport struct {
	Feature  string
	Quantity int64
	Key      string
	At       time.Time // at the gateway
	Period   Period

	Account   string // at the gateway, whose credit packs are spent
	Rules     PackRules
	Allowance *int64 // the plan's limit, without credit packs; nil without a limit
	IsLimited bool   // counts only within Allowance and the credit packs
}

// NewUsageReport returns a report for a workspace in a period. now is the time at the gateway. ErrRoleRequired unless
// by manages payments, ErrUnknownFeature if applications do not count the feature, fault.ErrInvalid if the quantity is
// 0 or more than MaxUsage, or if the time is not in the period that has passed.
func NewUsageReport(
	by identity.Actor, plans Plans, w UsageRequest, in Period, now time.Time,
) (UsageReport, error) {
	if err := MayManage(by); err != nil {
		return UsageReport{}, err
	}
	var errs fault.Fields
	if w.Quantity == 0 || w.Quantity > MaxUsage || w.Quantity < -MaxUsage {
		errs.Add("/quantity", "out_of_range", "Must be 1 to 1000000000000, or negative for a correction.")
	}
	start := w.Timestamp
	if start.IsZero() {
		start = now
	}
	if start.Before(in.Start) || start.After(now.Add(usageAhead)) || !start.Before(in.End) {
		errs.Add("/timestamp", "out_of_range", "Must be in the current period, and not in the future.")
	}
	if err := errs.Err(); err != nil {
		return UsageReport{}, err
	}
	if !plans.Reportable()[w.Feature] {
		return UsageReport{}, ErrUnknownFeature
	}
	return UsageReport{Feature: w.Feature, Quantity: w.Quantity, Key: w.Key, At: start, Period: in}, nil
}

// Repeats returns whether r is the same report as another one with its key, or ErrUsageKeyReused.
func (r *UsageReport) Repeats(feature string, quantity int64) (bool, error) {
	if r.Feature != feature || r.Quantity != quantity {
		return false, ErrUsageKeyReused
	}
	return true, nil
}

// UsageOutcome is a report's outcome.
type UsageOutcome struct {
	Tally            // of the feature and its period, after the report
	IsRepeated bool  // the report had been counted before
	Refusal    error // why it was not counted; nil if it was
}

// Counts reports whether the report was counted now.
func (o *UsageOutcome) Counts() bool { return !o.IsRepeated && o.Refusal == nil }

// UsageDay is a feature's usage on one day. Corrections can make it negative.
type UsageDay struct {
	Day  time.Time // its beginning in UTC
	Used int64
}

// DayOfUsage returns the beginning of a moment's day in UTC.
func DayOfUsage(moment time.Time) time.Time { return moment.UTC().Truncate(24 * time.Hour) }

// CheckUsageDays returns ErrUsageDays unless a range of days, both included, has 1 to UsageDaysLimit days.
func CheckUsageDays(from, to time.Time) error {
	if days := to.Sub(from).Hours()/24 + 1; days < 1 || days > UsageDaysLimit {
		return ErrUsageDays
	}
	return nil
}

// limitError returns the error for a report that exceeds the limit a of a grant, or of none.
func (p Plans) limitError(a *Allowance, added int64, g *Grant) *quota.LimitError {
	e := &quota.LimitError{Kind: quota.Kind(a.Name), Limit: a.Limit, Plan: true, Counted: true}
	if g != nil {
		e.Quantity = quota.SeatsFor(a.Used-a.FromPacks+added-sumOf(a.Packs)-g.Added[a.Name],
			g.Plan.SeatLimits[a.Name])
	}
	for i := range p {
		limit, isLimited := g.limit(&p[i], a.Name)
		if p[i].OnSale() && (g == nil || p[i].ID != g.Plan.ID) && (!isLimited || a.left(limit) >= added) {
			e.Lifted = &quota.Offer{ID: string(p[i].ID), Name: p[i].Name}
			break
		}
	}
	return e
}

// Exhausted returns the error for a report that exceeds the limit of its feature, of which e has what is used.
func (e *Entitlements) Exhausted(plans Plans, r *UsageReport) error {
	return plans.limitError(e.Allowance(r.Feature), r.Quantity, e.grant)
}
