package accounts

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
)

// ErasePerson erases a person: the account, its credentials and its memberships at once, and with a job other data that
// names the person. by is an operator or the system.
func (s *Service) ErasePerson(
	ctx context.Context, by identity.Actor, id identity.UserID,
) (*account.Erasure, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return nil, err
	}
	by.Workspace = ""
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (e *account.Erasure, err error) {
		if err := tx.Erasures.Erase(ctx, by, id, func(l *account.Leaver) (_ *account.Erasure, err error) {
			e, err = l.Erase(by)
			return e, err
		}); err != nil {
			return nil, err
		}
		for _, ws := range e.Owned {
			if err := s.followDetails(ctx, tx.Jobs, by, ws); err != nil {
				return nil, err
			}
		}
		if err := erasePresence(ctx, tx.Presences, by, id); err != nil {
			return nil, err
		}
		return e, tx.Jobs.Enqueue(ctx, job.New(by, account.EraseJob, string(id), by.At))
	})
}

// erasePresence clears a person's presence, if there is one.
func erasePresence(ctx context.Context, p ports.Presences, by identity.Actor, id identity.UserID) error {
	_, err := p.ByUser(ctx, by.Org, id)
	if errors.Is(err, presence.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = p.Update(ctx, by.Org, []identity.UserID{id}, func(r *presence.Record) error {
		r.Clear(by.At)
		return nil
	})
	return err
}

// Erasure returns a person's erasure in by's org, with its report. by is an operator or the system.
func (s *Service) Erasure(
	ctx context.Context, by identity.Actor, id identity.UserID,
) (*account.Erasure, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return nil, err
	}
	return s.erasures.Erasure(ctx, by.Org, id)
}

// CompleteErasure does an erasure's slow part. by is the system.
func (s *Service) CompleteErasure(ctx context.Context, by identity.Actor, id identity.UserID) error {
	return s.erasures.CompleteErasure(ctx, by.Org, id, by.At)
}
