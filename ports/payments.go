package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Payments stores the customers of workspaces at payment gateways, and the mirror of their state there.
// A workspace has one customer per gateway account.
type Payments interface {
	// Customer returns a workspace's customer at an account, or payment.ErrNoCustomer.
	Customer(ctx context.Context, ws identity.WorkspaceID, account string) (*payment.Customer, error)

	// Reserve stores c, unless its workspace has a customer at that account already, and returns the
	// stored customer: of two concurrent calls, the second gets the first one's customer, with its key.
	Reserve(ctx context.Context, by identity.Actor, c *payment.Customer) (*payment.Customer, error)

	// Update changes a customer under its lock, and stores it with its Invoices, the subscription in
	// Ended, and what it recorded, which includes how the invoices have changed (Customer.RecordInvoices). The credit
	// packs of paid invoices (Invoice.Credits) are added once, and keep what was used of them.
	// payment.ErrNoCustomer if not found, identity.ErrWorkspaceNotFound if the workspace is deleted. change may
	// run again after a conflict.
	Update(ctx context.Context, by identity.Actor, account string,
		change func(*payment.Customer) error) (*payment.Customer, error)

	// Invoices lists a workspace's invoices at an account, newest first, only invoices with one status if status is not
	// empty.
	Invoices(ctx context.Context, ws identity.WorkspaceID, account string, status payment.InvoiceStatus,
		q page.Query) (payment.InvoicePage, error)

	// Invoice returns a workspace's invoice at an account, or payment.ErrInvoiceNotFound.
	Invoice(
		ctx context.Context, ws identity.WorkspaceID, account string, id payment.InvoiceID,
	) (*payment.Invoice, error)

	// Find returns an org's workspace that has the customer c, or payment.ErrNoCustomer.
	Find(ctx context.Context, org identity.OrgID, account string, c payment.CustomerID) (identity.WorkspaceID, error)

	// Live counts a workspace's subscriptions at an account that are live or may be about to be: by an operation in
	// progress, or on a checkout page for a customer that exists at the gateway, which is not known to have ended.
	Live(ctx context.Context, ws identity.WorkspaceID, account string) (int, error)

	PaymentOverview
}

// PaymentOverview is the part of Payments that reads across all workspaces of an org, for operators.
type PaymentOverview interface {
	// LiveElsewhere counts the org's subscriptions that were live when last seen, per account, at all
	// accounts other than the given one.
	LiveElsewhere(ctx context.Context, org identity.OrgID, account string) (map[string]int, error)

	// Duplicates returns an org's workspaces that had several live subscriptions when last seen, with the Surplus of
	// each.
	Duplicates(ctx context.Context, org identity.OrgID,
		account string) (map[identity.WorkspaceID][]payment.SubscriptionID, error)

	// Subscriptions lists the subscriptions of an org's workspaces at an account that match, newest first: those that
	// are live, and others as the filter says.
	Subscriptions(
		ctx context.Context, org identity.OrgID, account string, f payment.SubscriptionFilter, q page.Query,
	) (page.Of[payment.ListedSubscription], error)

	// Paused returns an org's workspaces whose payments at an account are paused, ordered by identifier.
	Paused(ctx context.Context, org identity.OrgID, account string) ([]identity.WorkspaceID, error)

	// Customers lists an org's workspaces that are customers at an account, ordered by identifier.
	Customers(
		ctx context.Context, org identity.OrgID, account string, q page.Query,
	) (page.Of[identity.WorkspaceID], error)
}

// Inbox stores the events that gateways sent.
type Inbox interface {
	// Put stores e, unless its account already has an event with its ID: then fresh is false, and the
	// stored event stays as it is.
	Put(ctx context.Context, org identity.OrgID, e *payment.Event) (fresh bool, err error)

	// Waiting returns the 100 oldest events about a customer that were received and not yet processed.
	Waiting(ctx context.Context, org identity.OrgID, account string, c payment.CustomerID) ([]payment.Event, error)

	// Save stores the progress of events: State, Attempts, Failure and EndedAt.
	Save(ctx context.Context, org identity.OrgID, events ...payment.Event) error

	// List lists an org's events, last received first. If state is not empty, only those in that state.
	List(
		ctx context.Context, org identity.OrgID, state payment.EventState, q page.Query,
	) (page.Of[payment.Event], error)

	// Get returns an org event, or payment.ErrEventNotFound.
	Get(ctx context.Context, org identity.OrgID, account, id string) (*payment.Event, error)

	// Backlog returns how many org events are waiting, how many are dead, and when the oldest waiting one arrived: the
	// zero time if none is waiting.
	Backlog(ctx context.Context, org identity.OrgID) (pending, dead int, start time.Time, err error)
}

// SandboxObject is an object of the simulated gateway, such as a subscription.
type SandboxObject struct {
	ID   string
	Body []byte // opaque text; nil if the object is deleted
}

// SandboxObjects stores the objects of the simulated gateway, each by its customer.
type SandboxObjects interface {
	// Read returns a customer's objects in the order of their identifiers.
	Read(ctx context.Context, org identity.OrgID, customer string) ([]SandboxObject, error)

	// Change stores the objects that change returns, under the customer's lock; change gets all of the customer's.
	// Nothing is stored if it fails. change may run again after a conflict.
	Change(ctx context.Context, org identity.OrgID, customer string,
		change func(all []SandboxObject) ([]SandboxObject, error)) error

	// Customers returns the customers that have objects, in order, at most n, starting after the given one.
	Customers(ctx context.Context, org identity.OrgID, cursor string, n int) ([]string, error)
}
