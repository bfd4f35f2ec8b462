package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Folders stores the shares of folders.
type Folders struct{ db *Store }

var _ ports.PromptFolders = (*Folders)(nil)

// Folder implements ports.PromptFolders.
func (s *Folders) Folder(ctx context.Context, by identity.Actor, path string) (*prompt.SharedFolder, error) {
	var row struct {
		Shares int    `db:"shares"`
		Best   string `db:"best"`
	}
	_, err := s.db.Get(ctx, &row, `SELECT (SELECT COUNT(*) FROM prompt_folder_shares WHERE workspace_id = ?) AS shares, `+
		bestFolder(`CAST(? AS TEXT)`)+` AS best`,
		append(append([]any{by.Workspace}, folderArgs(by)...), prompt.NameKey(path)+"/")...)
	if err != nil {
		return nil, err
	}
	f := &prompt.SharedFolder{Path: path, Shares: row.Shares,
		Resource: access.Resource{Subject: access.Subject{Workspace: by.Workspace, Visibility: access.Private}}}
	if g, found := folderGrant(by, row.Best); found {
		f.Grants = access.Grants{g}
	}
	return f, nil
}

// Update implements ports.PromptFolders.
func (s *Folders) Update(ctx context.Context, by identity.Actor, path string, user identity.UserID,
	change func(*prompt.SharedFolder, prompt.Recipient, *prompt.FolderShare) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		members, err := tx.MembersOf(ctx, by.Workspace, []identity.UserID{user})
		if err != nil {
			return err
		}
		recipient, err := tx.recipient(ctx, "", user)
		if err != nil {
			return err
		}
		recipient.InWorkspace = members[user]
		shares, err := tx.folderShares(ctx, `s.workspace_id = ? AND s.user_id = ? AND s.folder_key = ?`, by.Workspace, user,
			prompt.NameKey(path))
		if err != nil {
			return err
		}
		f, err := (&Folders{tx}).Folder(ctx, by, path)
		if err != nil {
			return err
		}
		var share *prompt.FolderShare
		if len(shares) > 0 {
			share = &shares[0]
		}
		if err := change(f, recipient, share); err != nil {
			return err
		}
		return tx.saveFolder(ctx, f)
	})
}

// UpdateShare implements ports.PromptFolders.
func (s *Folders) UpdateShare(ctx context.Context, by identity.Actor, id prompt.FolderShareID,
	change func(*prompt.SharedFolder, prompt.FolderShare) error) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if err := tx.LockWorkspace(ctx, by.Workspace); err != nil {
			return err
		}
		f, share, err := (&Folders{tx}).Share(ctx, by, id)
		if err != nil {
			return err
		}
		if err := change(f, share); err != nil {
			return err
		}
		return tx.saveFolder(ctx, f)
	})
}

// Share implements ports.PromptFolders.
func (s *Folders) Share(ctx context.Context, by identity.Actor, id prompt.FolderShareID) (*prompt.SharedFolder,
	prompt.FolderShare, error) {
	found, err := s.db.folderShares(ctx, `s.id = ? AND s.workspace_id = ?`, id, by.Workspace)
	if err == nil && len(found) == 0 {
		err = prompt.ErrFolderShareNotFound
	}
	if err != nil {
		return nil, prompt.FolderShare{}, err
	}
	f, err := s.Folder(ctx, by, found[0].Folder)
	return f, found[0], err
}

// Shares implements ports.PromptFolders.
func (s *Folders) Shares(ctx context.Context, ws identity.WorkspaceID, path string,
	q page.Query) (prompt.FolderSharePage, error) {
	conditions := db.NewConditions(`s.workspace_id = ? AND s.id > ?`, ws, q.After)
	conditions.When(path != "", `substr(CAST(? AS TEXT), 1, length(s.folder_key) + 1) = s.folder_key || '/'`,
		prompt.NameKey(path)+"/")
	found, err := s.db.folderShares(ctx, conditions.SQL()+` ORDER BY s.id LIMIT ?`, conditions.Args(q.Limit+1)...)
	if err != nil {
		return prompt.FolderSharePage{}, err
	}
	return page.Cut(found, q.Limit, func(s prompt.FolderShare) string { return string(s.ID) }), nil
}

// Reshares implements ports.PromptFolders.
func (s *Folders) Reshares(ctx context.Context, by identity.Actor, previous, next string) (bool, error) {
	var one int
	return s.db.Get(ctx, &one, `SELECT 1 FROM prompt_folder_shares f WHERE f.workspace_id = ?
		AND (f.expires_at = 0 OR f.expires_at > ?) AND (`+db.FolderShareReaches(`CAST(? AS TEXT)`)+`) <> (`+
		db.FolderShareReaches(`CAST(? AS TEXT)`)+`) LIMIT 1`,
		by.Workspace, db.Micros(by.At), prompt.NameKey(previous), prompt.NameKey(next))
}

type folderShareRow struct {
	ID     prompt.FolderShareID `db:"id"`
	Folder string               `db:"folder"`
	shareRow
}

func (store *Store) folderShares(ctx context.Context, condition string, args ...any) ([]prompt.FolderShare, error) {
	var rows []folderShareRow
	err := store.List(ctx, &rows, `SELECT s.id, s.folder, `+shareColumns+` FROM prompt_folder_shares s
		LEFT JOIN users u ON u.id = s.user_id LEFT JOIN user_groups g ON g.id = s.user_id WHERE `+condition, args...)
	found := make([]prompt.FolderShare, len(rows))
	for i := range rows {
		found[i] = prompt.FolderShare{ID: rows[i].ID, Folder: rows[i].Folder, Share: rows[i].share()}
	}
	return found, err
}

// saveFolder writes a folder's changed shares. It clears the caches of callers, which hold memberships.grouped.
func (store *Store) saveFolder(ctx context.Context, f *prompt.SharedFolder) error {
	for _, s := range f.Changed {
		if err := store.saveFolderShare(ctx, f.Workspace, s); err != nil {
			return err
		}
		if err := store.Record(ctx, f.RecordedAt(s.Revision, string(s.ID))); err != nil {
			return err
		}
	}
	if len(f.Changed) > 0 {
		store.Forget()
	}
	return nil
}

// saveFolderShare writes a share, or removes one that gives no access.
func (store *Store) saveFolderShare(ctx context.Context, ws identity.WorkspaceID, s prompt.FolderShare) error {
	if s.Role == access.None {
		if _, err := store.Exec(ctx, `DELETE FROM prompt_folder_shares WHERE id = ?`, s.ID); err != nil {
			return err
		}
		return store.Ungroup(ctx, ws, s.User)
	}
	if _, err := store.Exec(ctx, `
		INSERT INTO prompt_folder_shares (id, workspace_id, folder, folder_key, user_id, access, expires_at, granted_by,
		revision, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (workspace_id, user_id, folder_key) DO UPDATE SET id = excluded.id, access = excluded.access,
			expires_at = excluded.expires_at, granted_by = excluded.granted_by, revision = excluded.revision,
			created_at = excluded.created_at, updated_at = excluded.updated_at`,
		s.ID, ws, s.Folder, prompt.NameKey(s.Folder), s.User, s.Role, db.Micros(s.ExpiresAt), s.GrantedBy, s.Revision,
		db.Micros(s.CreatedAt), db.Micros(s.UpdatedAt)); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `UPDATE memberships SET grouped = TRUE WHERE workspace_id = ? AND user_id = ?`, ws, s.User)
	return err
}
