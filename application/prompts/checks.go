package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Checks returns the version that ref names, with its checks by name.
func (s *Service) Checks(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) (*prompt.Version, []prompt.Check, error) {
	_, v, err := s.Version(ctx, by, id, ref)
	if err != nil {
		return nil, nil, err
	}
	checks, err := s.lists.Checks(ctx, by.Workspace, id, v.ID)
	return v, checks, err
}

// Report records a version check. If a request to activate the version waited only for it, the version is activated.
func (s *Service) Report(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	c prompt.Check) (prompt.Check, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (result prompt.Check, err error) {
		_, v, err := tx.Prompts.Lock(ctx, by, id, ref)
		if err != nil {
			return result, err
		}
		var previous []prompt.Check
		if v != nil {
			if previous, err = tx.PromptLists.Checks(ctx, by.Workspace, id, v.ID); err != nil {
				return result, err
			}
		}
		t, err := tx.Prompts.UpdateVersion(ctx, by, id, ref,
			func(t *prompt.Template, v *prompt.VersionInfo) (err error) {
				result, err = t.Report(by, v, c, previous)
				return err
			})
		if err != nil {
			return result, err
		}
		return result, settle(ctx, tx, by, t)
	})
}
