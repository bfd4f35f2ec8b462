package account_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestInviteGuest(t *testing.T) {
	guests := func(role identity.Role) *account.Invitation {
		i := invitation(role)
		i.Guest = true
		return i
	}
	for name, tt := range map[string]struct {
		by      identity.Actor
		member  identity.UserID
		pending *account.Invitation
		role    identity.Role
		guest   bool
		want    error
	}{
		"a guest comes as a viewer": {person("admin"), "", nil, identity.Viewer, true, nil},
		"a guest who was invited before goes on as one": {person("admin"), "", guests(identity.Viewer),
			identity.Viewer, true, nil},
		"a person invited by an admin keeps that role": {person("admin"), "", invitation(identity.Member),
			identity.Member, false, nil},
		"but not once that invitation has ended": {laterBy(person("admin"), week), "",
			invitation(identity.Member), identity.Viewer, true, nil},
		"an owner's invitation is not renewed by an admin": {person("admin"), "", invitation(identity.Owner), 0, false,
			identity.ErrRoleCeiling},
		"unless it has ended of itself": {laterBy(person("admin"), week), "", invitation(identity.Owner),
			identity.Viewer, true, nil},
		"a member invites no guests": {person("member"), "", nil, 0, false, identity.ErrForbidden},
		"who is a member is no guest": {person("admin"), "viewer", nil, 0, false,
			account.ErrAlreadyMember},
	} {
		t.Run(name, func(t *testing.T) {
			i, token, err := acme().InviteGuest(tt.by, "New@Example.com", tt.member, tt.pending)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				if i != nil || !token.IsZero() {
					t.Error("there is an invitation all the same")
				}
				return
			}
			if i.Role != tt.role || i.Guest != tt.guest || i.Hash != token.Hash() {
				t.Errorf("invitation %+v", i)
			}
		})
	}
	t.Run("an invitation of their own makes a guest a member", func(t *testing.T) {
		i, _, err := acme().Invite(person("admin"), "New@Example.com", identity.Member, "", guests(identity.Viewer))
		require.NoError(t, err)
		if i.Guest {
			t.Error("it ends with what it was first made for")
		}
	})
}

func TestLapse(t *testing.T) {
	by := person("member") // may not withdraw invitations, and need not
	i := invitation(identity.Viewer)
	i.Guest = true
	i.Lapse(by)
	if !i.Withdrawn || i.Revision != 3 {
		t.Errorf("invitation %+v", i)
	}
	notedOf(t, i, by, "invitation.withdrawn", nil)
	i = invitation(identity.Viewer)
	i.Lapse(by)
	sameInvitation(t, i, invitation(identity.Viewer))
}

func TestAcceptAsGuest(t *testing.T) {
	user := func(id identity.UserID) *account.User {
		return &account.User{ID: id, Org: "org", Email: "new@example.com", EmailVerified: true}
	}
	t.Run("who is a member by now stays as they are", func(t *testing.T) {
		w, i := acme(), invitation(identity.Viewer)
		i.Guest = true
		require.NoError(t, w.Accept(person("admin"), user("admin"), i))
		if !i.Accepted {
			t.Error("it is open still")
		}
		unchanged(t, w, acme())
	})
	t.Run("who is not becomes one", func(t *testing.T) {
		w, i := acme(), invitation(identity.Viewer)
		i.Guest = true
		require.NoError(t, w.Accept(person("eve"), user("eve"), i))
		if w.Members["eve"].Role != identity.Viewer {
			t.Errorf("members %+v", w.Members)
		}
	})
}

func TestReserved(t *testing.T) {
	i := account.InvitationID(id.New(account.InvitationPrefix))
	user := i.Reserved()
	if !id.Valid(identity.UserPrefix, string(user)) || account.InvitationFor(user) != i {
		t.Errorf("%s reserves %s", i, user)
	}
}
