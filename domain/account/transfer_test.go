package account_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

func TestTransfer(t *testing.T) {
	workspace := func() *account.Workspace {
		w := &account.Workspace{ID: "w1", Org: "org", Revision: 4, Members: map[identity.UserID]account.Member{}}
		for user, role := range map[identity.UserID]identity.Role{
			"ann": identity.Owner, "bob": identity.Member, "eve": identity.Admin, "program": identity.Member,
		} {
			w.Members[user] = account.Member{
				User: user, Role: role, ByHand: role, Revision: 1, Service: user == "program",
			}
		}
		w.Owners = 1
		return w
	}
	ann := identity.Actor{Org: "org", User: "ann", Ceiling: identity.Owner, At: sessionAt}
	t.Run("the member is the owner, and the caller an admin", func(t *testing.T) {
		w := workspace()
		m, err := w.Transfer(ann, revision.Match{4}, "bob", false)
		if err != nil || m.User != "bob" || m.Role != identity.Owner || w.Members["ann"].Role != identity.Admin ||
			w.Owners != 1 || w.Revision != 5 {
			t.Fatalf("%+v, %+v, %v", m, w, err)
		}
		var kinds []string
		for _, e := range w.Recorded() {
			kinds = append(kinds, e.Type)
		}
		last := w.Recorded()[len(kinds)-1]
		if len(kinds) != 3 || kinds[0] != "member.updated" || kinds[1] != "member.updated" ||
			last.Type != "workspace.transferred" || last.Data["to"] != identity.UserID("bob") {
			t.Errorf("events %v, %+v", kinds, last)
		}
	})
	t.Run("another owner stays one", func(t *testing.T) {
		w := workspace()
		bob := w.Members["bob"]
		bob.Role, bob.ByHand = identity.Owner, identity.Owner
		w.Members["bob"], w.Owners = bob, 2
		if _, err := w.Transfer(ann, nil, "eve", false); err != nil || w.Owners != 2 ||
			w.Members["bob"].Role != identity.Owner {
			t.Errorf("%+v, %v", w.Members, err)
		}
	})
	old := ann
	old.Session, old.SignedInAt = "ses_1", sessionAt.Add(-time.Hour)
	cappedActor, admin, stranger := ann, ann, ann
	cappedActor.Ceiling, admin.User, stranger.User = identity.Admin, "eve", "tom"
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		to   identity.UserID
		want error
	}{
		"to a stranger":         {ann, nil, "tom", account.ErrMemberNotFound},
		"to a program":          {ann, nil, "program", account.ErrTransferRefused},
		"to oneself":            {ann, nil, "ann", account.ErrTransferRefused},
		"by an old session":     {old, nil, "bob", identity.ErrStepUpRequired},
		"by a lower credential": {cappedActor, nil, "bob", identity.ErrForbidden},
		"by an admin":           {admin, nil, "bob", identity.ErrForbidden},
		"by a stranger":         {stranger, nil, "bob", identity.ErrWorkspaceNotFound},
		"of another revision":   {ann, revision.Match{3}, "bob", revision.ErrMismatch},
	} {
		t.Run("not "+name, func(t *testing.T) {
			w := workspace()
			if _, err := w.Transfer(tt.by, tt.at, tt.to, false); !errors.Is(err, tt.want) || len(w.Recorded()) > 0 ||
				w.Members["ann"].Role != identity.Owner {
				t.Errorf("error %v, want %v; %+v", err, tt.want, w.Members)
			}
		})
	}
}
