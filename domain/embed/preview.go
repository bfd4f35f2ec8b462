package embed

import (
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// PreviewLifetime is the time for which a preview shows a template's draft.
const PreviewLifetime = 10 * time.Minute

// PreviewsPerDay is the maximum number of replies to a template's previews in a day (UTC) on one node.
const PreviewsPerDay = 200

const previewPerMinute = 10 // sixth of the calls of each kind from an address, which is all that is known

// PreviewPass returns a session for Atrium's own page, which shows the draft of t to by. It ends with the credential of
// by, and with by's access to t.
func PreviewPass(by identity.Actor, proof session.Proof, t *chat.Template) (Pass, error) {
	return Pass{Draft: t.ID, Workspace: t.Workspace, Framed: true, ExpiresAt: by.At.Add(PreviewLifetime), Proof: proof},
		MayPreview(t, by)
}

// MayPreview returns an error if by may not see the draft of t in a preview. Requires the viewer role.
func MayPreview(t *chat.Template, by identity.Actor) error {
	if !t.DeletedAt.IsZero() {
		return chat.ErrNotFound
	}
	return t.Allow(by, access.Viewer)
}

// PreviewOf returns what a preview shows of t. It has no token; an id in its place separates its limits from others.
func PreviewOf(t *chat.Template, org identity.OrgID) *Embedding {
	c := t.Content
	return &Embedding{
		Token: Token{ID: TokenID("preview " + t.ID), Org: org, Workspace: t.Workspace, Template: t.ID,
			Settings: Settings{PerMinute: previewPerMinute}},
		Template: Template{ID: t.ID, Workspace: t.Workspace, Status: t.Status, Name: c.Name, AvatarURL: c.AvatarURL,
			Greeting: c.Greeting, Starters: c.Starters, Languages: c.Translations, Tools: chat.SelectedIDs(c.Tools),
			Reply: c.Reply, Theme: c.Theme, Forwarded: t.Transcripts != ""},
	}
}
