package account_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestRefusalsAreNotedOnceAnHourForEachReasonAndWorkspace(t *testing.T) {
	by := identity.System("org", "", "scim", time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC))
	directory := func(resource account.DirectoryResource, code string, status int, ws identity.WorkspaceID) event.Note {
		r := account.NewDirectoryRequest(by, account.DirectoryRequest{Resource: resource, Code: code, Status: status})
		return r.Refused(by, ws)
	}
	first := directory(account.DirectoryUserResource, "uniqueness", 409, "w1")
	assert.Equal(t, "until", first.Until, time.Date(2026, 3, 14, 16, 0, 0, 0, time.UTC))
	stranger := account.RefusedSignIn(by, "w1", "https://issuer", "sign_up_closed")
	for name, tt := range map[string]struct {
		first, second event.Note
		isEqual       bool
	}{
		"the same refusal":       {first, directory(account.DirectoryUserResource, "uniqueness", 409, "w1"), true},
		"another workspace":      {first, directory(account.DirectoryUserResource, "uniqueness", 409, "w2"), false},
		"another resource":       {first, directory(account.DirectoryGroupResource, "uniqueness", 409, "w1"), false},
		"another reason":         {first, directory(account.DirectoryUserResource, "invalidValue", 400, "w1"), false},
		"without a scimType":     {first, directory(account.DirectoryUserResource, "", 500, "w1"), false},
		"the same stranger":      {stranger, account.RefusedSignIn(by, "w1", "https://issuer", "sign_up_closed"), true},
		"at another issuer":      {stranger, account.RefusedSignIn(by, "w1", "https://other", "sign_up_closed"), false},
		"without a needed claim": {stranger, account.RefusedSignIn(by, "w1", "https://issuer", "missing"), false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []event.Note{tt.first, tt.second} {
				assert.Equal(t, "leads to an event", n.IsRecordable(), true)
				assert.Equal(t, "its subject", n.Subject, string(n.Workspaces[0]))
			}
			assert.Equal(t, "equal", tt.first.Key() == tt.second.Key(), tt.isEqual)
		})
	}
	for status, reason := range map[int]string{500: "500", 412: "412"} {
		n := directory(account.DirectoryUserResource, "", status, "w1")
		assert.Equal(t, "the reason", n.Data["reason"], any(reason))
	}
	for _, status := range []int{200, 404} {
		n := directory(account.DirectoryUserResource, "", status, "w1")
		assert.Equal(t, "leads to an event", n.IsRecordable(), false)
	}
}
