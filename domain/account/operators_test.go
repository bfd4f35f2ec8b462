package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestOperatorRights(t *testing.T) {
	operator := actor("opa", identity.Owner)
	operator.Operator, operator.Ceiling = true, identity.Owner
	small := operator
	small.Ceiling = identity.Admin
	stale := operator
	stale.Session, stale.SignedInAt = "ses_1", now.Add(-time.Hour)
	system := identity.System("org", "", "cli", now)
	for name, tt := range map[string]struct {
		by        identity.Actor
		user      account.User
		operators []identity.UserID
		operator  bool // what is asked for
		want      error
		is        bool // an operator afterwards
		events    int
	}{
		"an operator appoints another": {operator, account.User{}, []identity.UserID{"opa"}, true, nil, true, 2},
		"who already is one stays one": {operator, account.User{Operator: true, OperatorByHand: true},
			[]identity.UserID{"ann", "opa"}, true, nil, true, 0},
		"an operator takes the right back": {operator, account.User{Operator: true, OperatorByHand: true},
			[]identity.UserID{"ann", "opa"}, false, nil, false, 2},
		"who is none stays none": {operator, account.User{}, []identity.UserID{"opa"}, false, nil, false, 0},
		"the system takes back the last one": {system, account.User{Operator: true, OperatorByHand: true},
			[]identity.UserID{"ann"}, false, nil, false, 2},
		"claim rules cannot be overruled": {operator, account.User{Operator: true, OperatorByHand: true,
			OperatorBy: []string{"https://login.example"}}, []identity.UserID{"ann", "opa"}, false,
			account.ErrOperatorByRules, true, 0},
		"the last operator stays one": {operator, account.User{ID: "opa", Operator: true, OperatorByHand: true},
			[]identity.UserID{"opa"}, false, account.ErrLastOperator, true, 0},
		"a member appoints nobody": {actor("bob", identity.Owner), account.User{}, []identity.UserID{"opa"}, true,
			identity.ErrForbidden, false, 0},
		"a weak credential appoints nobody": {small, account.User{}, []identity.UserID{"opa"}, true,
			identity.ErrForbidden, false, 0},
		"an old session appoints nobody": {stale, account.User{}, []identity.UserID{"opa"}, true,
			identity.ErrStepUpRequired, false, 0},
		"an old session takes the right back": {stale, account.User{Operator: true, OperatorByHand: true},
			[]identity.UserID{"ann", "opa"}, false, nil, false, 2},
		"the bearer of a service key is no person": {operator, account.User{Service: true}, []identity.UserID{"opa"},
			true, account.ErrUserNotFound, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := tt.user
			if u.Org = "org"; u.ID == "" {
				u.ID = "ann"
			}
			a := &account.Access{User: &u, Operators: tt.operators, MemberOf: []identity.WorkspaceID{"one", "two"}}
			require.ErrorIs(t, a.SetOperator(tt.by, tt.operator), tt.want)
			if u.Operator != tt.is || len(u.Recorded()) != tt.events {
				t.Errorf("operator %v, recorded %v", u.Operator, u.Recorded())
			}
		})
	}
}

// TestAChangeOfAUserLeavesFewEvents renames a person who is in many workspaces.
func TestAChangeOfAUserLeavesFewEvents(t *testing.T) {
	var in []account.Membership
	for i := range 10_000 {
		ws := identity.WorkspaceID(fmt.Sprintf("wsp_%05d", i))
		in = append(in, account.Membership{Workspace: account.Workspace{ID: ws}, Role: identity.Member})
	}
	u := &account.User{ID: "ann", Org: "org", Revision: 1}
	name := "Ann"
	require.NoError(t, u.Change(actor("ann", identity.Owner), nil, in, account.UserChanges{Name: &name}))
	events := u.Recorded()
	if len(events) != 20 || events[0].Workspace != "wsp_09980" || events[19].Workspace != "wsp_09999" {
		t.Errorf("%d events, the first in %s", len(events), events[0].Workspace)
	}
}
