package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Limits of usage reports.
const (
	// MaxUsage is the largest quantity of one report.
	MaxUsage = 1_000_000_000_000

	// MaxUsageSum is a period's largest sum, 2⁵³−1: JavaScript can represent it. A larger sum stays at it.
	MaxUsageSum = 1<<53 - 1

	// UsageKeyLasts is the time for which a report's key is remembered.
	UsageKeyLasts = 35 * 24 * time.Hour
)

// Errors about usage.
var (
	ErrUnknownFeature = &fault.Error{Kind: fault.Invalid, Code: "unknown_feature",
		Detail: "No plan of this organisation limits or bills a feature of that name, or Atrium counts it itself."}
	ErrUsageKeyReused = &fault.Error{Kind: fault.Invalid, Code: "idempotency_key_reused",
		Detail: "The idempotency_key was used for another feature or another quantity."}
)

// UsageReport is what an application reports that a workspace has used.
type UsageReport struct {
	Feature  string
	Quantity int64

	// Key identifies the report in its workspace, so that it counts once; "" if it may count again.
	Key string

	Period Period
}

// NewUsageReport returns a report for a workspace in a period. ErrRoleRequired unless by manages
// payments, ErrUnknownFeature if applications do not count the feature, fault.ErrInvalid if the quantity
// is not between 1 and MaxUsage.
func NewUsageReport(by identity.Actor, plans Plans, feature string, quantity int64, key string,
	in Period) (UsageReport, error) {
	if err := MayManage(by); err != nil {
		return UsageReport{}, err
	}
	if quantity < 1 || quantity > MaxUsage {
		return UsageReport{}, fault.InvalidFields([]fault.Field{{Pointer: "/quantity", Code: "out_of_range",
			Detail: "Must be 1 to 1000000000000."}})
	}
	if !plans.Reportable()[feature] {
		return UsageReport{}, ErrUnknownFeature
	}
	return UsageReport{Feature: feature, Quantity: quantity, Key: key, Period: in}, nil
}
