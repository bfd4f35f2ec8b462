package billing

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// The kinds of jobs. Of an EventsJob and an AuditJob the subject is the customer at the gateway, of a
// ReconcileJob the workspace.
const (
	EventsJob    job.Kind = "payment.events"    // takes over what the gateway told of
	ReconcileJob job.Kind = "payment.reconcile" // finds out what became of calls that were not answered
	AuditJob     job.Kind = "payment.audit"     // holds the mirror against the gateway
)

// How the mirror is kept.
const (
	// Fresh is for how long what was read of the gateway is answered without asking again.
	Fresh = time.Minute

	// ReconcileAfter is how long a call may be under way before a job asks what became of it.
	ReconcileAfter = 30 * time.Second

	// AuditEvery is how often a mirror is held against the gateway.
	AuditEvery = 24 * time.Hour
)

// Customer is what a workspace is to the gateway. There is one of each workspace, and it is stored
// before the gateway hears of it: whoever comes second finds it, and calls with the same key.
type Customer struct {
	event.Log
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Gateway   GatewayKind
	Account   string // which account at the gateway; a customer is worth nothing at another

	// ID is empty until the gateway has made the customer.
	ID      CustomerID
	Key     string // the gateway's idempotency key, under which it is made
	Details Details

	// The mirror, and when each part of it was read; zero times for never.
	Methods        []Method
	Default        MethodID
	WalletAt       time.Time
	Subscription   *Subscription // the live one
	SubscriptionAt time.Time
	InvoicesAt     time.Time

	// Invoices are to be stored; stores never fill them in.
	Invoices []Invoice

	// Ended is a subscription that has just ended, to be stored; stores never fill it in.
	Ended *Subscription

	// Surplus are the live subscriptions at the gateway beside Subscription. Atrium never makes any; each
	// is charged.
	Surplus []SubscriptionID

	// HadTrial says that a trial has been given: there is one for each workspace.
	HadTrial bool

	// Attempts are the recent attempts to add and to charge cards.
	Attempts CardAttempts

	// PausedAt is when payments were paused after many declined cards; zero while they are not.
	PausedAt time.Time

	// Pending is what was asked of the gateway, and not answered yet.
	Pending *Operation

	Revision  int64 // counts every change but that the mirror was read
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

// Made notes what the gateway calls the customer. Again is no error.
func (c *Customer) Made(by identity.Actor, id CustomerID) {
	if c.ID != "" {
		return
	}
	c.ID = id
	c.Record(by, "payment_customer.created", string(id), map[string]any{"gateway": c.Gateway})
	c.touch(by)
}

// allow returns nil to those who manage payments in the customer's workspace.
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

// Settled reports whether nothing is left to find out about c.
func (c *Customer) Settled() bool {
	return c.ID != "" && c.Pending == nil && len(c.Leaving()) == 0
}

// Differences says in what the mirror and the gateway differ, as events that would tell of it. It changes
// nothing.
func (c *Customer) Differences(by identity.Actor, w Wallet, held []Held, plans Plans) []event.Event {
	seen := *c
	seen.Log = event.Log{}
	seen.Methods = slices.Clone(c.Methods)
	if c.Subscription != nil {
		s := *c.Subscription
		seen.Subscription = &s
	}
	seen.SeeWallet(by, seen.Revision, w)
	if seen.Default != c.Default && len(seen.Recorded()) == 0 {
		seen.Record(by, "payment_method.default_changed", string(seen.Default), map[string]any{"default": event.Change{From: event.ID(c.Default), To: event.ID(seen.Default)}})
	}
	seen.SeeSubscriptions(by, seen.Revision, held, plans)
	return seen.Recorded()
}

// Corrected notes that an audit has found the mirror to differ from the gateway in so many things.
func (c *Customer) Corrected(by identity.Actor, differences int) {
	c.Record(by, "payment_mirror.corrected", string(c.ID), map[string]any{"differences": differences})
}
