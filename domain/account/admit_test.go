package account_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAdmit(t *testing.T) {
	system := identity.System("org", "", "cli", now)
	member := func() *account.Workspace { w, _ := account.NewWorkspace(system, nil, "team", ""); return w }
	t.Run("the system makes a person a member, by hand", func(t *testing.T) {
		w := member()
		if err := w.Admit(system, "ann", identity.Admin); err != nil || w.Members["ann"].Role != identity.Admin ||
			w.Members["ann"].ByHand != identity.Admin {
			t.Fatalf("%v, %+v", err, w.Members)
		}
		if last := w.Recorded()[len(w.Recorded())-1]; last.Type != "member.added" || last.Workspace != w.ID {
			t.Errorf("recorded %+v", last)
		}
		assert.ErrorIs(t, w.Admit(system, "ann", identity.Owner), account.ErrAlreadyMember)
	})
	for name, refuses := range map[string]func(*account.Workspace) error{
		"a caller": func(w *account.Workspace) error {
			by := system
			by.User = "ann"
			return w.Admit(by, "bob", identity.Viewer)
		},
		"another org's": func(w *account.Workspace) error {
			return w.Admit(identity.System("other", "", "cli", now), "bob", identity.Viewer)
		},
		"a deleted workspace": func(w *account.Workspace) error {
			w.DeletedAt = now
			return w.Admit(system, "bob", identity.Viewer)
		},
		"no role": func(w *account.Workspace) error { return w.Admit(system, "bob", identity.NoRole) },
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if w := member(); refuses(w) == nil || len(w.Members) != 0 {
				t.Errorf("members %v", w.Members)
			}
		})
	}
}

func TestAppoint(t *testing.T) {
	system := identity.System("org", "", "cli", now)
	u, err := account.NewUser(system, "ann@example.com", "Ann", false)
	require.NoError(t, err)
	by := system
	by.User = u.ID
	if u.Appoint(by, nil) == nil || u.Appoint(identity.System("other", "", "cli", now), nil) == nil || u.Operator {
		t.Error("somebody but the system made an operator")
	}
	if err := u.Appoint(system, nil); err != nil || !u.Operator || len(u.Recorded()) != 2 {
		t.Errorf("%v, %+v", err, u)
	}
	if err := u.Appoint(system, nil); err != nil || len(u.Recorded()) != 2 {
		t.Errorf("again: %v, %d events", err, len(u.Recorded()))
	}
}
