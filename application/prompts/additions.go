package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// addedVersion is a version that was stored in a transaction, and its template.
type addedVersion struct {
	template *prompt.Template
	version  *prompt.Version
	previous prompt.VersionID // the latest version before; empty: none
}

// addVersion stores a template's next version with what it includes.
func addVersion(ctx context.Context, tx ports.Stores, by identity.Actor, id prompt.ID,
	d prompt.VersionDraft, room *includeRoom) (out addedVersion, err error) {
	add := func(t *prompt.Template, labels prompt.Labels) (_ *prompt.Version, err error) {
		out.template, out.previous = t, t.AllVersions.Latest
		out.version, err = t.AddVersion(by, d, labels)
		return out.version, err
	}
	if err := tx.Prompts.AddVersion(ctx, by, id, add); err != nil {
		return addedVersion{}, err
	}
	var previous []prompt.Include
	if out.previous != "" && len(out.version.Content.IncludeTags()) > 0 {
		_, v, err := tx.Prompts.Lock(ctx, by, id, prompt.Ref{ID: out.previous})
		if err != nil {
			return addedVersion{}, err
		}
		if v != nil {
			previous = v.Includes
		}
	}
	return out, include(ctx, tx, by, id, out.version, true, previous, room)
}
