package rest

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func folderShareID(r *request) prompt.FolderShareID {
	return pathID[prompt.FolderShareID](r, "folder_share_id", prompt.FolderSharePrefix)
}

func listFolderShares(r *request) (reply, error) {
	return listing(r, toFolderShare, func(q page.Query) (prompt.FolderSharePage, error) {
		return r.Prompts.FolderShares(r.Context(), r.by, r.query.Get("folder"), q)
	})
}

func listInheritedShares(r *request) (reply, error) {
	return listing(r, toFolderShare, func(q page.Query) (prompt.FolderSharePage, error) {
		return r.Prompts.InheritedShares(r.Context(), r.by, promptID(r), q)
	})
}

func createFolderShare(r *request) (reply, error) {
	in, err := decode[openapi.FolderShareCreate](r)
	if err != nil {
		return reply{}, err
	}
	s, err := r.Prompts.ShareFolder(r.Context(), r.by, in.Folder, prompt.Grant{
		User:      identity.UserID(in.UserID),
		Email:     in.Email,
		Role:      access.Parse(string(in.Role)),
		ExpiresAt: time.Time(in.ExpiresAt),
	})
	if err != nil {
		return reply{}, err
	}
	return created("/api/prompt-templates/folders/shares/"+string(s.ID), toFolderShare(&s)).withRevision(s.Revision),
		nil
}

func getFolderShare(r *request) (reply, error) {
	s, err := r.Prompts.FolderShare(r.Context(), r.by, folderShareID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toFolderShare(&s)).withRevision(s.Revision), nil
}

func updateFolderShare(r *request) (reply, error) {
	in, err := decode[openapi.SharePatch](r)
	if err != nil {
		return reply{}, err
	}
	s, err := r.Prompts.ChangeFolderShare(r.Context(), r.by, folderShareID(r), r.match, shareChanges(in))
	if err != nil {
		return reply{}, err
	}
	return ok(toFolderShare(&s)).withRevision(s.Revision), nil
}

func deleteFolderShare(r *request) (reply, error) {
	return noContent, r.Prompts.UnshareFolder(r.Context(), r.by, folderShareID(r), r.match)
}
