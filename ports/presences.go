package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Presences stores an org's presences. The stored records may lag behind what a node knows, but only in how recently
// devices were heard from.
type Presences interface {
	// Get returns a record, even a deleted one; presence.ErrNotFound if org never had it.
	Get(ctx context.Context, org identity.OrgID, id presence.ID) (*presence.Record, error)

	// ByUser returns a user's record in org, even a deleted one; presence.ErrNotFound if there never was one.
	ByUser(ctx context.Context, org identity.OrgID, user identity.UserID) (*presence.Record, error)

	// Update loads the records of users of org, calls change for each, and saves those that it changed
	// with what they recorded, all in one transaction. A user without a record gets a presence.New one.
	// A record that is no longer EqualVisible gets the org's next Seq. Seqs are assigned in the order in which
	// transactions commit: a reader who has read up to one has missed none below it. If change fails,
	// nothing is saved. change may run again after a conflict, so it does no I/O. Update returns the
	// records as they are now, in the order of users.
	Update(ctx context.Context, org identity.OrgID, users []identity.UserID,
		change func(*presence.Record) error) ([]*presence.Record, error)

	// List lists the org's live records, newest ids first, so that a record keeps its place when it
	// changes. The status filter compares Shown. by's own record passes any status filter, because its
	// owner may see another status.
	List(ctx context.Context, by identity.Actor, f presence.Filter, q page.Query) (presence.Page, error)

	// Counts counts the org's live records by Shown, and returns the highest Seq assigned: a List that
	// is read afterwards holds all records up to it. For a reader, an operator, it returns the highest Seq that
	// the reader can see: what others do while they are invisible does not change it. An empty reader sees all.
	Counts(ctx context.Context, org identity.OrgID, reader identity.UserID) (presence.Counts, int64, error)

	// Due returns the records of org that are due at a time, those that have been due longest first,
	// then in the order of users. With after, only those that come after it.
	Due(
		ctx context.Context, org identity.OrgID, by time.Time, cursor presence.DueEntry, limit int,
	) ([]presence.DueEntry, error)

	// Changes returns the records of org whose Seq is above a number, in the order of Seq, deleted ones
	// included; with users, only theirs. A reader who always continues with the last Seq sees the
	// current state of every record at least once, and never an older state after a newer one.
	Changes(ctx context.Context, org identity.OrgID, newest int64, users []identity.UserID,
		limit int) ([]presence.Record, error)

	// Workspaces returns, by user id, the workspaces of org that each of users is in, without deleted
	// ones. Users in no workspace are omitted. It runs a few statements, however many users there are.
	Workspaces(ctx context.Context, org identity.OrgID,
		users []identity.UserID) (map[identity.UserID][]identity.WorkspaceID, error)
}

// PresenceSignals sends signals between nodes that share a store. A signal may be lost or arrive twice:
// it only means that it is time to read the store.
type PresenceSignals interface {
	// Announce informs the listening nodes that presences of org have changed.
	Announce(ctx context.Context, org identity.OrgID) error

	// Listen calls heard with the org of each signal, the node's own included, and with an empty org
	// when signals may have been lost. It returns nil when ctx ends. After an outage it reconnects automatically.
	Listen(ctx context.Context, heard func(identity.OrgID)) error
}
