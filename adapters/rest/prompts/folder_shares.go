package prompts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func folderShareID(r *server.Call) prompt.FolderShareID {
	return server.PathID[prompt.FolderShareID](r, "folder_share_id", prompt.FolderSharePrefix)
}

func listFolderShares(r *server.Call) (server.Reply, error) {
	return server.List(r, toFolderShare, func(q page.Query) (prompt.FolderSharePage, error) {
		return r.Prompts.FolderShares(r.Context(), r.By, r.Query.Get("folder"), q)
	})
}

func listInheritedShares(r *server.Call) (server.Reply, error) {
	return server.List(r, toFolderShare, func(q page.Query) (prompt.FolderSharePage, error) {
		return r.Prompts.InheritedShares(r.Context(), r.By, promptID(r), q)
	})
}

func createFolderShare(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.FolderShareCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	s, err := r.Prompts.ShareFolder(r.Context(), r.By, in.Folder, prompt.Grant{
		User:      identity.UserID(in.UserID),
		Email:     in.Email,
		Role:      access.Parse(string(in.Role)),
		ExpiresAt: time.Time(in.ExpiresAt),
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.Created(
			"/api/prompt-templates/folders/shares/"+string(s.ID), toFolderShare(&s),
		).WithRevision(s.Revision),
		nil
}

func getFolderShare(r *server.Call) (server.Reply, error) {
	s, err := r.Prompts.FolderShare(r.Context(), r.By, folderShareID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toFolderShare(&s)).WithRevision(s.Revision), nil
}

func updateFolderShare(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.SharePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	s, err := r.Prompts.ChangeFolderShare(r.Context(), r.By, folderShareID(r), r.Match, shareChanges(in))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toFolderShare(&s)).WithRevision(s.Revision), nil
}

func deleteFolderShare(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Prompts.UnshareFolder(r.Context(), r.By, folderShareID(r), r.Match)
}
