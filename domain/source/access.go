package source

import (
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Access is what a user may do with a source. Each level includes those below it.
type Access int

// The levels, lowest first.
const (
	None   Access = iota // the zero value: no access was granted
	See                  // everything that is stored about it
	Use                  // read its rows, refresh it
	Manage               // map its columns to fields
	Own                  // detach it
)

// Access returns what by may do with s: everyone in the workspace sees it, members use it, its owner
// and the workspace's admins manage it. Only its owner, or an owner of the workspace, may detach it: an
// admin can repair what a colleague attached, but not remove it. No other code decides this.
func (s *Source) Access(by identity.Actor) Access {
	switch {
	case by.Workspace != s.Workspace, by.Role == identity.NoRole, by.Ceiling == identity.NoRole:
		return None
	case by.ReadOnly():
		return See
	case by.Role == identity.Owner, by.User != "" && by.User == s.Owner:
		return Own
	case by.Role >= identity.Admin:
		return Manage
	case by.Role >= identity.Member:
		return Use
	default:
		return See
	}
}

// Allow returns nil if by has at least need, and an error that s does not exist if by may not see s.
func (s *Source) Allow(by identity.Actor, need Access) error {
	switch role := s.Access(by); {
	case role == None:
		return ErrNotFound
	case role < need && need == Own:
		return ErrNotOwner
	case role < need:
		return ErrForbidden
	default:
		return nil
	}
}

// allow is Allow for a change, which may be conditional on certain revisions.
func (s *Source) allow(by identity.Actor, need Access, match revision.Match) error {
	if err := s.Allow(by, need); err != nil {
		return err
	}
	return match.Check(s.Revision)
}

// MayCreate returns ErrForbidden unless by may attach sources in its workspace and preview possible
// ones, which requires the member role.
func MayCreate(by identity.Actor) error {
	if by.Role < identity.Member || by.ReadOnly() {
		return ErrForbidden
	}
	return nil
}

// Detach removes s; only its events and what was learned from its mappings remain. A refresh that is running
// finds s gone and stores nothing.
func (s *Source) Detach(by identity.Actor, match revision.Match) error {
	if err := s.allow(by, Own, match); err != nil {
		return err
	}
	s.Detached = true
	s.Record(by, "source.detached", string(s.ID),
		map[string]any{"type": s.Type, "name": s.Name, "backend": s.Location.Backend()})
	s.touch(by)
	return nil
}
