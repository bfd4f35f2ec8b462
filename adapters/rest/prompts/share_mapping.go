package prompts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func toShare(s *prompt.Share) openapi.Share {
	return openapi.Share{
		UserID:    string(s.User),
		Email:     openapi.OrNull(s.Email),
		Name:      s.Name,
		Role:      openapi.ShareRole(s.Role.String()),
		ExpiresAt: convert.OrNullTime(s.ExpiresAt),
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
		ExpiresAt: convert.OrNullTime(s.ExpiresAt),
		GrantedBy: string(s.GrantedBy),
		Revision:  s.Revision,
		CreatedAt: openapi.Time(s.CreatedAt),
		UpdatedAt: openapi.Time(s.UpdatedAt),
	}
}

func toShareGrant(c *openapi.ShareChange) prompt.Grant {
	g := prompt.Grant{User: identity.UserID(c.UserID), Email: c.Email, ExpiresAt: time.Time(c.ExpiresAt)}
	if role, err := c.Role.Get(); err == nil { // null: none
		g.Role = access.Parse(string(role))
	}
	return g
}

func toShareChanged(c *prompt.ShareChanged) openapi.ShareChanged {
	role := openapi.ShareRole("")
	if c.Share.Role != access.None {
		role = openapi.ShareRole(c.Share.Role.String())
	}
	return openapi.ShareChanged{
		UserID:   string(c.Share.User),
		Action:   openapi.ShareAction(c.Action),
		Role:     openapi.OrNull(role),
		Revision: openapi.OrNull(c.Share.Revision),
	}
}
