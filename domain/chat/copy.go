package chat

import (
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Copying is the caller's request for a template copy.
type Copying struct {
	Name       string            // empty: the template's name, with " copy"
	Visibility access.Visibility // empty: private
}

// Copy creates a copy of the draft of t, which by owns. It has no members, no embed tokens and no versions. Requires
// the editor role on t and the member role in the workspace. Items are not checked against the registry again, but by
// must be able to use the prompt and the connection.
func (t *Template) Copy(by identity.Actor, c Copying, f Facts) (*Template, error) {
	if err := t.Allow(by, access.Editor); err != nil {
		return nil, err
	}
	content := t.Content
	content.Name = c.Name
	if content.Name == "" {
		content.Name = t.Name + " copy"
	}
	return newTemplate(by, Draft{Content: content, Visibility: c.Visibility}, f, t.Content)
}
