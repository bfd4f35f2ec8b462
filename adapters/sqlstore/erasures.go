package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Erasures exports and erases what all areas store about people.
type Erasures struct {
	db    *Store
	areas []db.Area
}

var _ ports.Erasures = (*Erasures)(nil)

// Erase implements ports.Erasures. Users are locked before workspaces, as in ChangeAccess.
func (s *Erasures) Erase(ctx context.Context, by identity.Actor, id identity.UserID,
	change func(*account.Leaver) (*account.Erasure, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		people := tx.Accounts()
		a, err := people.Access(ctx, by.Org, id)
		if err != nil {
			return err
		}
		person := db.ErasedPerson{Org: by.Org, User: id, Email: a.User.Email}
		l := &account.Leaver{Access: a}
		if err := tx.List(ctx, &l.KnownAs, `SELECT subject FROM sign_ins WHERE org_id = ? AND user_id = ?`,
			by.Org, id); err != nil {
			return err
		}
		var in []identity.WorkspaceID
		if err := tx.List(ctx, &in, `SELECT id FROM workspaces WHERE org_id = ? AND (created_by = ?
			OR id IN (SELECT workspace_id FROM memberships WHERE user_id = ?))
			ORDER BY id`, by.Org, id, id); err != nil {
			return err
		}
		for _, ws := range in {
			w, err := people.LockedWorkspace(ctx, by.Org, ws, id)
			if err != nil {
				return err
			}
			if err := people.LoadPowers(ctx, w, id); err != nil {
				return err
			}
			l.Workspaces = append(l.Workspaces, w)
		}
		e, err := change(l)
		if err != nil {
			return err
		}
		if err := people.NoteErasedSignIns(ctx, &person, by.At); err != nil {
			return err
		}
		// before the memberships, so that shares are counted
		if err := s.eraseRows(ctx, tx, &person, &e.Report); err != nil {
			return err
		}
		for _, w := range l.Workspaces {
			if err := people.SaveWorkspace(ctx, w); err != nil {
				return err
			}
		}
		if err := people.SaveUser(ctx, a.User); err != nil {
			return err
		}
		return tx.addErasure(ctx, e)
	})
}

// eraseRows runs the erasures of all areas. What refers to others is erased first.
func (s *Erasures) eraseRows(
	ctx context.Context, tx *Store, person *db.ErasedPerson, report *account.ErasureReport,
) error {
	for _, area := range slices.Backward(s.areas) {
		for _, e := range area.Erasures {
			args := e.Args(person)
			if args == nil {
				continue
			}
			count, err := tx.Exec(ctx, e.Query, args...)
			if err != nil {
				return err
			}
			if e.Count != nil {
				*e.Count(report) += int(count)
			}
		}
	}
	return nil
}

func (store *Store) addErasure(ctx context.Context, e *account.Erasure) error {
	terms, err := json.Marshal(e.Terms)
	if err != nil {
		return err
	}
	report, err := json.Marshal(e.Report)
	if err != nil {
		return err
	}
	_, err = store.Exec(ctx, `INSERT INTO erasures (id, org_id, user_id, requested_by, terms, report, created_at, ended_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
		e.ID, e.Org, e.User, e.RequestedBy, string(terms), string(report), db.Micros(e.CreatedAt))
	return err
}

// Erasure implements ports.Erasures.
func (s *Erasures) Erasure(
	ctx context.Context, org identity.OrgID, id identity.UserID,
) (*account.Erasure, error) {
	var row struct {
		ID          account.ErasureID `db:"id"`
		Org         identity.OrgID    `db:"org_id"`
		User        identity.UserID   `db:"user_id"`
		RequestedBy identity.UserID   `db:"requested_by"`
		Terms       []byte            `db:"terms"`
		Report      []byte            `db:"report"`
		CreatedAt   int64             `db:"created_at"`
		EndedAt     int64             `db:"ended_at"`
	}
	found, err := s.db.Get(ctx, &row, `SELECT id, org_id, user_id, requested_by, terms, report, created_at, ended_at
		FROM erasures WHERE org_id = ? AND user_id = ?`, org, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, account.ErrErasureNotFound
	}
	e := &account.Erasure{
		ID: row.ID, Org: row.Org, User: row.User, RequestedBy: row.RequestedBy,
		CreatedAt: db.FromMicros(row.CreatedAt), EndedAt: db.FromMicros(row.EndedAt),
	}
	if err := json.Unmarshal(row.Terms, &e.Terms); err != nil {
		return nil, err
	}
	return e, json.Unmarshal(row.Report, &e.Report)
}

// CompleteErasure implements ports.Erasures. Each step is repeatable.
func (s *Erasures) CompleteErasure(
	ctx context.Context, org identity.OrgID, id identity.UserID, now time.Time,
) error {
	e, err := s.Erasure(ctx, org, id)
	if err != nil || !e.EndedAt.IsZero() {
		return err
	}
	r := event.NewRedactor(e.User, e.Terms)
	for _, area := range s.areas {
		if area.Redact == nil {
			continue
		}
		if err := area.Redact(ctx, s.db.DB, e, r, now); err != nil {
			return err
		}
	}
	if err := s.db.endErasure(ctx, e, now); err != nil {
		return err
	}
	return s.db.EraseFreePages(ctx)
}

// endErasure deletes the search terms, and stores the report.
func (store *Store) endErasure(ctx context.Context, e *account.Erasure, now time.Time) error {
	report, err := json.Marshal(e.Report)
	if err != nil {
		return err
	}
	_, err = store.Exec(ctx, `UPDATE erasures SET terms = '[]', report = ?, ended_at = ? WHERE id = ? AND org_id = ?`,
		string(report), db.Micros(now), e.ID, e.Org)
	return err
}
