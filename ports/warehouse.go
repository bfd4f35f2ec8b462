package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Warehouse reads the data that tenants store elsewhere. There is one implementation per kind of
// connection, and one in front of them that runs each call in its own process.
//
// Each call opens its own connections through the target's egress policy and closes them all; none outlives its context
// or Limits.Total by more than one second. It reads in a transaction that cannot write, under a statement timeout, and
// sends only generated SELECTs with names that the catalogue confirmed. Errors are a connection.Code,
// connection.ErrTooManyReads, or the context's error. They contain no text from a server or a driver, and no part of
// the credential.
type Warehouse interface {
	// Probe tries each step to the target in turn. A failure is in the report: connection.TooManyReads
	// if there was no room for the call.
	Probe(ctx context.Context, target Target) connection.Report

	// Tables lists the tables, views and similar relations that the user may read, without system
	// tables, in the order of connection.TableRef.Compare.
	Tables(ctx context.Context, target Target, q connection.TableQuery) ([]connection.Table, error)

	// Preview reads a table's columns and first rows in one session. It returns connection.TableNotFound if the
	// catalogue has none with exactly this name that the user can see, PermissionDenied if the user may not read it. A
	// row estimate that cannot be read is unknown, and no error.
	Preview(ctx context.Context, target Target, q connection.PreviewQuery) (connection.Preview, error)

	// Rows calls yield with a table's rows, in batches of one snapshot. The first batch names the requested columns
	// that the table does not have; if there are any, no rows follow. If yield returns an error, the call ends with it.
	// Rows returns connection.RowsUnsupported if the kind cannot stream rows, else errors as Preview does.
	Rows(ctx context.Context, target Target, q connection.RowsQuery, yield func(column.Batch) error) error
}

// Target is what a Warehouse must reach, with limits.
type Target struct {
	Workspace  identity.WorkspaceID // the caller's workspace
	Credential connection.Credential
	OAuth      connection.OAuthClient // the client that the consent was given to, if Credential is a consent
	Egress     identity.Egress        // of the caller's org
	Limits     Limits

	// Watch, unless nil, is called with each probe check as soon as its step has ended, in order. The report has the
	// same checks.
	Watch func(connection.Check)
}

// Limits bound the resources of one call.
type Limits struct {
	Connect   time.Duration // until the server has accepted the connection and its first bytes have identified it
	Statement time.Duration // for each statement
	Total     time.Duration // for the whole call
	Bytes     int64         // read on the wire, all connections of the call together
}

// DefaultLimits returns the limits for connections.
func DefaultLimits() Limits {
	return Limits{Connect: 5 * time.Second, Statement: 5 * time.Second, Total: 10 * time.Second, Bytes: 1 << 20}
}
