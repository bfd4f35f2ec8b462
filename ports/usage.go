package ports

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Usage counts what workspaces have stored.
type Usage interface {
	// Amounts returns what a workspace uses. Invitations that have expired at the time at do not count, nor do the
	// streams of nodes that are not alive. Within a transaction, its own additions count, and the additions of
	// transactions that have ended.
	Amounts(ctx context.Context, ws identity.WorkspaceID, now time.Time) (quota.Amounts, error)

	// Lock makes every other transaction that calls Lock for the workspace wait until this one ends. Without a
	// transaction it has no effect.
	Lock(ctx context.Context, ws identity.WorkspaceID) error
}

// CheckUsage returns a *quota.LimitError if by's workspace uses more of one of kinds than limits allow. What the
// current transaction has added counts. Near a limit, transactions wait for each other here: if several compete for the
// last free place, only one succeeds.
func (s Stores) CheckUsage(ctx context.Context, by identity.Actor, limits quota.Limits, kinds ...quota.Kind) error {
	if !slices.ContainsFunc(kinds, limits.Bounds) {
		return nil
	}
	usage, err := s.Usage.Amounts(ctx, by.Workspace, by.At)
	if err != nil {
		return err
	}
	if limits.Near(usage, kinds...) {
		if err := s.Usage.Lock(ctx, by.Workspace); err != nil {
			return err
		}
		if usage, err = s.Usage.Amounts(ctx, by.Workspace, by.At); err != nil {
			return err
		}
	}
	return limits.Check(usage, kinds...)
}

// StreamSeats counts the open streams of workspaces on all nodes. Only streams of workspaces with a
// limit are counted.
type StreamSeats interface {
	// Take counts one more workspace stream on a node, unless check fails for the usage with it. Concurrent calls for a
	// workspace wait for each other. identity.ErrWorkspaceNotFound if the workspace does not exist.
	Take(ctx context.Context, ws identity.WorkspaceID, node string, now time.Time,
		check func(usage quota.Amounts) error) error

	// Free counts one stream less. It never counts below zero.
	Free(ctx context.Context, ws identity.WorkspaceID, node string) error

	// Keep records that a node is alive until a time, and deletes the counts of nodes that were not alive at the time
	// at. A node's streams count only while it is alive.
	Keep(ctx context.Context, node string, now, end time.Time) error
}

// Quotas returns the limits of by's workspace.
type Quotas func(ctx context.Context, by identity.Actor) (quota.Limits, error)

// Meters stores the usage that applications report.
type Meters interface {
	UsageOutbox

	// Add adds reports to the sums of their features and periods in by's workspace, and to the sums of their days, in
	// order and as Tally.Add says, which also spends the credit packs of the workspace. It returns an outcome for each.
	// A report whose Key the workspace has used within payment.UsageKeyLasts is not added again: then the outcome is
	// repeated. The refusal is payment.ErrUsageKeyReused if the first report with the Key had another feature or
	// quantity. What is refused is not added, and does not use its Key. Concurrent reports all count, and none sees an
	// old sum.
	Add(ctx context.Context, by identity.Actor, reports ...payment.UsageReport) ([]payment.UsageOutcome, error)

	// Sums returns what a workspace has used of each feature in the period that starts at a time, without the credit
	// packs.
	Sums(ctx context.Context, ws identity.WorkspaceID, period time.Time) (map[string]payment.Tally, error)

	// Packs returns the credit packs that a workspace has bought at an account and of which something is left, in no
	// order, without what ExpirePacks has recorded. Payments.Update stores what paid invoices sell.
	Packs(ctx context.Context, ws identity.WorkspaceID, account string) ([]payment.CreditPack, error)

	// ExpirePacks records what has expired of the credit packs of by's workspace (Customer.ExpirePacks), each once. It
	// returns the errors that Payments.Update returns.
	ExpirePacks(ctx context.Context, by identity.Actor, account string, rules payment.PackRules) error

	// Days returns what a workspace has used by day, for one feature, from one day to another, both
	// included, latest first.
	Days(ctx context.Context, ws identity.WorkspaceID, feature string, from, to time.Time) ([]payment.UsageDay, error)
}
