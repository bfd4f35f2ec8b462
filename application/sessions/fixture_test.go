package sessions_test

import (
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

var (
	now       = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	member    = actor("ann", identity.Member)
	system    = identity.System("org", "", "cli", now)
	errOutage = errors.New("the store is away")

	here = account.Workspace{ID: "acme", Org: "org", Slug: "acme-slug"}
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}
