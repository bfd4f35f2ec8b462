package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Erasures exports and erases what is stored about people.
type Erasures struct{ db *DB }

var _ ports.Erasures = (*Erasures)(nil)

// erased lists the statements that remove or blank what is stored of a person, in their order. A table that refers to
// people must be here, or in keptOfPeople in erasures_test.go with the reason. Arguments are: the org, the user, the
// key of the e-mail address (which is never empty), and the scopes of mails; each statement names those it needs.
var erased = []struct {
	query string
	args  func(*erasing) []any
	count func(*account.ErasureReport) *int
}{
	{`DELETE FROM stream_tickets WHERE org_id = ? AND (key_hash IN (SELECT hash FROM api_keys WHERE user_id = ?)
		OR session_hash IN (SELECT cookie_hash FROM sessions WHERE user_id = ?)
		OR EXISTS (SELECT 1 FROM sign_ins i WHERE i.org_id = stream_tickets.org_id AND i.issuer = stream_tickets.issuer
			AND i.subject = stream_tickets.subject AND i.user_id = ?))`, (*erasing).orgThrice, others},
	{`DELETE FROM stream_resumptions WHERE org_id = ? AND (key_hash IN (SELECT hash FROM api_keys WHERE user_id = ?)
		OR session_hash IN (SELECT cookie_hash FROM sessions WHERE user_id = ?)
		OR EXISTS (SELECT 1 FROM sign_ins i WHERE i.org_id = stream_resumptions.org_id
			AND i.issuer = stream_resumptions.issuer AND i.subject = stream_resumptions.subject AND i.user_id = ?))`,
		(*erasing).orgThrice, others},
	{`DELETE FROM sessions WHERE org_id = ? AND user_id = ?`, (*erasing).byUser,
		func(r *account.ErasureReport) *int { return &r.Sessions }},
	{`DELETE FROM passkeys WHERE org_id = ? AND user_id = ?`, (*erasing).byUser, others},
	{`DELETE FROM sign_in_links WHERE org_id = ? AND user_id = ?`, (*erasing).byUser, others},
	{`DELETE FROM scim_users WHERE org_id = ? AND user_id = ?`, (*erasing).byUser, others},
	{`DELETE FROM sign_ins WHERE org_id = ? AND user_id = ?`, (*erasing).byUser,
		func(r *account.ErasureReport) *int { return &r.SignIns }},
	{`DELETE FROM prompt_shares WHERE workspace_id IN (SELECT id FROM workspaces WHERE org_id = ?) AND user_id = ?`,
		(*erasing).byUser, shares},
	{`DELETE FROM prompt_folder_shares WHERE workspace_id IN (SELECT id FROM workspaces WHERE org_id = ?)
		AND user_id = ?`,
		(*erasing).byUser, shares},
	{`DELETE FROM chat_members WHERE workspace_id IN (SELECT id FROM workspaces WHERE org_id = ?) AND user_id = ?`,
		(*erasing).byUser, shares},
	{`DELETE FROM chat_members WHERE invited AND (workspace_id, user_id) IN (SELECT workspace_id,
		'usr_' || substr(id, 5) FROM invitations WHERE org_id = ? AND email_key = ?)`, (*erasing).byEmail, shares},
	{`DELETE FROM invitations WHERE org_id = ? AND email_key = ?`, (*erasing).byEmail,
		func(r *account.ErasureReport) *int { return &r.Invitations }},
	{`DELETE FROM invitation_mails WHERE scope IN (?, ?, ?)`, (*erasing).mailScopes, others},
	{`UPDATE api_keys SET name = 'Erased', last_used_by = '' WHERE org_id = ? AND user_id = ?`, (*erasing).byUser, nil},
	{`UPDATE payment_customers SET email = '' WHERE org_id = ? AND LOWER(email) = ?`, (*erasing).byEmail, nil},
}

func others(r *account.ErasureReport) *int { return &r.Others }
func shares(r *account.ErasureReport) *int { return &r.Shares }

// erasing is a person whose erasure has begun.
type erasing struct {
	org   identity.OrgID
	user  identity.UserID
	email string // as it was
}

func (e *erasing) byUser() []any    { return []any{e.org, e.user} }
func (e *erasing) orgThrice() []any { return []any{e.org, e.user, e.user, e.user} }

// byEmail returns nil for a person without an address.
func (e *erasing) byEmail() []any {
	if e.email == "" {
		return nil
	}
	return []any{e.org, account.EmailKey(e.email)}
}

func (e *erasing) mailScopes() []any {
	return []any{"user " + string(e.org) + " " + string(e.user), "address " + string(e.org) + " " +
		account.Mailbox(e.email), linkScope(e.org, e.email)}
}

// Erase implements ports.Erasures. Users are locked before workspaces, as in ChangeAccess.
func (s *Erasures) Erase(ctx context.Context, by identity.Actor, id identity.UserID,
	change func(*account.Leaver) (*account.Erasure, error)) error {
	return s.db.inTx(ctx, func(tx *DB) error {
		a, err := tx.access(ctx, by.Org, id)
		if err != nil {
			return err
		}
		gone := erasing{by.Org, id, a.User.Email}
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
			w, err := tx.lockedWorkspace(ctx, by.Org, ws, id)
			if err != nil {
				return err
			}
			if err := tx.loadPowers(ctx, w, id); err != nil {
				return err
			}
			l.Workspaces = append(l.Workspaces, w)
		}
		e, err := change(l)
		if err != nil {
			return err
		}
		if err := tx.noteErasedSignIns(ctx, &gone, by.At); err != nil {
			return err
		}
		// before the memberships, so that shares are counted
		if err := tx.eraseRows(ctx, &gone, &e.Report); err != nil {
			return err
		}
		for _, w := range l.Workspaces {
			if err := tx.saveWorkspace(ctx, w); err != nil {
				return err
			}
		}
		if err := tx.saveUser(ctx, a.User); err != nil {
			return err
		}
		return tx.addErasure(ctx, e)
	})
}

func (store *DB) eraseRows(ctx context.Context, e *erasing, report *account.ErasureReport) error {
	for _, one := range erased {
		args := one.args(e)
		if args == nil {
			continue
		}
		n, err := store.Exec(ctx, one.query, args...)
		if err != nil {
			return err
		}
		if one.count != nil {
			*one.count(report) += int(n)
		}
	}
	return nil
}

func (store *DB) addErasure(ctx context.Context, e *account.Erasure) error {
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

// endErasure deletes the search terms, and stores the report.
func (store *DB) endErasure(ctx context.Context, e *account.Erasure, now time.Time) error {
	report, err := json.Marshal(e.Report)
	if err != nil {
		return err
	}
	_, err = store.Exec(ctx, `UPDATE erasures SET terms = '[]', report = ?, ended_at = ? WHERE id = ? AND org_id = ?`,
		string(report), db.Micros(now), e.ID, e.Org)
	return err
}
