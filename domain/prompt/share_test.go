package prompt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestShare(t *testing.T) {
	t.Run("a share is what was granted", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		end := now.Add(time.Hour)
		got, err := tmpl.Share(manager, named("sam"), prompt.Grant{Email: "sam@example.com", Role: access.Editor,
			ExpiresAt: end})
		want := prompt.Share{User: "sam", Role: access.Editor, ExpiresAt: end, GrantedBy: "max", Revision: 1,
			CreatedAt: now, UpdatedAt: now}
		if err != nil || got != want || !slices.Equal(tmpl.ChangedShares, []prompt.Share{want}) ||
			tmpl.Access(stranger) != access.Editor {
			t.Fatalf("got %+v, %v", got, err)
		}
		recorded(t, tmpl, manager, "prompt_share.created")
		if data := tmpl.Recorded()[0].Data; data["user_id"] != identity.UserID("sam") || data["role"] != "editor" ||
			tmpl.Revision != 7 {
			t.Errorf("data = %v, revision %d", data, tmpl.Revision)
		}
	})
	grant := func(user identity.UserID, a access.Role) prompt.Grant { return prompt.Grant{User: user, Role: a} }
	for _, tt := range []struct {
		name   string
		by     identity.Actor
		user   identity.UserID
		g      prompt.Grant
		shares int // that there are
		want   error
	}{
		{"a manager may make managers", manager, "sam", grant("sam", access.Manager), 4, nil},
		{"an admin too", admin, "sam", grant("sam", access.Manager), 4, nil},
		{"but no one above themselves", manager, "sam", grant("sam", access.Owner), 4, identity.ErrRoleCeiling},
		{"who is no member gets none", owner, "out", grant("out", access.Viewer), 4, prompt.ErrUserNotInWorkspace},
		{"an unknown address is told the same", owner, "", prompt.Grant{Email: "out@example.com", Role: access.Viewer},
			4, prompt.ErrUserNotInWorkspace},
		{"the owner needs none", manager, "ann", grant("ann", access.Viewer), 4, prompt.ErrOwnerShare},
		{"no one gets two", owner, "vic", grant("vic", access.Editor), 4, prompt.ErrAlreadyShared},
		{"an expired one is replaced", owner, "exp", grant("exp", access.Viewer), 4, nil},
		{"the 200th is the last", owner, "sam", grant("sam", access.Viewer), prompt.MaxShares - 1, nil},
		{"the 201st is one too many", owner, "sam", grant("sam", access.Viewer), prompt.MaxShares,
			prompt.ErrShareLimit},
		{"to replace an expired one is none more", owner, "exp", grant("exp", access.Viewer), prompt.MaxShares, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			previous, _ := sharedTemplate()
			recipient := named(tt.user)
			recipient.Shares = tt.shares
			got, err := tmpl.Share(tt.by, recipient, tt.g)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				unchanged(t, tmpl, previous)
			} else if s := got; !slices.Equal(tmpl.ChangedShares, []prompt.Share{s}) || s.Role != tt.g.Role ||
				!s.ExpiresAt.IsZero() || s.Revision != 1 {
				t.Errorf("share = %+v, to save %+v", s, tmpl.ChangedShares)
			}
		})
	}
	for name, tt := range map[string]struct {
		g    prompt.Grant
		want string
	}{
		"neither user nor address": {prompt.Grant{Role: access.Viewer}, "/user_id required"},
		"both of them": {prompt.Grant{User: "sam", Email: "sam@example.com", Role: access.Viewer},
			"/user_id required"},
		"an end that is now": {prompt.Grant{User: "sam", Role: access.Viewer, ExpiresAt: now},
			"/expires_at in_the_past"},
		"an end that was": {prompt.Grant{User: "sam", Role: access.Viewer, ExpiresAt: now.Add(-time.Hour)},
			"/expires_at in_the_past"},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			previous, _ := sharedTemplate()
			_, err := tmpl.Share(owner, named("sam"), tt.g)
			if got := wrongFields(t, err); !slices.Equal(got, []string{tt.want}) {
				t.Errorf("wrong = %q, want %q", got, tt.want)
			}
			unchanged(t, tmpl, previous)
		})
	}
}

func TestChangeShare(t *testing.T) {
	laterActor := with(owner, func(a *identity.Actor) { a.At = now.Add(time.Minute) })
	t.Run("access and end change, as one revision and one event", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		end := now.Add(time.Hour)
		got, err := tmpl.ChangeShare(laterActor, nil, named("vic"),
			prompt.ShareChanges{Role: new(access.Manager), ExpiresAt: &end})
		if err != nil || !slices.Equal(tmpl.ChangedShares, []prompt.Share{got}) || got.Role != access.Manager ||
			got.ExpiresAt != end || got.Revision != 2 || got.UpdatedAt != laterActor.At {
			t.Fatalf("got %+v, %v", got, err)
		}
		recorded(t, tmpl, laterActor, "prompt_share.updated")
		data := tmpl.Recorded()[0].Data
		if data["user_id"] != identity.UserID("vic") || data["role"] != (event.Change{From: "viewer", To: "manager"}) ||
			data["expires_at"] != (event.Change{From: nil, To: end}) {
			t.Errorf("data = %v", data)
		}
	})
	t.Run("an end can be taken off, of an expired share too", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		_, err := tmpl.ChangeShare(owner, nil, named("exp"), prompt.ShareChanges{ExpiresAt: &time.Time{}})
		if err != nil || tmpl.Access(expired) != access.Manager {
			t.Fatalf("access %q, %v", tmpl.Access(expired), err)
		}
	})
	t.Run("what is sent as it is changes nothing", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		got, err := tmpl.ChangeShare(owner, nil, named("exp"),
			prompt.ShareChanges{Role: new(access.Manager), ExpiresAt: &now})
		if err != nil || got != shares()["exp"] {
			t.Fatalf("got %+v, %v", got, err)
		}
		unchanged(t, tmpl, previous)
	})
	for _, tt := range []struct {
		name string
		by   identity.Actor
		user identity.UserID
		c    prompt.ShareChanges
		want error
	}{
		{"no one grants above themselves", manager, "vic", prompt.ShareChanges{Role: new(access.Owner)},
			identity.ErrRoleCeiling},
		{"a share that is not there", owner, "sam", prompt.ShareChanges{}, prompt.ErrShareNotFound},
		{"is not told to a stranger", stranger, "sam", prompt.ShareChanges{}, prompt.ErrNotFound},
		{"one's own cannot be raised", editor, "eve", prompt.ShareChanges{Role: new(access.Manager)},
			prompt.ErrForbidden},
		{"an end in the past is refused", owner, "vic", prompt.ShareChanges{ExpiresAt: new(now.Add(-1))},
			fault.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			previous, _ := sharedTemplate()
			_, err := tmpl.ChangeShare(tt.by, nil, named(tt.user), tt.c)
			require.ErrorIs(t, err, tt.want)
			unchanged(t, tmpl, previous)
		})
	}
}

func TestUnshare(t *testing.T) {
	for _, tt := range []struct {
		name string
		by   identity.Actor
		user identity.UserID
		want error
	}{
		{"a manager removes a share", manager, "vic", nil},
		{"an expired one too", owner, "exp", nil},
		{"everyone may give up their own", viewer, "vic", nil},
		{"but not with a viewing credential", with(viewer, func(a *identity.Actor) { a.Ceiling = identity.Viewer }),
			"vic", prompt.ErrForbidden},
		{"nor another's", viewer, "eve", prompt.ErrForbidden},
		{"nor may an editor", editor, "vic", prompt.ErrForbidden},
		{"whose share has expired sees nothing to give up", expired, "exp", prompt.ErrNotFound},
		{"a share that is not there", owner, "sam", prompt.ErrShareNotFound},
		{"is not told to a stranger", stranger, "sam", prompt.ErrNotFound},
		{"the owner has none to give up", owner, "ann", prompt.ErrShareNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			previous, _ := sharedTemplate()
			require.ErrorIs(t, tmpl.Unshare(tt.by, nil, named(tt.user)), tt.want)
			if tt.want != nil {
				unchanged(t, tmpl, previous)
				return
			}
			assert.EqualSlice(t, "shares to save", tmpl.ChangedShares, []prompt.Share{{User: tt.user}})
			recorded(t, tmpl, tt.by, "prompt_share.deleted")
		})
	}
}
