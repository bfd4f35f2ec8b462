package chat

import (
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// PreviewLasts is how long a preview shows the draft of a template.
const PreviewLasts = 10 * time.Minute

const previewPerMinute = 10 // sixth of the calls of each kind from an address, which is all that is known

// PreviewPass returns a session for Atrium's own page, which shows the draft of t to by. It ends with the credential of
// by, and with by's access to t.
func PreviewPass(by identity.Actor, with account.Proof, t *Template) (EmbedPass, error) {
	return EmbedPass{
			Draft:     t.ID,
			Workspace: t.Workspace,
			Framed:    true,
			ExpiresAt: by.At.Add(PreviewLasts),
			Proof:     with,
		},
		t.MayPreview(
			by,
		)
}

// MayPreview returns an error if by may not see the draft of t in a preview. Requires the viewer role.
func (t *Template) MayPreview(by identity.Actor) error {
	if !t.DeletedAt.IsZero() {
		return ErrNotFound
	}
	return t.Allow(by, access.Viewer)
}

// PreviewOf returns what a preview shows of t. It has no token; an id in its place separates its limits from others.
func PreviewOf(t *Template, org identity.OrgID) *Embedding {
	c := t.Content
	return &Embedding{
		Token: EmbedToken{ID: EmbedTokenID("preview " + t.ID), Org: org, Workspace: t.Workspace, Template: t.ID,
			EmbedSettings: EmbedSettings{PerMinute: previewPerMinute}},
		Template: Embedded{ID: t.ID, Workspace: t.Workspace, Status: t.Status, Name: c.Name, AvatarURL: c.AvatarURL,
			Greeting: c.Greeting, Starters: c.Starters, Tools: ids(c.Tools), Reply: c.Reply, Theme: c.Theme},
	}
}
