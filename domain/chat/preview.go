package chat

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// PreviewLasts is how long a preview shows the draft of a template.
const PreviewLasts = 10 * time.Minute

const previewPerMinute = 10 // sixth of the calls of each kind from an address, which is all that is known

// PreviewPass returns a session for Atrium's own page, which shows the draft of t.
func PreviewPass(t *Template, now time.Time) EmbedPass {
	return EmbedPass{Draft: t.ID, Workspace: t.Workspace, Framed: true, ExpiresAt: now.Add(PreviewLasts)}
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
