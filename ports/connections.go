package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Connections stores connections to warehouses and, separately, their sealed credentials. It makes no
// decisions about access. Methods that name a connection return connection.ErrNotFound if the workspace
// never had one with that id. A revoked connection is found.
type Connections interface {
	// Add stores the connection that make returns, with its Sealed credential. others counts the live
	// connections of by's workspace: until this one is stored, no call can add or restore one or delete
	// the workspace. make may run again after a conflict, as change functions of Prompts do.
	// identity.ErrWorkspaceNotFound if the workspace was deleted.
	Add(ctx context.Context, by identity.Actor, make func(others int) (*connection.Connection, error)) error

	// Get returns a connection. Its Sealed is empty, as it is in List and Update.
	Get(ctx context.Context, ws identity.WorkspaceID, id connection.ID) (*connection.Connection, error)

	// List returns all connections, including revoked ones, newest first, and the sources that read through them in the
	// same order of connections, the newest source of each first.
	List(ctx context.Context, ws identity.WorkspaceID) ([]connection.Connection, []source.Summary, error)

	// Live counts the connections that are not revoked.
	Live(ctx context.Context, ws identity.WorkspaceID) (int, error)

	// Sealed returns the sealed credential and the Connection.CredentialRevision that it belongs to.
	// connection.ErrRevoked if the credential was erased.
	Sealed(ctx context.Context, ws identity.WorkspaceID, id connection.ID) (connection.Stored, error)

	// Lock locks a connection until the transaction ends, and returns it as Get does: until then every
	// change of the connection waits. Outside a transaction the lock ends at once.
	Lock(ctx context.Context, ws identity.WorkspaceID, id connection.ID) (*connection.Connection, error)

	// Update changes a connection and saves it with the events that change recorded, all in one
	// transaction, as Prompts.Update does. others counts as in Add, without this connection. If change
	// sets Sealed, it replaces the stored credential. If change revokes the connection, its credential
	// is erased. Both also erase what Idempotency stored of the requests that brought earlier
	// credentials (Answer.Brought).
	Update(ctx context.Context, ws identity.WorkspaceID, id connection.ID,
		change func(c *connection.Connection, others int) error) (*connection.Connection, error)

	// Attempt loads the counts of by's workspace for a target, which contains the org, calls admit, and saves the
	// result. If admit fails, nothing is saved. Each kind of effort is counted separately. Calls for the same workspace
	// or target run one after another. Attempts may be forgotten an hour after the last one.
	Attempt(ctx context.Context, by identity.Actor, e connection.Effort, target connection.Target,
		admit func(*connection.Counts) error) error
}
