package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Copying is the caller's request for a template copy.
type Copying struct {
	Name       string               // empty: the template's name, with " copy" in the same workspace
	Workspace  identity.WorkspaceID // empty: the template's workspace
	Visibility access.Visibility
	Latest     bool // copy only the active version, or the latest one if none is active
}

// Draft returns the request for a template like t.
func (c Copying) Draft(t *Template) Draft {
	name := c.Name
	switch {
	case name != "":
	case c.Workspace == "" || c.Workspace == t.Workspace:
		name = t.Name + " copy"
	default:
		name = t.Name
	}
	return Draft{Name: name, Type: t.Type, Description: t.Description, Tags: t.Tags, Metadata: t.Metadata,
		Visibility: c.Visibility, Protected: t.Protected, Approvals: t.Approvals,
		Compatibility: t.Compatibility, IncludeMode: t.IncludeMode, GatedLabels: t.GatedLabels,
		ProtectedLabels: t.ProtectedLabels}
}

// Note returns the commit message of a copy of v, which names its author as text, up to 500 characters: the copy
// belongs to the caller who made it.
func (v *VersionInfo) Note(author string) string {
	note := fmt.Sprintf("(by %s, %s)", author, v.CreatedAt.Format("2006-01-02"))
	if room := 500 - utf8.RuneCountInString(note) - 1; utf8.RuneCountInString(v.CommitMessage) > room {
		return string([]rune(v.CommitMessage)[:max(room-1, 0)]) + "… " + note
	}
	return strings.TrimSpace(v.CommitMessage + " " + note)
}
