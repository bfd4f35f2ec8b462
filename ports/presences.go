package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Presences keeps the presences of an org. What it holds may lag behind what a node heard, in how
// fresh devices are and in nothing else.
type Presences interface {
	// Get answers a record, deleted ones included; presence.ErrNotFound if org never had it.
	Get(ctx context.Context, org identity.OrgID, id presence.ID) (*presence.Record, error)

	// Of answers the record of a user of org, deleted ones included; presence.ErrNotFound if there
	// never was one.
	Of(ctx context.Context, org identity.OrgID, user identity.UserID) (*presence.Record, error)

	// Update loads the records of users of org, calls change for each, and saves those that it
	// changed with what they recorded, all in one transaction. A user of whom there is none has a
	// presence.New one. A record that is no longer Same gets the org's next Seq: they are given in
	// the order in which transactions commit, so that who has read up to one has missed none below.
	// If change fails, nothing is saved. It may run again after a conflict, so it does no I/O.
	// The records are answered as they are now, in the order of users.
	Update(ctx context.Context, org identity.OrgID, users []identity.UserID, change func(*presence.Record) error) ([]*presence.Record, error)

	// List lists the org's live records, the newest ids first, so that a record keeps its place
	// whatever happens to it. Status goes by Shown; by's own record passes for any, since its owner
	// may see it otherwise.
	List(ctx context.Context, by identity.Actor, f presence.Filter, q page.Query) (presence.Page, error)

	// Counts counts the org's live records by Shown, and answers the highest Seq that was given: a
	// List that is read afterwards holds all up to it.
	Counts(ctx context.Context, org identity.OrgID) (presence.Counts, int64, error)

	// Due answers the users of org with records that are Due, the longest first.
	Due(ctx context.Context, org identity.OrgID, now time.Time, limit int) ([]identity.UserID, error)

	// Together reports whether by is in a workspace with user that has not been deleted; by an API key,
	// in the workspace of that key.
	Together(ctx context.Context, by identity.Actor, user identity.UserID) (bool, error)
}
