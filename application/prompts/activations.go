package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// Activating is the caller's request to activate a version.
type Activating struct {
	Expected     *prompt.VersionID // the version that the caller believes to be active; nil: any
	Reason       string            // up to 500 characters
	Acknowledged bool              // activate it although it breaks the contract
}

// ActivateVersion makes one version of a template the one that callers receive. It returns prompt.ErrContractBreak if
// the template is checked for that, the version breaks the contract of the active one, and a does not acknowledge it.
func (s *Service) ActivateVersion(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	at revision.Match, a Activating) (*prompt.Template, error) {
	var activated *prompt.Template
	err := s.atomic.Atomically(ctx, func(tx ports.Stores) (err error) {
		activated, err = tx.Prompts.UpdateVersion(ctx, by, id, ref,
			func(t *prompt.Template, v *prompt.VersionInfo) error {
				return t.Activate(by, at, v, a.Expected, a.Reason)
			})
		if err != nil || a.Acknowledged {
			return err
		}
		return keepsContract(ctx, tx, by, activated)
	})
	if err != nil {
		return nil, err
	}
	return activated, nil
}

// keepsContract returns prompt.ErrContractBreak if the version that t has just activated breaks the contract of the
// one before. The transaction must be rolled back then. It reads the contents after the activation, so that an
// activation of a template that is not checked reads none.
func keepsContract(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template) error {
	if t.Compatibility != prompt.Backward {
		return nil
	}
	for _, a := range t.Activated {
		if a.Label != "" || a.From == "" {
			continue
		}
		_, from, err := tx.Prompts.GetVersion(ctx, by, t.ID, prompt.Ref{ID: a.From})
		if err != nil {
			return err
		}
		_, to, err := tx.Prompts.GetVersion(ctx, by, t.ID, prompt.Ref{ID: a.To})
		if err != nil {
			return err
		}
		return t.KeepsContract(from, to)
	}
	return nil
}
