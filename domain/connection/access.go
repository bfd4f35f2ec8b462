package connection

import (
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Access is what a user may do with a connection. Each level includes those below it.
type Access int

// The levels, lowest first.
const (
	None   Access = iota // the zero value: no access was granted
	See                  // its configuration and health, never a secret
	Use                  // verify it
	Manage               // replace its credential, revoke it
)

// Access returns what by may do with c: everyone in the workspace sees it, members use it, its owner
// and the workspace's admins manage it. No other code decides this.
func (c *Connection) Access(by identity.Actor) Access {
	switch {
	case by.Workspace != c.Workspace, by.Role == identity.NoRole, by.Ceiling == identity.NoRole:
		return None
	case by.ReadOnly():
		return See
	case by.Role >= identity.Admin, by.User != "" && by.User == c.Owner && !c.Ownerless:
		return Manage
	case by.Role >= identity.Member:
		return Use
	default:
		return See
	}
}

// Allow returns nil if by has at least need, and an error that c does not exist if by may not see c.
func (c *Connection) Allow(by identity.Actor, need Access) error {
	switch role := c.Access(by); {
	case role == None:
		return ErrNotFound
	case role < need:
		return ErrForbidden
	default:
		return nil
	}
}

// allow is Allow for a change, which may be conditional on certain revisions.
func (c *Connection) allow(by identity.Actor, need Access, match revision.Match) error {
	if err := c.Allow(by, need); err != nil {
		return err
	}
	return match.Check(c.Revision)
}

// MayCreate returns ErrForbidden unless by may create connections in its workspace, which requires the
// member role.
func MayCreate(by identity.Actor) error {
	if by.Role < identity.Member || by.ReadOnly() {
		return ErrForbidden
	}
	return nil
}
