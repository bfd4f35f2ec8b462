package account_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var later = now.Add(time.Minute)

// person returns a signed-in user who calls one minute after everything was created. It has no role,
// because only a workspace's members decide that.
func person(user identity.UserID) identity.Actor {
	return identity.Actor{Org: "org", User: user, Ceiling: identity.Owner, At: later,
		Request: identity.Request{ID: "req", Address: "192.0.2.1"}}
}

// keyed returns by with an API key of ws whose ceiling is ceiling.
func keyed(by identity.Actor, ws identity.WorkspaceID, ceiling identity.Role) identity.Actor {
	by.Key, by.Workspace, by.Ceiling = "key", ws, ceiling
	return by
}

// program returns by as the bearer of a service key.
func program(by identity.Actor) identity.Actor {
	by.Service = true
	return by
}

// acme returns a workspace with one member of each role, all by hand, at revision 3. Each membership is
// at revision 5.
func acme() *account.Workspace {
	w := &account.Workspace{
		ID: "acme", Org: "org", Slug: "acme-slug", Name: "Acme", Revision: 3, CreatedAt: now, UpdatedAt: now,
		Members: map[identity.UserID]account.Member{}, Owners: 1,
	}
	for role := identity.Viewer; role <= identity.Owner; role++ {
		user := identity.UserID(role.String())
		w.Members[user] = account.Member{User: user, Role: role, ByHand: role, Revision: 5, CreatedAt: now,
			UpdatedAt: now}
	}
	return w
}

// byRules changes w so that user has only byHand by hand, and the rest of their role by rules.
func byRules(w *account.Workspace, user identity.UserID, byHand identity.Role) *account.Workspace {
	m := w.Members[user]
	if m.ByHand = byHand; m.Role > byHand {
		m.Granted = account.Granted{issuer: m.Role}
	}
	w.Members[user] = m
	return w
}

// second makes user another owner of w.
func second(w *account.Workspace, user identity.UserID) *account.Workspace {
	w.Members[user] = account.Member{User: user, Role: identity.Owner, ByHand: identity.Owner, Revision: 5,
		CreatedAt: now, UpdatedAt: now}
	w.Owners++
	return w
}

// served makes a program a member of w.
func served(w *account.Workspace, role identity.Role) *account.Workspace {
	w.Members["bot"] = account.Member{User: "bot", Service: true, Role: role, ByHand: role, Revision: 5, CreatedAt: now,
		UpdatedAt: now}
	return w
}

// unchanged fails t if w differs from what it was.
func unchanged(t *testing.T, got, want *account.Workspace) {
	t.Helper()
	require.Equal(t, "it changed (-was +is)", cmp.Diff(want, got, cmp.AllowUnexported(event.Log{})), "")
}

// noted fails t unless w recorded exactly one event, with these data, in its own trail.
func noted(t *testing.T, w *account.Workspace, by identity.Actor, kind string, data map[string]any) {
	t.Helper()
	recorded(t, w.Log, by, string(w.ID), kind)
	e := w.Recorded()[0]
	if e.Workspace != w.ID || e.Key != by.Key || e.Request != by.Request {
		t.Errorf("event %+v", e)
	}
	assert.NoDiff(t, "data", cmp.Diff(data, e.Data))
}

// everyRole draws a role from none to owner.
var everyRole = rapid.SampledFrom([]identity.Role{identity.NoRole, identity.Viewer, identity.Member, identity.Admin,
	identity.Owner})
