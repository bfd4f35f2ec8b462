package account_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

// leaver returns the member of acme, and of a workspace that was deleted and that no one else owns.
func leaver(operators ...identity.UserID) *account.Leaver {
	w, deletedWorkspace := acme(), acme()
	w.Powers = map[identity.UserID]account.Powers{"member": {Keys: offboardedKeys()}}
	w.Name, w.Slug, w.CreatedBy = "Ann Lee", "ann-lee-2", "member"
	deletedWorkspace.ID, deletedWorkspace.DeletedAt = "deleted", now
	m := deletedWorkspace.Members["member"]
	m.Role = identity.Owner
	deletedWorkspace.Members = map[identity.UserID]account.Member{"member": m}
	return &account.Leaver{
		Access: &account.Access{
			User: &account.User{
				ID: "member", Org: "org", Name: "Ann Lee", Email: "ann@example.com", EmailVerified: true,
				EmailVerifiedBy: "operator", Operator: true, OperatorBy: []string{"https://issuer"}, Revision: 3,
			},
			Operators: operators, MemberOf: []identity.WorkspaceID{"acme", "deleted"},
		},
		Workspaces: []*account.Workspace{w, deletedWorkspace},
		KnownAs:    []string{"subject-1", "Ann Lee", ""},
	}
}

func TestErase(t *testing.T) {
	t.Run("nothing that names the person stays, and what they can do ends", func(t *testing.T) {
		l := leaver("boss")
		e, err := l.Erase(operator(person("boss")))
		require.NoError(t, err)
		u := l.User
		if u.Name != "" || u.Email != "" || u.EmailVerified || u.EmailVerifiedBy != "" || u.Operator ||
			u.OperatorBy != nil || u.Enabled() || u.ErasedAt != later {
			t.Errorf("the user is %+v", u)
		}
		for _, w := range l.Workspaces {
			if w.Members["member"].Role != identity.NoRole {
				t.Errorf("the person is %s of %s", w.Members["member"].Role, w.ID)
			}
		}
		if got := endedKeys(l.Workspaces[0].Powers["member"].Keys); len(got) != 3 {
			t.Errorf("ended %q", got)
		}
		if w := l.Workspaces[0]; w.Name == "Ann Lee" || strings.Contains(w.Slug, "ann") {
			t.Errorf("the personal workspace has the name of the person: %s, %s", w.Name, w.Slug)
		}
		if want := []string{"Ann Lee", "ann-lee", "ann@example.com", "subject-1"}; !slices.Equal(e.Terms, want) ||
			e.User != "member" || e.RequestedBy != "boss" || e.Report.Memberships != 2 || e.Report.Keys != 3 {
			t.Errorf("the erasure is %+v", e)
		}
		if got := u.Recorded(); len(got) != 2 || got[0].Type != "user.erased" || len(got[0].Data) > 0 {
			t.Errorf("recorded %+v", got)
		}
	})
	t.Run("a person cannot leave a workspace without an owner", func(t *testing.T) {
		l := leaver("boss")
		w := l.Workspaces[0]
		w.Members["member"] = account.Member{User: "member", Role: identity.Owner}
		_, err := l.Erase(operator(person("boss")))
		f := new(fault.Error)
		if !errors.As(err, &f) || f.Code != "only_owner" || !strings.Contains(f.Detail, w.Slug) {
			t.Errorf("the error is %v", err)
		}
		if l.User.Erased() || w.Members["member"].Role != identity.Owner {
			t.Error("it was erased")
		}
	})
	stale := operator(person("boss"))
	stale.Session, stale.SignedInAt = "ses", now.Add(-identity.StepUpWithin)
	erasedLeaver := leaver("boss")
	erasedLeaver.User.ErasedAt = now
	service := leaver("boss")
	service.User.Service = true
	for name, tt := range map[string]struct {
		l    *account.Leaver
		by   identity.Actor
		want error
	}{
		"the system can":                         {leaver(), identity.System("org", "", "cli", later), nil},
		"a person who is no operator cannot":     {leaver("boss"), person("boss"), identity.ErrForbidden},
		"an operator of before cannot":           {leaver("other"), operator(person("boss")), identity.ErrForbidden},
		"an old session cannot":                  {leaver("boss"), stale, identity.ErrStepUpRequired},
		"the last operator cannot, themselves":   {leaver("member"), operator(person("member")), account.ErrLastOperator},
		"an erased person is not found":          {erasedLeaver, operator(person("boss")), account.ErrUserNotFound},
		"the user of a service key is no person": {service, operator(person("boss")), account.ErrUserNotFound},
		"a person of another org is not found": {leaver("boss"), identity.System("other", "", "cli", later),
			account.ErrUserNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.l.Erase(tt.by)
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("an erased person can neither be enabled nor made an operator", func(t *testing.T) {
		require.ErrorIs(t, erasedLeaver.Enable(operator(person("boss")), ""), account.ErrUserNotFound)
		require.ErrorIs(t, erasedLeaver.Disable(operator(person("boss")), "", false), account.ErrUserNotFound)
		require.ErrorIs(t, erasedLeaver.SetOperator(operator(person("boss")), true), account.ErrUserNotFound)
	})
}

func TestTokensFromBeforeAnErasureOpenNoAccount(t *testing.T) {
	for name, tt := range map[string]struct {
		issued time.Time
		want   error
	}{
		"a token from before": {now.Add(-time.Minute), identity.ErrUnauthenticated},
		"of the same second":  {now, identity.ErrUnauthenticated},
		"without a time":      {time.Time{}, identity.ErrUnauthenticated},
		"a newer one":         {now.Add(time.Second), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &account.SignIn{
				Claims: account.Claims{Issuer: "https://issuer", Subject: "s", IssuedAt: tt.issued},
				Org:    &identity.Org{ID: "org", SignUp: identity.SignUpOpen}, ErasedAt: now,
			}
			require.ErrorIs(t, s.Settle(identity.System("org", "", "sign-in", later)), tt.want)
		})
	}
}
