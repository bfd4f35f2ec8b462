package account_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestARefusedKeyIsNotedWithItsReason(t *testing.T) {
	by := identity.Actor{Org: "org", User: "ann", At: now}
	for want, p := range map[account.KeyRefusal]account.Principal{
		account.KeyRevoked:      {Key: account.Key{RevokedAt: now, ExpiresAt: now.Add(-time.Hour)}},
		account.KeyExpired:      {Key: account.Key{ExpiresAt: now}},
		account.KeySuspended:    {Key: account.Key{SuspendedAt: now, ExpiresAt: now.Add(time.Hour)}},
		account.KeyUserDisabled: {User: account.User{DisabledAt: now}},
		account.KeyNotPermitted: {},
	} {
		t.Run(string(want), func(t *testing.T) {
			p.Key.ID, p.Key.Hint, p.Key.Workspace = "key_1", "x3Jq", "w1"
			assert.Equal(t, "reason", p.Refusal(by), want)
			n := p.Refused(by)
			if n.Subject != "key_1" || n.Data["hint"] != "x3Jq" || n.Data["reason"] != string(want) ||
				len(n.Workspaces) != 1 || n.Workspaces[0] != "w1" ||
				!n.Until.Equal(now.Truncate(time.Hour).Add(time.Hour)) {
				t.Errorf("%+v", n)
			}
		})
	}
}
