package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Invitations stores invitations into workspaces.
type Invitations struct{ db *Store }

var _ ports.Invitations = (*Invitations)(nil)

const invitationColumns = `t.id, t.org_id, t.workspace_id, t.email, t.role, t.guest, t.mailed_at, t.invited_by,
	t.expires_at, t.group_ids, t.open, t.revision, t.created_at, t.updated_at`

// linkMatch matches the invitation that a link is for. Its arguments are the hash, twice.
const linkMatch = `(t.hash = ? OR t.id = (SELECT l.invitation_id FROM invitation_links l WHERE l.hash = ?))`

// maxLinks is the number of an invitation's earlier links that still work.
const maxLinks = 20

type invitationRow struct {
	ID        account.InvitationID `db:"id"`
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Email     string               `db:"email"`
	Role      identity.Role        `db:"role"`
	Guest     bool                 `db:"guest"`
	MailedAt  int64                `db:"mailed_at"`
	InvitedBy identity.UserID      `db:"invited_by"`
	ExpiresAt int64                `db:"expires_at"`
	Groups    groupIDs             `db:"group_ids"`
	Open      bool                 `db:"open"`
	Revision  int64                `db:"revision"`
	CreatedAt int64                `db:"created_at"`
	UpdatedAt int64                `db:"updated_at"`
}

// invitation returns an open invitation: others are never read.
func (r *invitationRow) invitation() account.Invitation {
	return account.Invitation{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Email: r.Email, Role: r.Role, Guest: r.Guest,
		Groups:   r.Groups.list(),
		MailedAt: db.FromMicros(r.MailedAt), InvitedBy: r.InvitedBy, ExpiresAt: db.FromMicros(r.ExpiresAt),
		Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
}

// List implements ports.Invitations.
func (s *Invitations) List(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID,
	q page.Query) (account.InvitationPage, error) {
	conditions := db.NewConditions(`t.org_id = ? AND t.workspace_id = ? AND t.open`, org, ws)
	conditions.When(q.After != "", `t.id < ?`, q.After)
	var rows []invitationRow
	if err := s.db.List(ctx, &rows, `SELECT `+invitationColumns+` FROM invitations t WHERE `+conditions.SQL()+
		` ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.InvitationPage{}, err
	}
	found := db.Convert(rows, (*invitationRow).invitation)
	return page.Cut(found, q.Limit, func(i account.Invitation) string { return string(i.ID) }), nil
}

// Get implements ports.Invitations.
func (s *Invitations) Get(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID,
	id account.InvitationID) (*account.Invitation, error) {
	i, err := s.db.invitation(ctx, `t.org_id = ? AND t.workspace_id = ? AND t.id = ? AND t.open`, org, ws, id)
	if err == nil && i == nil {
		err = account.ErrInvitationNotFound
	}
	return i, err
}

// Workspace implements ports.Invitations.
func (s *Invitations) Workspace(ctx context.Context, org identity.OrgID, h account.Hash) (identity.WorkspaceID, error) {
	i, err := s.db.invitationByLink(ctx, org, h)
	if err == nil && i == nil {
		err = account.ErrInvitationNotFound
	}
	if err != nil {
		return "", err
	}
	return i.Workspace, nil
}

// Find implements ports.Invitations.
func (s *Invitations) Find(
	ctx context.Context, org identity.OrgID, h account.Hash,
) (*account.Invitation, *account.InvitationPreview, error) {
	var row struct {
		invitationRow
		Name    string        `db:"workspace_name"`
		Inviter string        `db:"inviter_name"`
		Role    identity.Role `db:"inviter_role"`
	}
	found, err := s.db.Get(ctx, &row, `
		SELECT `+invitationColumns+`, w.name AS workspace_name, COALESCE(u.name, '') AS inviter_name,
			`+inviterRole+` AS inviter_role
		FROM invitations t JOIN workspaces w ON w.id = t.workspace_id LEFT JOIN users u ON u.id = t.invited_by
		LEFT JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.invited_by
		WHERE t.org_id = ? AND t.open AND w.deleted_at = 0 AND `+linkMatch, org, h[:], h[:])
	if err != nil {
		return nil, nil, err
	}
	i := row.invitation()
	if !found || !(&account.Pending{Invitation: i, Inviter: row.Role}).Vouched() {
		return nil, nil, account.ErrInvitationNotFound
	}
	return &i, &account.InvitationPreview{
		Workspace: row.Name, Inviter: row.Inviter, Email: i.Email, Role: i.Role, ExpiresAt: i.ExpiresAt,
	}, nil
}

// Invite implements ports.Invitations.
func (s *Invitations) Invite(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string,
	change func(*account.Workspace, identity.UserID, *account.Invitation) (*account.Invitation, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		w, err := tx.LockedWorkspace(ctx, by.Org, ws, by.User)
		if err != nil {
			return err
		}
		member, err := (&Users{tx}).Member(ctx, ws, "", email)
		if err != nil {
			return err
		}
		pending, err := tx.invitation(ctx, `t.workspace_id = ? AND t.email_key = ? AND t.open`, ws,
			account.EmailKey(email))
		if err != nil {
			return err
		}
		if w.Sent, err = tx.sent(ctx, by, ws, email); err != nil {
			return err
		}
		if w.Sent.Unconfirmed, err = tx.hasUnconfirmed(ctx, append(w.Makers[by.User], by.User)); err != nil {
			return err
		}
		i, err := change(w, member, pending)
		if err != nil {
			return err
		}
		if i.Mailed() {
			if err := tx.saveMails(ctx, by, ws, email, w.Sent); err != nil {
				return err
			}
		}
		if pending == nil {
			if _, err := tx.Exec(ctx, `
				INSERT INTO invitations (id, org_id, workspace_id, email, email_key, role, guest, hash, mailed_at,
				invited_by, expires_at, group_ids, open, revision, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				i.ID, i.Org, i.Workspace, i.Email, account.EmailKey(i.Email), i.Role, i.Guest, i.Hash[:],
				db.Micros(i.MailedAt), i.InvitedBy, db.Micros(i.ExpiresAt), idsOfGroups(i.Groups), true,
				i.Revision, db.Micros(i.CreatedAt),
				db.Micros(i.UpdatedAt)); err != nil {
				return err
			}
			return tx.Record(ctx, i.RecordedAt(i.Revision, string(i.ID)))
		}
		if err := tx.endLinks(ctx, i); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE invitations SET role = ?, guest = ?, hash = ?, mailed_at = ?, invited_by = ?,
			expires_at = ?, group_ids = ?, revision = ?, updated_at = ? WHERE id = ? AND workspace_id = ?`,
			i.Role, i.Guest, i.Hash[:], db.Micros(i.MailedAt), i.InvitedBy, db.Micros(i.ExpiresAt),
			idsOfGroups(i.Groups), i.Revision,
			db.Micros(i.UpdatedAt), i.ID, i.Workspace); err != nil {
			return err
		}
		return tx.Record(ctx, i.RecordedAt(i.Revision, string(i.ID)))
	})
}

// endLinks keeps the current link of an invitation that is about to get a new one, or invalidates all its links.
func (store *Store) endLinks(ctx context.Context, i *account.Invitation) error {
	if !i.KeepLinks {
		if err := store.EraseAnswers(ctx, i.Org, string(i.ID)); err != nil { // they showed the old link
			return err
		}
		_, err := store.Exec(ctx, `DELETE FROM invitation_links WHERE invitation_id = ?`, i.ID)
		return err
	}
	if _, err := store.Exec(ctx, `INSERT INTO invitation_links (hash, invitation_id, created_at)
		SELECT hash, id, CAST(? AS BIGINT) FROM invitations WHERE id = ?`, db.Micros(i.UpdatedAt), i.ID); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `DELETE FROM invitation_links WHERE invitation_id = ? AND hash NOT IN (
		SELECT hash FROM invitation_links WHERE invitation_id = ? ORDER BY created_at DESC, hash LIMIT ?)`,
		i.ID, i.ID, maxLinks)
	return err
}

// sent returns the number of open invitations of a workspace, the time of the last mail to email, and the times
// that lockMails reads. Accepted and withdrawn invitations are kept, so that their mails still count.
func (store *Store) sent(
	ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string,
) (s account.Sent, err error) {
	if _, err := store.Get(ctx, &s.Open, `SELECT COUNT(*) FROM invitations WHERE workspace_id = ? AND open
		AND expires_at > ?`, ws, db.Micros(by.At)); err != nil {
		return account.Sent{}, err
	}
	var micros int64
	if _, err := store.Get(ctx, &micros, `SELECT COALESCE(MAX(mailed_at), 0) FROM invitations WHERE workspace_id = ?
		AND email_key = ?`, ws, account.EmailKey(email)); err != nil {
		return account.Sent{}, err
	}
	s.MailedAt = db.FromMicros(micros)
	return s, store.lockMails(ctx, by, ws, email, &s)
}

// hasUnconfirmed reports whether the address of one of the users is not confirmed.
func (store *Store) hasUnconfirmed(ctx context.Context, users []identity.UserID) (found bool, err error) {
	for _, user := range users {
		if _, err := store.Get(ctx, &found, `SELECT EXISTS (SELECT 1 FROM users WHERE id = ? AND email_verified
			AND email_verified_by = ?)`, user, account.VerifiedByInvitation); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// Update implements ports.Invitations.
func (s *Invitations) Update(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, id account.InvitationID,
	change func(*account.Workspace, *account.Invitation) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		w, err := tx.LockedWorkspace(ctx, by.Org, ws, by.User)
		if err != nil {
			return err
		}
		i, err := tx.invitation(ctx, `t.workspace_id = ? AND t.id = ? AND t.open`, ws, id)
		if err != nil {
			return err
		}
		if err := change(w, i); err != nil {
			return err
		}
		return tx.saveInvitation(ctx, i)
	})
}

// Accept implements ports.Invitations.
func (s *Invitations) Accept(ctx context.Context, by identity.Actor, h account.Hash,
	change func(*account.User, *account.Workspace, *account.Invitation) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		i, err := tx.invitationByLink(ctx, by.Org, h)
		if err != nil {
			return err
		}
		if i == nil {
			return account.ErrInvitationNotFound
		}
		// a concurrent renewal would change the hash
		w, err := tx.LockedWorkspace(ctx, by.Org, i.Workspace, by.User, i.InvitedBy)
		if err != nil {
			return err
		}
		// again, under the lock
		if i, err = tx.invitationByLink(ctx, by.Org, h); err != nil {
			return err
		}
		p, err := tx.Person(ctx, by.Org, by.User)
		if err != nil {
			return err
		}
		if err := change(&p.User, w, i); err != nil {
			return err
		}
		if err := tx.saveInvitation(ctx, i); err != nil {
			return err
		}
		return tx.SaveWorkspace(ctx, w)
	})
}

// inviterRole is the role of the member m who sent an invitation t. A program without a working key has no role.
const inviterRole = `CASE WHEN EXISTS (SELECT 1 FROM users s WHERE s.id = t.invited_by AND s.service)
	AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.workspace_id = t.workspace_id AND k.user_id = t.invited_by
	AND k.revoked_at = 0 AND k.suspended_at = 0) THEN 0 ELSE COALESCE(m.role, 0) END`

// pending lists an address's open invitations in an org, including expired ones.
func (store *Store) pending(ctx context.Context, org identity.OrgID, email string) ([]account.Pending, error) {
	var rows []struct {
		invitationRow
		Inviter identity.Role `db:"inviter"`
	}
	if err := store.List(ctx, &rows, `
		SELECT `+invitationColumns+`, `+inviterRole+` AS inviter FROM invitations t JOIN workspaces w ON w.id = t.workspace_id
		LEFT JOIN memberships m ON m.workspace_id = t.workspace_id AND m.user_id = t.invited_by
		WHERE t.org_id = ? AND t.email_key = ? AND t.open AND w.deleted_at = 0
		ORDER BY t.id`, org, account.EmailKey(email)); err != nil {
		return nil, err
	}
	found := make([]account.Pending, len(rows))
	for i := range rows {
		found[i] = account.Pending{Invitation: rows[i].invitation(), Inviter: rows[i].Inviter}
	}
	return found, nil
}

// invitationByLink returns the open invitation that a link is for, or nil.
func (store *Store) invitationByLink(
	ctx context.Context, org identity.OrgID, h account.Hash,
) (*account.Invitation, error) {
	return store.invitation(ctx, `t.org_id = ? AND t.open AND `+linkMatch, org, h[:], h[:])
}

// invitation returns the invitation that meets a condition, or nil.
func (store *Store) invitation(ctx context.Context, condition string, args ...any) (*account.Invitation, error) {
	var row invitationRow
	found, err := store.Get(ctx, &row, `SELECT `+invitationColumns+` FROM invitations t WHERE `+condition, args...)
	if err != nil || !found {
		return nil, err
	}
	i := row.invitation()
	return &i, nil
}

// saveInvitation writes an invitation that was accepted or withdrawn.
func (store *Store) saveInvitation(ctx context.Context, i *account.Invitation) error {
	if i == nil || len(i.Recorded()) == 0 {
		return nil
	}
	if err := store.EraseAnswers(ctx, i.Org, string(i.ID)); err != nil {
		return err
	}
	if _, err := store.Exec(ctx, `UPDATE invitations SET open = ?, revision = ?, updated_at = ? WHERE id = ?
		AND workspace_id = ?`,
		!i.Accepted && !i.Withdrawn, i.Revision, db.Micros(i.UpdatedAt), i.ID, i.Workspace); err != nil {
		return err
	}
	return store.Record(ctx, i.RecordedAt(i.Revision, string(i.ID)))
}
