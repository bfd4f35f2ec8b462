package access

// Source is the rule that gives a user a role on an object.
type Source int

// The sources.
const (
	ByShare      Source = iota // the zero value: shared with the user
	ByGroup                    // shared with a group of the user
	ByFolder                   // the object's folder, or one above it, is shared with the user or one of their groups
	ByOwnership                // the user owns the object
	ByWorkspace                // the user's role in the workspace
	ByVisibility               // everyone in the workspace sees the object
)

var sources = [...]string{"share", "group", "folder", "ownership", "workspace_role", "visibility"}

func (s Source) String() string { return sources[s] }

// Reason is a role and where it comes from.
type Reason struct {
	Role   Role
	By     Source // meaningless if Role is None
	Folder string // the shared folder, if By is ByFolder
}

// atLeast returns r, or role with its source if that is higher.
func (r Reason) atLeast(role Role, by Source) Reason {
	if role > r.Role {
		return Reason{Role: role, By: by}
	}
	return r
}
