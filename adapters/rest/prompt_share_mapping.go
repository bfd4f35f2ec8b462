package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func toShare(s *prompt.Share) openapi.Share {
	return openapi.Share{
		UserID:    string(s.User),
		Email:     openapi.OrNull(s.Email),
		Name:      s.Name,
		Role:      openapi.ShareRole(s.Role.String()),
		ExpiresAt: orNullTime(s.ExpiresAt),
		GrantedBy: string(s.GrantedBy),
		Revision:  s.Revision,
		CreatedAt: openapi.Time(s.CreatedAt),
		UpdatedAt: openapi.Time(s.UpdatedAt),
	}
}

func toFolderShare(s *prompt.FolderShare) openapi.FolderShare {
	return openapi.FolderShare{
		ID:        string(s.ID),
		Folder:    s.Folder,
		UserID:    string(s.User),
		Email:     openapi.OrNull(s.Email),
		Name:      s.Name,
		Role:      openapi.ShareRole(s.Role.String()),
		ExpiresAt: orNullTime(s.ExpiresAt),
		GrantedBy: string(s.GrantedBy),
		Revision:  s.Revision,
		CreatedAt: openapi.Time(s.CreatedAt),
		UpdatedAt: openapi.Time(s.UpdatedAt),
	}
}
