package prompts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
)

// FolderShares lists the shares in a folder and its parents. The empty path lists the shares of the whole workspace,
// which requires the admin role.
func (s *Service) FolderShares(ctx context.Context, by identity.Actor, path string,
	q page.Query) (prompt.FolderSharePage, error) {
	path = prompt.FolderPath(path)
	f, err := s.folders.Folder(ctx, by, path)
	if err != nil {
		return prompt.FolderSharePage{}, err
	}
	if err := f.Allow(by); err != nil {
		return prompt.FolderSharePage{}, err
	}
	return s.folders.Shares(ctx, by.Workspace, path, q)
}

// InheritedShares lists the shares of folders that give access to a template.
func (s *Service) InheritedShares(ctx context.Context, by identity.Actor, id prompt.ID,
	q page.Query) (prompt.FolderSharePage, error) {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return prompt.FolderSharePage{}, err
	}
	if err := t.Allow(by, access.Manager); err != nil {
		return prompt.FolderSharePage{}, err
	}
	folder := prompt.FolderOf(t.Name)
	if folder == "" {
		return prompt.FolderSharePage{}, nil
	}
	return s.folders.Shares(ctx, by.Workspace, folder, q)
}

// FolderShare returns a folder share. Every user may read their own.
func (s *Service) FolderShare(ctx context.Context, by identity.Actor, id prompt.FolderShareID) (prompt.FolderShare,
	error) {
	f, share, err := s.folders.Share(ctx, by, id)
	if err == nil && !f.Shows(by, share) {
		err = prompt.ErrFolderShareNotFound
	}
	if err != nil {
		return prompt.FolderShare{}, err
	}
	return share, nil
}

// ShareFolder gives a member or a group of the workspace access to all templates in a folder.
func (s *Service) ShareFolder(ctx context.Context, by identity.Actor, path string, g prompt.Grant) (
	share prompt.FolderShare, err error) {
	user, err := s.grantee(ctx, by, g)
	if err != nil {
		return share, err
	}
	err = s.folders.Update(ctx, by, prompt.FolderPath(path), user,
		func(f *prompt.SharedFolder, recipient prompt.Recipient, existing *prompt.FolderShare) (err error) {
			share, err = f.Share(by, recipient, existing, g)
			return err
		})
	return share, err
}

// ChangeFolderShare changes a folder share.
func (s *Service) ChangeFolderShare(ctx context.Context, by identity.Actor, id prompt.FolderShareID,
	match revision.Match,
	c prompt.ShareChanges) (share prompt.FolderShare, err error) {
	err = s.folders.UpdateShare(ctx, by, id, func(f *prompt.SharedFolder, current prompt.FolderShare) (err error) {
		share, err = f.ChangeShare(by, match, current, c)
		return err
	})
	return share, err
}

// UnshareFolder removes a folder share.
func (s *Service) UnshareFolder(ctx context.Context, by identity.Actor, id prompt.FolderShareID,
	match revision.Match) error {
	return s.folders.UpdateShare(ctx, by, id, func(f *prompt.SharedFolder, share prompt.FolderShare) error {
		return f.Unshare(by, match, share)
	})
}

// mayMove returns nil if by may give t, which was stored under the name before, the name that it has now.
func mayMove(ctx context.Context, tx ports.Stores, by identity.Actor, previous string, t *prompt.Template) error {
	if prompt.NameKey(prompt.FolderOf(previous)) == prompt.NameKey(prompt.FolderOf(t.Name)) {
		return nil
	}
	reshares, err := tx.PromptFolders.Reshares(ctx, by, previous, t.Name)
	if err != nil || !reshares {
		return err
	}
	return t.AllowReshare(by)
}
