// Package event holds events: each aggregate change records one, and the store saves it in the transaction of the
// change. Events are the audit trail.
package event

import (
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// Prefix begins an event's identifier.
const Prefix = "evt"

// Event records who did what to what, when, and in which request.
type Event struct {
	ID        string
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Type      string          // noun.verb in the past tense: prompt_template.created
	Actor     identity.UserID // empty for the system itself
	Key       identity.KeyID
	Session   identity.SessionID // empty: the request had none
	Subject   string             // identifier of the changed object
	Data      map[string]any     // small: what changed, before and after; never a secret
	Encoded   json.RawMessage    // Data as JSON, in place of Data, in lists and feeds; nil elsewhere
	At        time.Time
	Request   identity.Request
	Revision  int64 // of the subject after this change; 0: it has none, or a release without revisions wrote the event
	Seq       int64 // its place in the workspace's feed, from 1; 0: it has none yet, which takes about a second
}

// Page is one page of events.
type Page = page.Of[Event]

// Filter narrows a list of events. Empty fields match every event.
type Filter struct {
	Type         string
	Actor        identity.UserID
	Subject      string
	Request      string // the id of the request
	CreatedAfter time.Time

	CreatedBefore time.Time
	Reader        *identity.Actor // only events that a user who is no admin may read; nil: all
}

// Change holds the values before and after a change, for Data.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Set sets a field to a new value, unless that is nil, and records before and after if they differ.
func Set[T comparable](field, value *T, name string, changes map[string]any) {
	if value != nil && *value != *field {
		changes[name] = Change{From: *field, To: *value}
		*field = *value
	}
}

// SetQuietly is Set for values that are too long or too private for an event: it records only that the
// field changed.
func SetQuietly[T comparable](field, value *T, name string, changes map[string]any) {
	if value != nil && *value != *field {
		changes[name] = true
		*field = *value
	}
}

// Time returns a time as an event's data: nil for the zero time.
func Time(now time.Time) any {
	if now.IsZero() {
		return nil
	}
	return now
}

// ID returns an identifier as Data holds it: nil if it is empty.
func ID[T ~string](id T) any {
	if id == "" {
		return nil
	}
	return id
}

// Log is embedded in an aggregate and collects the events of its methods. The store saves them. An
// aggregate without recorded events has not changed.
type Log struct{ events []Event }

// Record adds an event whose actor is by.
func (l *Log) Record(by identity.Actor, kind, subject string, data map[string]any) {
	l.events = append(l.events, Event{
		ID: id.New(Prefix), Org: by.Org, Workspace: by.Workspace, Type: kind, Actor: by.User, Key: by.Key,
		Session: by.Session, Subject: subject, Data: data, At: by.At, Request: by.Request,
	})
}

// Recorded returns the events, oldest first.
func (l *Log) Recorded() []Event { return l.events }

// RecordedAt is Recorded for an aggregate that has an id and, after all of its events, a revision.
func (l *Log) RecordedAt(revision int64, id string) []Event {
	for i := range l.events {
		if l.events[i].Subject == id {
			l.events[i].Revision = revision
		}
	}
	return l.events
}

// MayRead returns identity.ErrForbidden if by may not read the audit trail.
func MayRead(by identity.Actor) error {
	if by.Role < identity.Admin {
		return identity.Needs(identity.Admin)
	}
	return nil
}
