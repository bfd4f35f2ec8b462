package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/webhook"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Webhooks stores the webhook endpoints of workspaces, and lists their deliveries.
type Webhooks interface {
	// List returns all workspace endpoints, newest first.
	List(ctx context.Context, ws identity.WorkspaceID) ([]webhook.Endpoint, error)

	// Get returns a workspace endpoint, or webhook.ErrNotFound.
	Get(ctx context.Context, ws identity.WorkspaceID, id webhook.ID) (*webhook.Endpoint, error)

	// Add saves the endpoint that change makes in by's workspace. change gets the number of its endpoints, and the Seq
	// of the last event. No two endpoints are added to a workspace at the same time.
	Add(ctx context.Context, by identity.Actor,
		change func(count int, place int64) (*webhook.Endpoint, error)) error

	// Update saves what change does to an endpoint of by's workspace, together with its events. change gets the Seq of
	// the last event. webhook.ErrNotFound if there is no such endpoint.
	Update(ctx context.Context, by identity.Actor, id webhook.ID,
		change func(e *webhook.Endpoint, place int64) error) (*webhook.Endpoint, error)

	// Deliveries lists a workspace endpoint's deliveries, newest first. Their events have no Data.
	Deliveries(ctx context.Context, ws identity.WorkspaceID, endpoint webhook.ID, f webhook.DeliveryFilter,
		q page.Query) (webhook.DeliveryPage, error)

	// Retry saves what change does to an endpoint delivery, and makes the endpoint due. webhook.ErrDeliveryNotFound if
	// there is no such delivery.
	Retry(ctx context.Context, ws identity.WorkspaceID, endpoint webhook.ID, id webhook.DeliveryID,
		change func(*webhook.Delivery) error) (*webhook.Delivery, error)

	// Replay queues deliveries, and makes the endpoint due. A delivery of the same event becomes pending again, unless
	// it is pending; if onlyFailed, only one that has failed does.
	Replay(ctx context.Context, ws identity.WorkspaceID, endpoint webhook.ID, all []webhook.Delivery, onlyFailed bool,
		now time.Time) (count int, err error)
}

// WebhookQueue hands endpoints that have something to deliver to the nodes. It serves every org.
type WebhookQueue interface {
	// Take leases up to n endpoints that are due at now, those first that have been due longest. No other node gets
	// them until the lease has passed, by the clock of the database. It leaves out the endpoints of some orgs.
	Take(ctx context.Context, now time.Time, lease time.Duration, n int,
		excluded []identity.OrgID) ([]webhook.Endpoint, error)

	// Renew lets an endpoint's lease begin again, and returns until when it lasts. webhook.ErrLeaseLost if another node
	// has leased the endpoint, or it was deleted.
	Renew(ctx context.Context, e *webhook.Endpoint, lease time.Duration) (end time.Time, err error)

	// Queue adds deliveries to an endpoint, whose Place becomes place. It does nothing if the stored Place is no longer
	// e's, or another node has leased the endpoint.
	Queue(ctx context.Context, e *webhook.Endpoint, all []webhook.Delivery, place int64) error

	// Pending counts an endpoint's pending deliveries, without those that wait for an earlier one about the same
	// subject.
	Pending(ctx context.Context, endpoint webhook.ID) (int, error)

	// Next returns up to n pending deliveries that are due at now, in the order of their events. It leaves out each
	// whose subject has an earlier pending delivery. Those whose event retention has removed are EventRemoved.
	Next(ctx context.Context, endpoint webhook.ID, now time.Time, n int) ([]webhook.Delivery, error)

	// Settle saves an endpoint's attempted deliveries, and what change does to the endpoint, and queues the jobs that
	// change returns. After a delivery that is no longer pending, the next one about its subject is due. It returns the
	// endpoint as it is then, webhook.ErrNotFound, or webhook.ErrLeaseLost if another node has leased it.
	Settle(ctx context.Context, by identity.Actor, endpoint *webhook.Endpoint, deliveries []webhook.Delivery,
		change func(*webhook.Endpoint) []job.Job) (*webhook.Endpoint, error)

	// Release ends a lease. The endpoint is due again at a time or, if that is zero, when its first pending delivery
	// is. Release does nothing if another node has leased the endpoint.
	Release(ctx context.Context, e *webhook.Endpoint, due time.Time) error
}

// WebhookTarget is where a webhook is sent, and with what.
type WebhookTarget struct {
	URL     string
	Egress  identity.Egress
	Headers map[string]string
	Keys    [][]byte // that sign, the current one first
}

// WebhookSender sends webhooks.
type WebhookSender interface {
	// Send sends one event as the Standard Webhooks specification describes, and returns within 20 seconds. It follows
	// no redirect, and reads only the beginning of the answer. The outcome contains no part from a key or a header.
	Send(ctx context.Context, target WebhookTarget, d *webhook.Delivery, now time.Time) webhook.Outcome

	// SendTurn sends a turn once, in the same way.
	SendTurn(ctx context.Context, target WebhookTarget, t *Turn, now time.Time) webhook.Outcome
}

// Turn is a visitor's message and its whole answer. No store keeps one.
type Turn struct {
	ID           string // of the request that was answered
	Workspace    identity.WorkspaceID
	Template     chat.ID
	Token        embed.TokenID
	Origin       embed.Origin // of the site that shows the chat
	Visitor      string       // according to the site; empty: not named
	Signed       bool         // the site's backend vouched for the visitor
	Session      string       // empty: from an older release
	Conversation string
	Page         string              // empty: the page did not tell its URL
	Prompt       *chat.PromptVersion // that answered; nil: the instructions are the template's own
	Question     string
	Answer       string
	Refused      bool      // Answer is a refusal in the model's own words
	At           time.Time // of the question
}

// Size returns the number of bytes that t takes in memory, about.
func (t *Turn) Size() int {
	return 1024 + len(t.Visitor) + len(t.Page) + len(t.Question) + len(t.Answer)
}
