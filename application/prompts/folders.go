package prompts

import (
	"context"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

const (
	// MaxOutlined is the maximum number of templates that Folders and Tags read.
	MaxOutlined = 10_000
	// MaxMoved is the maximum number of templates that one MoveFolder moves.
	MaxMoved = 200
)

// ErrFolderTooLarge is the error of MoveFolder if the folder has more than MaxMoved templates.
var ErrFolderTooLarge = &fault.Error{Kind: fault.Conflict, Code: "folder_too_large",
	Detail: "The folder has more than 200 templates. Move its subfolders one after another."}

// Folders returns the folders directly below parent that have templates which by sees. complete is false if there are
// more than MaxOutlined templates, and only the first were counted.
func (s *Service) Folders(ctx context.Context, by identity.Actor, parent string) (
	folders []prompt.Folder, complete bool, err error) {
	entries, complete, err := s.outline(ctx, by, parent)
	return prompt.Folders(entries, parent), complete, err
}

// Tags returns the tags of the templates that by sees. complete is as for Folders.
func (s *Service) Tags(ctx context.Context, by identity.Actor) (tags []prompt.Tag, complete bool, err error) {
	entries, complete, err := s.outline(ctx, by, "")
	return prompt.Tags(entries), complete, err
}

func (s *Service) outline(ctx context.Context, by identity.Actor, folder string) ([]prompt.Entry, bool, error) {
	entries, err := s.lists.Outline(ctx, by, folder, MaxOutlined+1)
	return entries[:min(len(entries), MaxOutlined)], len(entries) <= MaxOutlined, err
}

// MoveFolder renames every template in a folder that by sees, all or none, and returns how many. Requires the editor
// role on each, and the manager role if the folders are shared with different people.
func (s *Service) MoveFolder(ctx context.Context, by identity.Actor, from, to string) (int, error) {
	return addWithinQuotas(ctx, s, by, func(tx ports.Stores) (int, []quota.Kind, error) {
		entries, err := tx.PromptLists.Outline(ctx, by, strings.TrimSuffix(from, "/"), MaxMoved+1)
		if err != nil {
			return 0, nil, err
		}
		if len(entries) > MaxMoved {
			return 0, nil, ErrFolderTooLarge
		}
		moves, err := prompt.Moves(entries, from, to)
		if err == nil && len(moves) == 0 {
			err = checkTarget(ctx, tx, by, to)
		}
		if err != nil {
			return 0, nil, err
		}
		for _, e := range moves {
			var folder string
			t, err := tx.Prompts.Update(ctx, by, e.ID, func(t *prompt.Template) error {
				folder = t.Name
				return t.Change(by, nil, prompt.Changes{Name: &e.Name}, prompt.Recipient{})
			})
			if err == nil {
				err = mayMove(ctx, tx, by, folder, t)
			}
			if err != nil {
				return 0, nil, err
			}
		}
		return len(moves), []quota.Kind{quota.StorageBytes}, nil
	})
}

// checkTarget returns an error unless the caller sees templates in the target: then an earlier call, which the caller
// repeats, can have moved the folder without templates there.
func checkTarget(ctx context.Context, tx ports.Stores, by identity.Actor, target string) error {
	entries, err := tx.PromptLists.Outline(ctx, by, strings.TrimSuffix(target, "/"), 1)
	if err == nil && len(entries) == 0 {
		err = prompt.ErrNothingToMove
	}
	return err
}
