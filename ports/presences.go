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

	// Due answers the records of org that are due by a time, those that are due the longest first; of
	// several at the same time, in the order of users. With after, only those that come after it.
	Due(ctx context.Context, org identity.OrgID, by time.Time, after presence.Owed, limit int) ([]presence.Owed, error)

	// Changes answers the records of org whose Seq is above a number, in the order of Seq, deleted ones
	// included; with users, only theirs. Who asks with the last one's Seq each time sees every record as
	// it is now at least once, and none that is older than what they saw of it.
	Changes(ctx context.Context, org identity.OrgID, above int64, users []identity.UserID, limit int) ([]presence.Record, error)

	// Workspaces answers in which workspaces of org that have not been deleted each of users is, by id; who
	// is in none is not in it. It takes a few statements however many users there are.
	Workspaces(ctx context.Context, org identity.OrgID, users []identity.UserID) (map[identity.UserID][]identity.WorkspaceID, error)
}

// PresenceSignals carries word between nodes that share a store. A signal may get lost or come twice: it
// says that it is time to read the store, and nothing else.
type PresenceSignals interface {
	// Announce tells the nodes that listen that presences of org have changed.
	Announce(ctx context.Context, org identity.OrgID) error

	// Listen calls heard with the org of each signal, the node's own among them, and with an empty one when
	// signals may have been lost, until ctx ends, which is no error. An outage it outlasts by itself.
	Listen(ctx context.Context, heard func(identity.OrgID)) error
}
