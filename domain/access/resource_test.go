package access_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	errNotFound  = &fault.Error{Kind: fault.NotFound, Code: "thing_not_found"}
	errForbidden = &fault.Error{Kind: fault.Forbidden, Code: "thing_forbidden", Detail: "No."}

	thing = access.Object{ID: "thg", Name: "Thing", Kind: &access.Kind{
		Noun: "thing", NotFound: errNotFound, Forbidden: errForbidden, Deleted: "thing.deleted",
		Restored: "thing.restored", Transferred: "thing.transferred",
	}}

	owner    = actor("ann", identity.Member)
	manager  = actor("max", identity.Member)
	viewer   = actor("vic", identity.Member)
	stranger = actor("sam", identity.Member)
	admin    = actor("ada", identity.Admin)
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

// made returns ann's resource, with a manager and a viewer.
func made() *access.Resource {
	r := access.NewResource(owner, "")
	r.Grants = access.Grants{{User: "max", Role: access.Manager}, {User: "vic", Role: access.Viewer}}
	return &r
}

// recorded fails t unless r recorded exactly these events.
func recorded(t *testing.T, r *access.Resource, types ...string) {
	t.Helper()
	var got []string
	for _, e := range r.Recorded() {
		got = append(got, e.Type)
	}
	assert.EqualSlice(t, "recorded", got, types)
}

func TestNewResource(t *testing.T) {
	r := access.NewResource(owner, "")
	if r.Visibility != access.Private || r.Owner != "ann" || r.Workspace != "acme" || r.Revision != 1 ||
		r.CreatedBy != "ann" || r.CreatedAt != now || r.UpdatedAt != now {
		t.Errorf("got %+v", r)
	}
	if access.NewResource(owner, access.Workspace).Visibility != access.Workspace {
		t.Error("a visibility that is given is lost")
	}
}

func TestRequire(t *testing.T) {
	readOnly := owner
	readOnly.Ceiling = identity.Viewer
	for name, tt := range map[string]struct {
		by     identity.Actor
		need   access.Role
		want   error
		detail string
	}{
		"a role that is enough": {manager, access.Editor, nil, ""},
		"a lower one names the required": {viewer, access.Manager, errForbidden,
			"Requires the manager role on the thing."},
		"a read-only credential":    {readOnly, access.Editor, errForbidden, "This credential is read-only."},
		"a stranger learns nothing": {stranger, access.Viewer, errNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := made().Require(tt.by, thing.Kind, tt.need)
			require.ErrorIs(t, err, tt.want)
			if tt.detail != "" && err.Error() != tt.detail {
				t.Errorf("detail = %q, want %q", err, tt.detail)
			}
		})
	}
	t.Run("a deleted resource does not exist for anyone", func(t *testing.T) {
		r := made()
		r.DeletedAt = now
		require.ErrorIs(t, r.Require(owner, thing.Kind, access.Viewer), errNotFound)
	})
}

func TestDelete(t *testing.T) {
	r := made()
	require.ErrorIs(t, r.Delete(manager, thing, nil), errForbidden)
	require.ErrorIs(t, r.Delete(stranger, thing, nil), errNotFound)
	require.ErrorIs(t, r.Delete(owner, thing, revision.Match{9}), revision.ErrMismatch)
	recorded(t, r)
	require.NoError(t, r.Delete(owner, thing, revision.Match{1}))
	if r.DeletedAt != now || r.Revision != 2 {
		t.Errorf("deleted at %v, revision %d", r.DeletedAt, r.Revision)
	}
	recorded(t, r, "thing.deleted")
}

func TestRestore(t *testing.T) {
	resourceAt := func(ago time.Duration) *access.Resource {
		r := made()
		r.DeletedAt = now.Add(-ago)
		return r
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		ago  time.Duration
		want error
	}{
		"its owner restores it":                {owner, access.RestoreWithin, nil},
		"an admin of the workspace, too":       {admin, time.Hour, nil},
		"not after the period":                 {owner, access.RestoreWithin + 1, errNotFound},
		"for a manager it does not exist":      {manager, time.Hour, errNotFound},
		"for a stranger it does not exist":     {stranger, time.Hour, errNotFound},
		"a live one stays as it is":            {owner, 0, nil},
		"a live one cannot be restored by all": {manager, 0, errForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			r := made()
			if tt.ago > 0 {
				r = resourceAt(tt.ago)
			}
			require.ErrorIs(t, r.Restore(tt.by, thing), tt.want)
			if tt.want == nil && !r.DeletedAt.IsZero() {
				t.Errorf("deleted at %v", r.DeletedAt)
			}
			if tt.want == nil && tt.ago > 0 {
				recorded(t, r, "thing.restored")
			} else {
				recorded(t, r)
			}
		})
	}
}

func TestTransfer(t *testing.T) {
	r := made()
	if previous := r.Transfer(owner, thing, "sam"); previous != "ann" || r.Owner != "sam" ||
		r.Access(owner) != access.Manager || r.Access(stranger) != access.Owner {
		t.Errorf("before %q, owner %q, the old one is %s", previous, r.Owner, r.Access(owner))
	}
	recorded(t, r, "thing.transferred")
	rest := made()
	rest.OwnerLeft = true
	if previous := rest.Transfer(owner, thing, "sam"); previous != "" || rest.OwnerLeft ||
		rest.Access(owner) != access.None {
		t.Errorf("before %q, the old one is %s", previous, rest.Access(owner))
	}
}
