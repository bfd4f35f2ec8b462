package presence_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestTogetherAreThoseInOneWorkspace(t *testing.T) {
	in := map[identity.UserID][]identity.WorkspaceID{"ann": {"blue", "red"}, "bob": {"red"}, "carl": {"blue", "green"},
		"dora": {"green"}}
	by := func(user identity.UserID, key identity.KeyID, ws identity.WorkspaceID) identity.Actor {
		return identity.Actor{Org: "org", User: user, Key: key, Workspace: ws}
	}
	for name, tt := range map[string]struct {
		by          identity.Actor
		users, want []identity.UserID
	}{
		"those who are, in the order that they were named in": {by("ann", "", ""),
			[]identity.UserID{"dora", "carl", "bob", "nat"}, []identity.UserID{"carl", "bob"}},
		"in whichever workspace the request is made": {by("ann", "", "red"),
			[]identity.UserID{"carl", "bob"}, []identity.UserID{"carl", "bob"}},
		"by a key, in the workspace of that key": {by("ann", "key", "red"),
			[]identity.UserID{"carl", "bob"}, []identity.UserID{"bob"}},
		"by a key of a workspace that the user has left: no one": {by("dora", "key", "red"),
			[]identity.UserID{"ann", "bob", "carl"}, nil},
		"a user in no workspace is with no one": {by("nat", "", ""), []identity.UserID{"ann", "nat"}, nil},
		"no one, of no users":                   {by("ann", "", ""), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualSlice(t, "together with", presence.Together(tt.by, tt.users, in), tt.want)
		})
	}
}
