package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// UsageOutbox stores usage events until the gateway has counted them.
type UsageOutbox interface {
	// QueueUsage stores an event of by's workspace. If there is an event of the same customer, feature and price that
	// was not tried yet and happened at since or later, it adds the quantity to that event instead.
	QueueUsage(ctx context.Context, by identity.Actor, e payment.UsageEvent, start time.Time) error

	// QueuedUsage returns a workspace's oldest events for an account, at most n.
	QueuedUsage(ctx context.Context, ws identity.WorkspaceID, account string, n int) ([]payment.UsageEvent, error)

	// TryUsage stores that an event is tried at a time, and returns its quantity. tried is false if it was tried
	// before, or does not exist.
	TryUsage(
		ctx context.Context, ws identity.WorkspaceID, id string, now time.Time,
	) (quantity int64, wasTried bool, err error)

	// RestoreUsage stores that an event was not tried.
	RestoreUsage(ctx context.Context, ws identity.WorkspaceID, id string) error

	// SentUsage deletes an event that the gateway has counted, or has refused for good.
	SentUsage(ctx context.Context, ws identity.WorkspaceID, id string) error
}

// GatewayMeters is what a Gateway does for usage: it bills what was used, and sells credit packs.
type GatewayMeters interface {
	// ReportUsage adds an event to what its customer has used of the metered price in the period that
	// contains the event's time. Events with one ID count once, within a day.
	ReportUsage(ctx context.Context, e payment.UsageEvent) error

	// Buy makes an invoice for credit packs, which notes the sale, and charges a method for it while the payer is
	// present. If the charge is declined, no invoice is left that could be paid. If the payer must authenticate, or a
	// bank takes its time, the invoice stays open, as in Pay.
	Buy(ctx context.Context, key string, c payment.CustomerID, o payment.PackOrder) (payment.InvoicePayment, error)
}
