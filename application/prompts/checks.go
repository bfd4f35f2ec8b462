package prompts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Checks returns the checks of the version that ref names, by name.
func (s *Service) Checks(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) ([]prompt.JudgedCheck, error) {
	t, err := s.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	_, v, err := s.Version(ctx, by, id, ref)
	if err != nil {
		return nil, err
	}
	return s.checksOf(ctx, by, t, v)
}

func (s *Service) checksOf(
	ctx context.Context, by identity.Actor, t *prompt.Template, v *prompt.Version,
) ([]prompt.JudgedCheck, error) {
	checks, err := s.lists.Checks(ctx, by.Workspace, t.ID, v.ID)
	return t.Judge(&v.VersionInfo, checks...), err
}

// Report records a version check. If a request to activate the version waited only for it, the version is activated.
func (s *Service) Report(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
	c prompt.Check) (prompt.JudgedCheck, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (result prompt.JudgedCheck, err error) {
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
		reporters, err := creatorsOf(ctx, tx, by)
		if err != nil {
			return result, err
		}
		t, err := tx.Prompts.UpdateVersion(ctx, by, id, ref,
			func(t *prompt.Template, v *prompt.VersionInfo) error {
				reported, err := t.Report(by, v, c, previous, reporters)
				if err == nil {
					result = t.Judge(v, reported)[0]
				}
				return err
			})
		if err != nil {
			return result, err
		}
		return result, settle(ctx, tx, by, t)
	})
}

// maxMakers is how many keys creatorsOf follows: a key that a key created, and so on.
const maxMakers = 20

// creatorsOf returns by's user, and those who created the key that by uses, and the keys with which they did.
func creatorsOf(ctx context.Context, tx ports.Stores, by identity.Actor) ([]identity.UserID, error) {
	users := []identity.UserID{by.User}
	for key := by.Key; key != "" && len(users) <= maxMakers; {
		k, err := tx.Keys.Get(ctx, by.Workspace, key)
		if errors.Is(err, account.ErrKeyNotFound) {
			break // it was removed, or belongs to another workspace
		}
		if err != nil {
			return nil, err
		}
		users, key = append(users, k.CreatedBy), k.MadeBy
	}
	return users, nil
}
