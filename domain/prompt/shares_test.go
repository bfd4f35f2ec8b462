package prompt_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSetShare(t *testing.T) {
	end := now.Add(time.Hour)
	for _, tt := range []struct {
		name   string
		by     identity.Actor
		user   identity.UserID
		role   access.Role
		ends   time.Time
		action prompt.ShareAction
		want   error
	}{
		{"a new share", manager, "sam", access.Editor, end, prompt.ShareAdded, nil},
		{"another role", manager, "vic", access.Editor, time.Time{}, prompt.ShareUpdated, nil},
		{"another end", manager, "vic", access.Viewer, end, prompt.ShareUpdated, nil},
		{"what it is already", manager, "vic", access.Viewer, time.Time{}, prompt.ShareUnchanged, nil},
		{"a share that has expired", manager, "exp", access.Viewer, time.Time{}, prompt.ShareAdded, nil},
		{"none any more", manager, "vic", access.None, time.Time{}, prompt.ShareRemoved, nil},
		{"none, as before", manager, "sam", access.None, time.Time{}, prompt.ShareUnchanged, nil},
		{"the owner needs none", manager, "ann", access.Viewer, time.Time{}, "", prompt.ErrOwnerShare},
		{"who is no member gets none", manager, "out", access.Viewer, time.Time{}, "", prompt.ErrUserNotInWorkspace},
		{"an editor may not", editor, "sam", access.Viewer, time.Time{}, "", prompt.ErrForbidden},
		{"not even end their own", editor, "eve", access.None, time.Time{}, "", prompt.ErrForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			got, err := tmpl.SetShare(tt.by, named(tt.user), prompt.Grant{User: tt.user, Role: tt.role,
				ExpiresAt: tt.ends})
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				return
			}
			if got.Action != tt.action || got.Share.User != tt.user || got.Share.Role != tt.role {
				t.Errorf("got %+v, want %s", got, tt.action)
			}
			if isSaved := len(tmpl.ChangedShares) > 0; isSaved != (tt.action != prompt.ShareUnchanged) {
				t.Errorf("to save: %+v", tmpl.ChangedShares)
			}
		})
	}
}

func TestCheckGrants(t *testing.T) {
	err := prompt.CheckGrants(manager, []prompt.Grant{{User: "a"}, {}, {User: "a", ExpiresAt: now}})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) != 2 || f.Fields[0].Pointer != "/changes/1/user_id" ||
		f.Fields[1].Pointer != "/changes/2/expires_at" {
		t.Errorf("CheckGrants = %+v", f)
	}
	assert.ErrorIs(t, prompt.InGrant(3, errBoom), errBoom)
}

var errBoom = errors.New("boom")
