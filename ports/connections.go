package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Connections keeps connections to warehouses, and apart from them their sealed credentials. It
// finds and stores; it decides nothing. Methods that name a connection answer
// connection.ErrNotFound if the workspace never had one with that id; a revoked one is found.
type Connections interface {
	// Add stores the connection that make makes, with its Sealed credential. others counts the live
	// connections of by's workspace: nobody adds one, brings one back, or deletes the workspace
	// until this one is stored. make may run again after a conflict, as changes of Prompts do.
	// identity.ErrWorkspaceNotFound if the workspace was deleted.
	Add(ctx context.Context, by identity.Actor, make func(others int) (*connection.Connection, error)) error

	// Get answers a connection; its Sealed is empty, as it is in List and Update.
	Get(ctx context.Context, ws identity.WorkspaceID, id connection.ID) (*connection.Connection, error)

	// List answers the live connections and the 100 that were made last of the revoked ones,
	// newest first.
	List(ctx context.Context, ws identity.WorkspaceID) ([]connection.Connection, error)

	// Live counts the connections that are not revoked.
	Live(ctx context.Context, ws identity.WorkspaceID) (int, error)

	// Sealed returns the sealed credential, and Connection.CredentialRevision as it was then.
	// connection.ErrRevoked if there is none any more.
	Sealed(ctx context.Context, ws identity.WorkspaceID, id connection.ID) (connection.Stored, error)

	// Update changes a connection and saves it, with the events that change recorded, all in one
	// transaction, as Prompts.Update does; others counts as in Add, without this connection. A
	// Sealed that change sets takes the place of the stored credential; with a connection that
	// change revoked, its credential is erased. With both, what Idempotency keeps of the requests that
	// brought earlier credentials (Answer.Brought) is erased.
	Update(ctx context.Context, ws identity.WorkspaceID, id connection.ID, change func(c *connection.Connection, others int) error) (*connection.Connection, error)

	// Attempt loads what is remembered of the efforts of by's workspace, and of all of by's org at target,
	// calls admit and saves what that leaves; if it fails, nothing is saved. Each kind of effort is counted
	// for itself. Calls that share the workspace or the target follow one another. What is not tried for an
	// hour may be forgotten.
	Attempt(ctx context.Context, by identity.Actor, e connection.Effort, target connection.Target, admit func(workspace, at *connection.Attempts) error) error
}
