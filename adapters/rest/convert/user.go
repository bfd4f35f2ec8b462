package convert

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ToUser returns a user as by may see them.
func ToUser(by identity.Actor, u *account.User) openapi.User {
	return openapi.User{
		ID:                 string(u.ID),
		Email:              openapi.OrNull(u.Email),
		Name:               u.Name,
		Operator:           u.Operator,
		DefaultWorkspaceID: openapi.OrNull(string(u.VisibleDefault(by))),
	}
}
