package account_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestWhatCannotBeUndoneNeedsARecentSession(t *testing.T) {
	for name, tt := range map[string]struct {
		session identity.SessionID
		age     time.Duration
		want    error
	}{
		"a session of ten minutes": {"ses", 10 * time.Minute, nil},
		"an older one":             {"ses", 10*time.Minute + 1, identity.ErrStepUpRequired},
		"no session":               {"", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			by := identity.Actor{
				Org: "org", User: "ann", Workspace: "w1", Role: identity.Owner, Ceiling: identity.Owner, Operator: true,
				At: sessionAt, Session: tt.session, SignedInAt: sessionAt.Add(-tt.age),
			}
			w := account.Workspace{ID: "w1", Org: "org", Members: map[identity.UserID]account.Member{
				"ann": {User: "ann", Role: identity.Owner},
			}}
			if err := w.Delete(by, nil); !errors.Is(err, tt.want) || w.DeletedAt.IsZero() == (tt.want == nil) {
				t.Errorf("Delete: %v, deleted at %v", err, w.DeletedAt)
			}
			a := account.Access{
				User: &account.User{ID: "bob", Org: "org"}, Operators: []identity.UserID{"ann"},
			}
			if err := a.Disable(by, "", false); !errors.Is(err, tt.want) || a.User.Enabled() == (tt.want == nil) {
				t.Errorf("Disable: %v, disabled at %v", err, a.User.DisabledAt)
			}
		})
	}
}
