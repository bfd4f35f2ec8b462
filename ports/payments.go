package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Payments keeps what workspaces are to payment gateways, and the mirror of what these have. A workspace
// has one customer at each account of a gateway.
type Payments interface {
	// Customer returns a workspace's customer at an account, or billing.ErrNoCustomer.
	Customer(ctx context.Context, ws identity.WorkspaceID, account string) (*billing.Customer, error)

	// Reserve stores c, unless its workspace has a customer at that account already, and returns the
	// one that is stored: who comes second gets the first one's, with its key.
	Reserve(ctx context.Context, by identity.Actor, c *billing.Customer) (*billing.Customer, error)

	// Update changes a customer under its lock, and stores it with its Invoices, with the subscription
	// that Ended, and with what it recorded. billing.ErrNoCustomer; identity.ErrWorkspaceNotFound if the
	// workspace is gone. change may run again after a conflict.
	Update(ctx context.Context, by identity.Actor, account string, change func(*billing.Customer) error) (*billing.Customer, error)

	// Invoices lists the invoices of a workspace at an account, newest first, those of one status if
	// status is not empty.
	Invoices(ctx context.Context, ws identity.WorkspaceID, account string, status billing.InvoiceStatus, q page.Query) (billing.InvoicePage, error)

	// Find returns the workspace of an org that is a customer, or billing.ErrNoCustomer.
	Find(ctx context.Context, org identity.OrgID, account string, c billing.CustomerID) (identity.WorkspaceID, error)

	// Live counts the subscriptions of a workspace that live, or may be about to, at an account.
	Live(ctx context.Context, ws identity.WorkspaceID, account string) (int, error)

	PaymentOverview
}

// PaymentOverview is the part of Payments that operators ask about all workspaces of an org.
type PaymentOverview interface {
	// Elsewhere counts, by their accounts, the subscriptions of an org that lived when they were seen last, at
	// any account but one.
	Elsewhere(ctx context.Context, org identity.OrgID, account string) (map[string]int, error)

	// Duplicates returns the workspaces of an org in which several subscriptions lived when they were seen
	// last, with the Surplus of each.
	Duplicates(ctx context.Context, org identity.OrgID, account string) (map[identity.WorkspaceID][]billing.SubscriptionID, error)

	// Paused returns the workspaces of an org whose payments at an account are paused, in the order of
	// their identifiers.
	Paused(ctx context.Context, org identity.OrgID, account string) ([]identity.WorkspaceID, error)

	// Customers lists the workspaces of an org that are customers at an account, in the order of their
	// identifiers.
	Customers(ctx context.Context, org identity.OrgID, account string, q page.Query) (page.Of[identity.WorkspaceID], error)
}

// Inbox keeps what gateways told of.
type Inbox interface {
	// Put stores e, unless its account has one with its ID already: then it is not fresh, and stays as it
	// is.
	Put(ctx context.Context, org identity.OrgID, e *billing.Event) (fresh bool, err error)

	// Waiting returns the events about a customer that were received and are not worked off, those that
	// were received first, at most 100.
	Waiting(ctx context.Context, org identity.OrgID, account string, c billing.CustomerID) ([]billing.Event, error)

	// Save stores how far events have come: State, Attempts, Failure and EndedAt.
	Save(ctx context.Context, org identity.OrgID, events ...billing.Event) error

	// List lists an org's events, those that were received last first; of one state if state is not empty.
	List(ctx context.Context, org identity.OrgID, state billing.EventState, q page.Query) (page.Of[billing.Event], error)

	// Get returns an event of an org, or billing.ErrEventNotFound.
	Get(ctx context.Context, org identity.OrgID, account, id string) (*billing.Event, error)

	// Backlog says how many of an org's events wait and how many are dead, and since when the first one
	// waits; the zero time if none does.
	Backlog(ctx context.Context, org identity.OrgID) (waiting, dead int, since time.Time, err error)
}

// SandboxBooks keeps what the sandbox gateway knows: a book of each customer, which only it can read.
type SandboxBooks interface {
	// Read returns a book, nil if there is none.
	Read(ctx context.Context, org identity.OrgID, id string) ([]byte, error)

	// Write replaces a book by what change makes of it, under its lock; of nil if there is none. Nothing
	// is written if change fails, or returns nil. change may run again after a conflict.
	Write(ctx context.Context, org identity.OrgID, id string, change func(book []byte) ([]byte, error)) error

	// List returns the identifiers of an org's books, in their order, at most n of those after after.
	List(ctx context.Context, org identity.OrgID, after string, n int) ([]string, error)
}
