package event

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Note is something that happened and changed no aggregate, such as a sign-in. Of equal notes one is written
// to the trail until a time.
type Note struct {
	By         identity.Actor
	Type       string
	Subject    string
	Data       map[string]any
	Workspaces []identity.WorkspaceID // an event is written in each
	Scope      []string               // notes with the same org, type, actor and scope are equal
	Until      time.Time              // no equal note is written before; the same for all notes of one period
	BySystem   bool                   // By may be the system
}

// IsRecordable reports whether n leads to any event.
func (n *Note) IsRecordable() bool { return len(n.Workspaces) > 0 && (n.BySystem || !n.By.IsSystem()) }

// Key returns the same value for equal notes.
func (n *Note) Key() [sha256.Size]byte {
	text, err := json.Marshal(append([]string{string(n.By.Org), n.Type, string(n.By.User)}, n.Scope...))
	if err != nil { // texts always encode
		panic(err)
	}
	return sha256.Sum256(text)
}

// Events returns the events of n, one for each workspace.
func (n *Note) Events() []Event {
	var log Log
	for _, ws := range n.Workspaces {
		by := n.By
		by.Workspace = ws
		log.Record(by, n.Type, n.Subject, n.Data)
	}
	return log.Recorded()
}

// EndOfHour returns when the hour of at ends, in UTC.
func EndOfHour(now time.Time) time.Time { return now.UTC().Truncate(time.Hour).Add(time.Hour) }

// EndOfDay returns when the day of at ends, in UTC.
func EndOfDay(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour) }
