package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Warehouse reads what tenants keep elsewhere. There is one for each kind of connection, and one
// that stands before them all and runs each call in a process of its own.
//
// Each call opens connections of its own through the target's egress policy and leaves none behind;
// none outlives its context or Limits.Total by more than a second. It reads in a transaction that
// cannot write, under a statement timeout, and sends no SQL but generated SELECTs with names that
// the catalogue confirmed. Errors are a connection.Code, connection.ErrTooManyReads, or that of a context
// which ended; no text of a server's or a driver's, and nothing of the credential, is in one.
type Warehouse interface {
	// Probe tries every step to the target in turn. What fails is in the report: connection.TooManyReads if
	// there was no room for the call.
	Probe(ctx context.Context, to Target) connection.Report

	// Tables lists the tables, views and their like that the user may read, without those of the
	// system, in the order of connection.TableRef.Compare.
	Tables(ctx context.Context, to Target, q connection.TableQuery) ([]connection.Table, error)

	// Preview reads the columns and up to rows rows (0 to connection.MaxSampleRows) of a table.
	// connection.TableNotFound if the catalogue has none with exactly this name that the user can
	// see, PermissionDenied if the user may not read it.
	Preview(ctx context.Context, to Target, table connection.TableRef, rows int) (connection.Preview, error)
}

// Target is what a Warehouse is to reach, and how far it may go for it.
type Target struct {
	Workspace  identity.WorkspaceID // whose call it is
	Credential connection.Credential
	Egress     identity.Egress // of the org whose tenant asks
	Limits     Limits
}

// Limits bound what one call may take.
type Limits struct {
	Connect   time.Duration // until the server has accepted the connection and proved by its first bytes what it is
	Statement time.Duration // for each statement
	Total     time.Duration // for all of the call
	Bytes     int64         // read on the wire, all connections of the call together
}

// DefaultLimits are the limits that connections are held to.
func DefaultLimits() Limits {
	return Limits{Connect: 5 * time.Second, Statement: 5 * time.Second, Total: 10 * time.Second, Bytes: 1 << 20}
}
