package event

import (
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Audience is who may read a type's events, beside the admins of the workspace, the user who made the change, and the
// user that it is about.
type Audience int

// The audiences.
const (
	Admins   Audience = iota // no one else
	Everyone                 // everyone in the workspace: they see what the event is about
	Viewers                  // those who see the template that the event is about
)

// AudienceOf returns who may read a type's events.
func AudienceOf(kind string) Audience {
	noun, _, _ := strings.Cut(kind, ".")
	switch noun {
	case "prompt_template", "chat_template", "chat_workflow": // not prompt_version, which names drafts
		return Viewers
	case "workspace", "member", "subscription", "invoice", "file":
		return Everyone
	case "connection", "source":
		if !slices.Contains(reads, kind) {
			return Everyone
		}
	}
	return Admins
}

// reads are the types that record who read a customer's data; they are only for the audit trail.
var reads = []string{"connection.previewed", "source.previewed", "source.read"}

// MayFollow returns identity.ErrForbidden if by may read no events at all: a workspace's guests have no role in it.
func MayFollow(by identity.Actor) error {
	if by.Role < identity.Viewer {
		return identity.Needs(identity.Viewer)
	}
	return nil
}

// Reader returns by for a Filter, or nil if by may read every event of their workspace.
func Reader(by identity.Actor) *identity.Actor {
	if MayRead(by) == nil {
		return nil
	}
	return &by
}

// ShownTo removes from e how another user's request was made, unless by may read the audit trail.
func (e *Event) ShownTo(by identity.Actor) {
	if MayRead(by) != nil && e.Actor != by.User {
		e.Key, e.Session, e.Request = "", "", identity.Request{}
	}
}
