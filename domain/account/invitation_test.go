package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const week = 7 * 24 * time.Hour

// invitation returns an open invitation to acme, at revision 2.
func invitation(role identity.Role) *account.Invitation {
	return &account.Invitation{
		ID: "inv", Org: "org", Workspace: "acme", Email: "New@Example.com", Role: role, Hash: account.Hash{1},
		InvitedBy: "owner", ExpiresAt: now.Add(week), Revision: 2, CreatedAt: now, UpdatedAt: now,
	}
}

// sameInvitation fails t if an invitation differs from what it was.
func sameInvitation(t *testing.T, got, want *account.Invitation) {
	t.Helper()
	require.Equal(t, "it changed (-was +is)", cmp.Diff(want, got, cmp.AllowUnexported(event.Log{})), "")
}

// notedOf fails t unless i recorded exactly one event, with these data, in the trail of its workspace.
func notedOf(t *testing.T, i *account.Invitation, by identity.Actor, kind string, data map[string]any) {
	t.Helper()
	recorded(t, i.Log, by, string(i.ID), kind)
	if e := i.Recorded()[0]; e.Workspace != "acme" || !cmp.Equal(e.Data, data, cmpopts.EquateEmpty()) {
		t.Errorf("event %+v", e)
	}
}

func TestInvite(t *testing.T) {
	const email = "New@Example.com"
	for name, tt := range map[string]struct {
		by      identity.Actor
		role    identity.Role
		member  identity.UserID
		pending *account.Invitation
		want    error
	}{
		"an owner invites an owner": {person("owner"), identity.Owner, "", nil, nil},
		"an admin invites an admin": {person("admin"), identity.Admin, "", nil, nil},
		"an admin invites a viewer by a key": {keyed(person("admin"), "acme", identity.Admin), identity.Viewer,
			"", nil, nil},
		"an admin invites no owner": {person("admin"), identity.Owner, "", nil, identity.ErrRoleCeiling},
		"nor does an owner's capped key": {keyed(person("owner"), "acme", identity.Admin), identity.Owner, "",
			nil, identity.ErrRoleCeiling},
		"a member cannot invite": {person("member"), identity.Viewer, "", nil, identity.ErrForbidden},
		"a stranger is told nothing": {person("eve"), identity.Viewer, "", nil,
			identity.ErrWorkspaceNotFound},
		"who is a member is not invited": {person("admin"), identity.Admin, "viewer", nil,
			account.ErrAlreadyMember},
		"a member is not told who is one": {person("member"), identity.Viewer, "viewer", nil,
			identity.ErrForbidden},
		"an admin renews up to their role": {person("admin"), identity.Viewer, "", invitation(identity.Admin),
			nil},
		"but ends no owner's by renewing it": {person("admin"), identity.Viewer, "", invitation(identity.Owner),
			identity.ErrRoleCeiling},
		"though it be at the last moment": {laterBy(person("admin"), now.Add(week).Sub(later)-1),
			identity.Viewer, "", invitation(identity.Owner), identity.ErrRoleCeiling},
		"unless that has ended of itself": {laterBy(person("admin"), now.Add(week).Sub(later)), identity.Viewer,
			"", invitation(identity.Owner), nil},
		"an owner renews an owner's": {person("owner"), identity.Owner, "", invitation(identity.Owner),
			nil},
		"an owner may lower an owner's": {person("owner"), identity.Viewer, "", invitation(identity.Owner),
			nil},
		"renewing does not lead beyond one's own": {person("admin"), identity.Owner, "", invitation(identity.Viewer),
			identity.ErrRoleCeiling},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			var previous *account.Invitation
			if tt.pending != nil {
				previous = invitation(tt.pending.Role)
			}
			i, token, err := w.Invite(tt.by, email, tt.role, tt.member, tt.pending)
			require.ErrorIs(t, err, tt.want)
			unchanged(t, w, acme()) // no one is a member before they accept
			if tt.want != nil {
				if i != nil || !token.IsZero() {
					t.Fatal("there is an invitation all the same")
				}
				if tt.pending != nil {
					sameInvitation(t, tt.pending, previous)
				}
				return
			}
			want := &account.Invitation{ID: i.ID, Org: "org", Workspace: "acme", Email: email, CreatedAt: tt.by.At,
				Revision: 1}
			kind := "invitation.created"
			if previous != nil {
				want, kind = previous, "invitation.renewed"
				want.Revision++
				if i != tt.pending {
					t.Error("the renewed one is another")
				}
			}
			want.Role, want.InvitedBy, want.Hash, want.ExpiresAt, want.UpdatedAt = tt.role, tt.by.User, token.Hash(),
				tt.by.At.Add(week), tt.by.At
			assert.NoDiff(t, "invitation", cmp.Diff(want, i, cmpopts.IgnoreTypes(event.Log{})))
			if previous == nil && !id.Valid(account.InvitationPrefix, string(i.ID)) {
				t.Errorf("id = %s", i.ID)
			}
			notedOf(t, i, tt.by, kind, map[string]any{"role": tt.role.String()})
			if s := token.Reveal(); !strings.HasPrefix(s, "ati_") {
				t.Error("its token is not an invitation's")
			} else if repeat, ok := account.ParseInvitationToken(s); !ok || repeat.Hash() != token.Hash() {
				t.Error("its token is not accepted")
			} else if _, ok := account.ParseToken(s); ok {
				t.Error("it could be taken for an API key")
			}
		})
	}
	t.Run("two hundred can be open", func(t *testing.T) {
		for name, tt := range map[string]struct {
			open    int
			pending *account.Invitation
			at      time.Duration
			want    error
		}{
			"the last one is made":           {199, nil, 0, nil},
			"one more is not":                {200, nil, 0, account.ErrTooManyInvitations},
			"renewing makes no more of them": {200, invitation(identity.Viewer), 0, nil},
			"unless it had expired": {200, invitation(identity.Viewer), 2 * week,
				account.ErrTooManyInvitations},
		} {
			t.Run(name, func(t *testing.T) {
				w := acme()
				w.Sent.Open = tt.open
				_, _, err := w.Invite(laterBy(person("admin"), tt.at), email, identity.Viewer, "", tt.pending)
				require.ErrorIs(t, err, tt.want)
			})
		}
	})
	t.Run("an API key's token is no invitation's", func(t *testing.T) {
		if _, ok := account.ParseInvitationToken(account.NewToken().Reveal()); ok {
			t.Error("it could be taken for one")
		}
	})
	t.Run("what is no address is refused", func(t *testing.T) {
		for _, email := range []string{"", "a", "a@", "a@b@c", "a b@c", "a@b\nBcc: c@d"} {
			_, _, err := acme().Invite(person("admin"), email, identity.Viewer, "", nil)
			assert.EqualSlice(t, email+": wrongFields", wrongFields(t, err), []string{"/email invalid_format"})
		}
	})
	t.Run("so is no role, and all that is wrong is told at once", func(t *testing.T) {
		i, _, err := acme().Invite(person("admin"), "", identity.NoRole, "", nil)
		if got := wrongFields(t, err); i != nil ||
			!slices.Equal(got, []string{"/email invalid_format", "/role not_allowed_value"}) {
			t.Errorf("wrong = %q", got)
		}
	})
}

// laterBy returns by at a later time.
func laterBy(by identity.Actor, d time.Duration) identity.Actor {
	by.At = by.At.Add(d)
	return by
}

func TestWithdraw(t *testing.T) {
	invitationWith := func(change func(*account.Invitation)) *account.Invitation {
		i := invitation(identity.Admin)
		change(i)
		return i
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		i    *account.Invitation
		want error
	}{
		"an admin may":                  {person("admin"), revision.Match{2}, invitation(identity.Admin), nil},
		"an owner may, of an owner":     {person("owner"), nil, invitation(identity.Owner), nil},
		"an expired one too":            {laterBy(person("admin"), 2*week), nil, invitation(identity.Admin), nil},
		"an admin may not, of an owner": {person("admin"), nil, invitation(identity.Owner), identity.ErrRoleCeiling},
		"a member may not":              {person("member"), nil, invitation(identity.Viewer), identity.ErrForbidden},
		"nor is told whether it is":     {person("member"), nil, nil, identity.ErrForbidden},
		"a stranger is told nothing": {person("eve"), nil, invitation(identity.Viewer),
			identity.ErrWorkspaceNotFound},
		"another revision was meant": {person("admin"), revision.Match{1}, invitation(identity.Admin),
			revision.ErrMismatch},
		"one that is not there": {person("admin"), nil, nil, account.ErrInvitationNotFound},
		"another workspace's": {person("owner"), nil,
			invitationWith(func(i *account.Invitation) { i.Workspace = "other" }), account.ErrInvitationNotFound},
		"one that was accepted": {person("owner"), nil,
			invitationWith(func(i *account.Invitation) { i.Accepted = true }), account.ErrInvitationNotFound},
		"one that was withdrawn already": {person("owner"), nil,
			invitationWith(func(i *account.Invitation) { i.Withdrawn = true }), account.ErrInvitationNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			require.ErrorIs(t, w.Withdraw(tt.by, tt.at, tt.i), tt.want)
			unchanged(t, w, acme())
			if tt.want == nil {
				if !tt.i.Withdrawn || tt.i.Accepted || tt.i.Revision != 3 || tt.i.UpdatedAt != tt.by.At {
					t.Errorf("got %+v", tt.i)
				}
				notedOf(t, tt.i, tt.by, "invitation.withdrawn", nil)
			} else if tt.i != nil && (tt.i.Revision != 2 || len(tt.i.Recorded()) != 0) {
				t.Errorf("it changed: %+v", tt.i)
			}
		})
	}
}

func TestAcceptInvitation(t *testing.T) {
	ann := account.User{ID: "ann", Org: "org", Email: "new@EXAMPLE.com", EmailVerified: true}
	run := func(change func(*account.User)) account.User { u := ann; change(&u); return u }
	end := now.Add(week)
	annAt := func(instant time.Time) identity.Actor { return laterBy(person("ann"), instant.Sub(later)) }
	by := func(inviter identity.UserID, role identity.Role) *account.Invitation {
		i := invitation(role)
		i.InvitedBy = inviter
		return i
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		u    account.User
		i    *account.Invitation
		want error
	}{
		"who has the address becomes a member": {person("ann"), ann, invitation(identity.Member), nil},
		"or an owner":                          {person("ann"), ann, invitation(identity.Owner), nil},
		"up to the last moment":                {annAt(end.Add(-1)), ann, invitation(identity.Member), nil},
		"not when it ends": {annAt(end), ann, invitation(identity.Member),
			account.ErrInvitationExpired},
		"nor after that": {annAt(end.Add(1)), ann, invitation(identity.Member),
			account.ErrInvitationExpired},
		"no one accepts with an API key": {keyed(person("ann"), "other", identity.Owner), ann,
			invitation(identity.Member), account.ErrInvitationEmail},
		"nor with another address": {person("ann"),
			run(func(u *account.User) { u.Email = "eve@example.com" }), invitation(identity.Member),
			account.ErrInvitationEmail},
		"nor without one": {person("ann"), run(func(u *account.User) { u.Email = "" }),
			invitation(identity.Member), account.ErrInvitationEmail},
		"nor with one that no one vouches for": {person("ann"),
			run(func(u *account.User) { u.EmailVerified = false }), invitation(identity.Member),
			account.ErrInvitationEmail},
		"a thief is not told that it has expired": {annAt(end), run(func(u *account.User) { u.Email = "eve@example.com" }),
			invitation(identity.Member), account.ErrInvitationEmail},
		"it works once": {person("ann"), ann,
			&account.Invitation{Workspace: "acme", Email: ann.Email, Accepted: true, ExpiresAt: end},
			account.ErrInvitationNotFound},
		"a withdrawn one works never": {person("ann"), ann,
			&account.Invitation{Workspace: "acme", Email: ann.Email, Withdrawn: true, ExpiresAt: end},
			account.ErrInvitationNotFound},
		"one that is not there": {person("ann"), ann, nil, account.ErrInvitationNotFound},
		"one whose maker has left works no more": {person("ann"), ann, by("eve", identity.Viewer),
			account.ErrInvitationNotFound},
		"nor one whose maker is an admin no more": {person("ann"), ann, by("member", identity.Viewer),
			account.ErrInvitationNotFound},
		"nor one above its maker's role": {person("ann"), ann, by("admin", identity.Owner),
			account.ErrInvitationNotFound},
		"up to that it does": {person("ann"), ann, by("admin", identity.Admin), nil},
		"a member stays what they are": {person("viewer"), run(func(u *account.User) { u.ID = "viewer" }),
			invitation(identity.Owner), account.ErrAlreadyMember},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			var previous account.Invitation
			if tt.i != nil {
				previous = *tt.i
			}
			require.ErrorIs(t, w.Accept(tt.by, &tt.u, tt.i), tt.want)
			if tt.want != nil {
				unchanged(t, w, acme())
				if tt.i != nil {
					sameInvitation(t, tt.i, &previous)
				}
				return
			}
			want := account.Member{User: "ann", Role: previous.Role, ByHand: previous.Role, Revision: 1,
				CreatedAt: tt.by.At, UpdatedAt: tt.by.At}
			if !cmp.Equal(w.Members["ann"], want) || len(w.Members) != 5 {
				t.Errorf("members = %+v", w.Members)
			}
			sameMembers(t, w, acmeWith(map[identity.UserID]identity.Role{"ann": previous.Role}))
			if !tt.i.Accepted || tt.i.Withdrawn || tt.i.Revision != 3 || tt.i.UpdatedAt != tt.by.At {
				t.Errorf("invitation %+v", tt.i)
			}
			data := map[string]any{"user_id": identity.UserID("ann"), "role": previous.Role.String()}
			notedOf(t, tt.i, tt.by, "invitation.accepted", data)
			noted(t, w, tt.by, "member.added", data)
		})
	}
	t.Run("no one can join a deleted workspace", func(t *testing.T) {
		w, i := acme(), invitation(identity.Member)
		w.DeletedAt = now
		require.ErrorIs(t, w.Accept(person("ann"), &ann, i), account.ErrInvitationNotFound)
		sameInvitation(t, i, invitation(identity.Member))
	})
	t.Run("neither event shows the address or the token", func(t *testing.T) {
		w := acme()
		i, token, err := w.Invite(person("owner"), ann.Email, identity.Member, "", nil)
		require.NoError(t, err)
		require.NoError(t, w.Accept(person("ann"), &ann, i))
		for _, e := range append(i.Recorded(), w.Recorded()...) {
			for key, v := range e.Data {
				if s, ok := v.(string); ok && (strings.EqualFold(s, ann.Email) || s == token.Reveal()) {
					t.Errorf("%s shows %s", e.Type, key)
				}
			}
		}
	})
	t.Run("one of a service key works no more once its keys do not work", func(t *testing.T) {
		for isRetired, want := range map[bool]error{false: nil, true: account.ErrInvitationNotFound} {
			w, u := served(acme(), identity.Admin), ann
			w.Retired = map[identity.UserID]bool{"bot": isRetired}
			require.ErrorIs(t, w.Accept(person("ann"), &u, by("bot", identity.Member)), want)
		}
	})
}
