package sessions_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports/mocks"
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

// noting has the notes that were written, by their types and scopes.
type noting struct {
	*mocks.MockNotes
	written []string
}

func newNoting(c *gomock.Controller) *noting {
	n := &noting{MockNotes: mocks.NewMockNotes(c)}
	n.EXPECT().Note(gomock.Any(), gomock.Any()).Do(func(_ context.Context, one event.Note) {
		n.written = append(n.written, one.Type+" "+strings.Join(one.Scope, " "))
	}).AnyTimes()
	return n
}
