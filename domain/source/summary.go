package source

import (
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Summary is what a connection shows about a source that reads through it.
type Summary struct {
	ID         ID
	Workspace  identity.WorkspaceID
	Owner      identity.UserID
	Name       string
	Connection connection.ID
	Status     Status
}

// Summary returns the summary of s.
func (s *Source) Summary() Summary {
	return Summary{ID: s.ID, Workspace: s.Workspace, Owner: s.Owner, Name: s.Name, Connection: s.Location.Connection,
		Status: s.Status()}
}

// Access returns what by may do with the source, as Source.Access does.
func (s *Summary) Access(by identity.Actor) Access {
	return (&Source{Workspace: s.Workspace, Owner: s.Owner}).Access(by)
}
