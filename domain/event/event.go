// Package event holds what happened: each change of an aggregate records one, and the store
// keeps it in the transaction of the change. Events are the audit trail.
package event

import (
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// Prefix begins an event's identifier.
const Prefix = "evt"

// Event says who did what to what, when, and in which request.
type Event struct {
	ID        string
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Type      string          // noun.verb in the past tense: prompt_template.created
	Actor     identity.UserID // empty for the system itself
	Key       identity.KeyID
	Subject   string         // identifier of what was changed
	Data      map[string]any // small: what changed, before and after; never a secret
	At        time.Time
	Request   identity.Request
}

// Page is one page of events.
type Page = page.Of[Event]

// Filter narrows a list of events; empty fields do not.
type Filter struct {
	Type         string
	Actor        identity.UserID
	Subject      string
	CreatedAfter time.Time
}

// Change is a before and an after, for Data.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Set gives a field a new value, unless that is nil, and notes before and after if they differ.
func Set[T comparable](field, to *T, name string, changed map[string]any) {
	if to != nil && *to != *field {
		changed[name] = Change{From: *field, To: *to}
		*field = *to
	}
}

// SetQuietly is Set for what is too long for an event, or nothing that it should tell: it notes only
// that the field changed.
func SetQuietly[T comparable](field, to *T, name string, changed map[string]any) {
	if to != nil && *to != *field {
		changed[name] = true
		*field = *to
	}
}

// ID is an identifier as Data holds it: nil for none.
func ID[T ~string](id T) any {
	if id == "" {
		return nil
	}
	return id
}

// Log is embedded in an aggregate and gathers what its methods did. The store writes what it
// holds; an aggregate that recorded nothing has not changed.
type Log struct{ events []Event }

// Record adds an event of by's doing.
func (l *Log) Record(by identity.Actor, kind, subject string, data map[string]any) {
	l.events = append(l.events, Event{
		ID: id.New(Prefix), Org: by.Org, Workspace: by.Workspace, Type: kind, Actor: by.User, Key: by.Key,
		Subject: subject, Data: data, At: by.At, Request: by.Request,
	})
}

// Recorded returns the events, oldest first.
func (l *Log) Recorded() []Event { return l.events }

// MayRead reports by identity.ErrForbidden who is not to see the audit trail.
func MayRead(by identity.Actor) error {
	if by.Role < identity.Admin {
		return identity.Needs(identity.Admin)
	}
	return nil
}
