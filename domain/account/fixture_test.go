package account_test

import (
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

var sessionAt = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// browser is the system in the request of a browser.
func browser(now time.Time) identity.Actor {
	by := identity.System("org", "", "sign-in", now)
	by.Request = identity.Request{ID: "req", Address: "192.0.2.1"}
	return by
}

// inWorkspaces is a person in some workspaces of org.
func inWorkspaces(ids ...identity.WorkspaceID) *account.Person {
	p := &account.Person{User: account.User{ID: "ann", Org: "org"}}
	for _, id := range ids {
		w := account.Workspace{ID: id, Org: "org"}
		p.Memberships = append(p.Memberships, account.Membership{Workspace: w, Role: identity.Member})
	}
	return p
}
