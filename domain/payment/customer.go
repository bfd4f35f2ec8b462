package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// The kinds of jobs. An EventsJob's and an AuditJob's subject is the customer at the gateway, a ReconcileJob's subject
// is the workspace, and a NoticeJob's subject is Notice.Subject.
const (
	EventsJob    job.Kind = "payment.events"    // applies the gateway's events to the mirror
	ReconcileJob job.Kind = "payment.reconcile" // finds out the outcome of calls that got no response
	AuditJob     job.Kind = "payment.audit"     // compares the mirror with the gateway
	NoticeJob    job.Kind = "payment.notice"    // mails a notice to an owner of the workspace
	DetailsJob   job.Kind = "payment.details"   // sends the gateway the workspace's name, billing details and seats
)

// DetailsSubject is the subject of each DetailsJob.
const DetailsSubject = "details"

// Times of the mirror.
const (
	// Fresh is the time for which data from the gateway is served without reading it again.
	Fresh = time.Minute

	// ReconcileAfter is the time that a call may be in progress before a job looks up its outcome.
	ReconcileAfter = 30 * time.Second

	// AuditEvery is the interval at which a mirror is compared with the gateway.
	AuditEvery = 24 * time.Hour
)

// Customer is a workspace as a customer of the gateway. There is one per workspace and account, stored
// before the gateway is called: a concurrent request finds it, and calls with the same key.
type Customer struct {
	event.Log
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Gateway   GatewayKind
	Account   string // the account at the gateway; a customer exists only there

	// ID is empty until the gateway has created the customer.
	ID      CustomerID
	Key     string  // the gateway's idempotency key for creating it
	Details Details // with which it was created

	// Entered are the billing details that people have entered. Given is what the gateway is known to have,
	// nil if that is unknown. Giving is the key of the call that gives it other details; "" for none.
	Entered Details
	Given   *Details
	Giving  string

	// The mirror, and when each part of it was read; zero: never.
	Methods        []Method
	Default        MethodID // the customer's; DefaultMethod is what is charged
	Credit         Money    // deducted from the next invoices
	WalletAt       time.Time
	Subscription   *Subscription // the live one
	SubscriptionAt time.Time
	InvoicesAt     time.Time

	// Invoices are invoices to store. Stores never fill them in when they load.
	Invoices []Invoice

	// AllDrafts says that Invoices has all drafts: stores delete others. Stores never set it when they
	// load.
	AllDrafts bool

	// Ended is a subscription that has just ended, to be stored. Stores never fill it in when they
	// load.
	Ended *Subscription

	// UsageSince is when the months began over which usage is summed; zero before the first subscription.
	UsageSince time.Time

	// Surplus lists the live subscriptions at the gateway other than Subscription. Atrium never creates
	// any; the customer pays for each.
	Surplus []SubscriptionID

	// HadTrial says that the workspace has had its one trial.
	HadTrial bool

	// Attempts holds the recent attempts to add and to charge cards.
	Attempts CardAttempts

	// PausedAt is when payments were paused after many declined cards; zero if they are not.
	PausedAt time.Time

	// CheckoutUntil is when the last checkout page of the gateway ends; zero if there was none, or if it is known to
	// have ended.
	CheckoutUntil time.Time

	// CheckingOut is until when a call may be creating a checkout page; zero if none is.
	CheckingOut time.Time

	// CheckoutTrial is the key of the call that created the last checkout page, if it has a trial whose payment
	// method was not examined yet.
	CheckoutTrial string

	// Notices are the last notices that the workspace was given.
	Notices []Notice

	// Pending is the operation that the gateway has not answered yet. Done are the last ones that were made.
	Pending *Operation
	Done    []DoneCall

	Revision  int64 // counts every change except reads of the mirror
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewCustomer reserves the customer of by's workspace, under a key that no other call uses.
func NewCustomer(by identity.Actor, gateway GatewayKind, account, key string, d Details) (*Customer, error) {
	if err := MayManage(by); err != nil {
		return nil, err
	}
	return &Customer{
		Org: by.Org, Workspace: by.Workspace, Gateway: gateway, Account: account, Key: key, Details: d,
		Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}, nil
}

// Made records the gateway's id of the customer. Repeating it is not an error.
func (c *Customer) Made(by identity.Actor, id CustomerID) {
	if c.ID != "" {
		return
	}
	c.ID = id
	details := c.Details
	c.Given = &details
	c.Record(by, "payment_customer.created", string(id), map[string]any{"gateway": c.Gateway})
	c.touch(by)
}

// Rekey replaces a reservation's key for which the gateway will always repeat a failure. If was is no longer the key,
// or the customer exists, nothing changes.
func (c *Customer) Rekey(by identity.Actor, oldKey, key string) {
	if c.ID == "" && c.Key == oldKey {
		c.Key = key
		c.touch(by)
	}
}

// Lost records that the customer was deleted at the gateway, with everything that it had there. The next
// call creates another one, under key. If id is no longer the customer, nothing changes.
func (c *Customer) Lost(by identity.Actor, id CustomerID, key string) {
	if id == "" || c.ID != id {
		return
	}
	c.Record(by, "payment_customer.lost", string(id), map[string]any{"gateway": c.Gateway})
	if c.Pending != nil {
		c.Abandon(by, c.Pending.Key, "customer_gone")
	}
	if c.Subscription != nil {
		c.end(by)
	}
	c.ID, c.Key, c.Given = "", key, nil
	c.Methods, c.Default, c.Credit, c.Surplus = nil, "", Money{}, nil
	c.touch(by)
}

// allow returns nil if by may manage payments in the customer's workspace.
func (c *Customer) allow(by identity.Actor) error {
	if by.Workspace != c.Workspace {
		return identity.ErrWorkspaceNotFound
	}
	return MayManage(by)
}

func (c *Customer) touch(by identity.Actor) {
	c.Revision++
	c.UpdatedAt = by.At
}

// Settled reports whether no outcome of c is unknown.
func (c *Customer) Settled() bool {
	return c.ID != "" && c.Pending == nil && len(c.Detaching()) == 0
}

// Corrected records that an audit found a number of differences between the mirror and the gateway.
func (c *Customer) Corrected(by identity.Actor, differences int) {
	c.Record(by, "payment_mirror.corrected", string(c.ID), map[string]any{"differences": differences})
}
