package contract

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Invitations is the suite for ports.Invitations.
func Invitations(t *testing.T, open Opener) {
	a := open(t)
	t.Run("List", func(t *testing.T) { invitationsListed(t, a) })
	t.Run("Invite", func(t *testing.T) { invited(t, a) })
	t.Run("Invite within bounds", func(t *testing.T) { invitedWithinBounds(t, a) })
	t.Run("Update", func(t *testing.T) { invitationWithdrawn(t, a) })
	t.Run("Accept", func(t *testing.T) { invitationAccepted(t, a) })
	t.Run("Find", func(t *testing.T) { invitationFound(t, a) })
	t.Run("unconfirmed", func(t *testing.T) { unconfirmedInviters(t, a) })
	t.Run("guests", func(t *testing.T) { guests(t, a) })
}

// tryInvite calls Invite as by, who may lack the permission.
func tryInvite(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID, email string,
	role identity.Role) (i *account.Invitation, token account.Token, err error) {
	err = s.Invitations.Invite(t.Context(), by, ws, email,
		func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation, error) {
			if i, token, err = w.Invite(by, email, role, member, pending); err == nil {
				w.Mail(by, i, mailLimits)
			}
			return i, err
		})
	return i, token, err
}

// mailLimits are the limits for every invitation here.
var mailLimits = account.MailLimits{WorkspacePerDay: 50, UserPerHour: 20, AddressPerDay: 5}

func invite(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID, email string,
	role identity.Role) (*account.Invitation, account.Token) {
	t.Helper()
	i, token, err := tryInvite(t, s, by, ws, email, role)
	must(t, err)
	return i, token
}

// accept calls Accept as who.
func accept(t testing.TB, s ports.Stores, by identity.Actor, token account.Token) error {
	return s.Invitations.Accept(t.Context(), by, token.Hash(),
		func(u *account.User, w *account.Workspace, i *account.Invitation) error { return w.Accept(by, u, i) })
}

// withdraw ends an invitation with Update.
func withdraw(t testing.TB, s ports.Stores, by identity.Actor, ws identity.WorkspaceID, id account.InvitationID) error {
	return s.Invitations.Update(t.Context(), by, ws, id,
		func(w *account.Workspace, i *account.Invitation) error { return w.Withdraw(by, nil, i) })
}

// newcomer stores a user who is in no workspace.
func newcomer(t testing.TB, s ports.Stores, org identity.OrgID, email string) identity.Actor {
	t.Helper()
	u, err := account.NewUser(identity.System(org, "", "contract", fixture.At), email, "Neu", false)
	must(t, err)
	must(t, s.Users.Add(t.Context(), u))
	return identity.Actor{Org: org, User: u.ID, Ceiling: identity.Owner, At: fixture.At}
}

// openInvitations lists a workspace's open invitations, in pages of limit.
func openInvitations(t testing.TB, s ports.Stores, org identity.OrgID, ws identity.WorkspaceID,
	limit int) []account.Invitation {
	t.Helper()
	return fixture.Pages(t, limit,
		func(q page.Query) (account.InvitationPage, error) { return s.Invitations.List(t.Context(), org, ws, q) })
}

// sameInvitations is same without the hashes, which are only looked up and never read.
func sameInvitations(t testing.TB, got []account.Invitation, want ...*account.Invitation) {
	t.Helper()
	all := make([]account.Invitation, len(want))
	for i := range want {
		all[i] = *want[i]
	}
	if d := cmp.Diff(all, got, cmpopts.IgnoreFields(account.Invitation{}, "Hash"), cmpopts.IgnoreTypes(event.Log{}),
		cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("invitations (-want +got):\n%s", d)
	}
}

func invitationsListed(t *testing.T, a Adapter) {
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	ws := team.Workspace.ID
	invitation, _ := invite(t, a.Stores, fixture.Later(team.Owner, -1000*time.Hour), ws, "expired@example.com",
		identity.Owner)
	second, _ := invite(t, a.Stores, team.Admin, ws, "Zweite@Example.com", identity.Viewer)
	third, token := invite(t, a.Stores, team.Admin, ws, "third@example.com", identity.Member)
	fourth, _ := invite(t, a.Stores, team.Admin, ws, "fourth@example.com", identity.Admin)
	invite(t, a.Stores, other.Owner, other.Workspace.ID, "elsewhere@example.com", identity.Member)
	for _, limit := range []int{1, 2, 4, 100} {
		t.Run(fmt.Sprint("open ones come newest first, expired ones too, in pages of ", limit), func(t *testing.T) {
			sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, limit), fourth, third, second, invitation)
		})
	}
	t.Run("an invitation is found by its id, only in its own workspace", func(t *testing.T) {
		got, err := a.Invitations.Get(t.Context(), team.Org, ws, second.ID)
		must(t, err)
		sameInvitations(t, []account.Invitation{*got}, second)
		for _, absent := range []account.Invitation{{Org: team.Org, Workspace: other.Workspace.ID, ID: second.ID},
			{Org: other.Org, Workspace: ws, ID: second.ID}, {Org: team.Org, Workspace: ws, ID: "inv_none"},
			{Org: team.Org, Workspace: ws}} {
			_, err := a.Invitations.Get(t.Context(), absent.Org, absent.Workspace, absent.ID)
			wantErr(t, err, account.ErrInvitationNotFound)
		}
	})
	t.Run("accepted and withdrawn invitations are not listed", func(t *testing.T) {
		must(t, accept(t, a.Stores, newcomer(t, a.Stores, team.Org, "third@example.com"), token))
		must(t, withdraw(t, a.Stores, team.Owner, ws, fourth.ID))
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, 100), second, invitation)
		for _, endedInvitation := range []account.InvitationID{third.ID, fourth.ID} {
			_, err := a.Invitations.Get(t.Context(), team.Org, ws, endedInvitation)
			wantErr(t, err, account.ErrInvitationNotFound)
		}
	})
	t.Run("another org's invitations are not listed", func(t *testing.T) {
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, other.Workspace.ID, 100))
	})
}

func invited(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	ws := team.Workspace.ID
	address := func(name string) string { return name + "@" + team.Workspace.Slug + ".example" }
	t.Run("change gets the member and the pending invitation of the address, ignoring case", func(t *testing.T) {
		pending, _ := invite(t, a.Stores, team.Admin, ws, "Pending@example.com", identity.Viewer)
		for email, want := range map[string]struct {
			member  identity.UserID
			pending account.InvitationID
		}{
			address("peer"): {member: team.Peer.User}, "PEER@" + team.Workspace.Slug +
				".EXAMPLE": {member: team.Peer.User},
			address("gone"): {}, "nobody@example.com": {}, "owner@" + other.Workspace.Slug + ".example": {},
			"pENDING@example.com": {pending: pending.ID},
		} {
			err := a.Invitations.Invite(ctx, team.Admin, ws, email,
				func(w *account.Workspace, member identity.UserID, found *account.Invitation) (*account.Invitation,
					error) {
					same(t, "member of "+email, member, want.member)
					if (found == nil) != (want.pending == "") || (found != nil && found.ID != want.pending) {
						t.Errorf("%s: pending = %+v", email, found)
					}
					if w.ID != ws || w.Members[team.Admin.User].Role != identity.Admin || len(w.Members) != 1 ||
						w.Owners != 1 {
						t.Errorf("workspace = %+v", w)
					}
					return nil, errBoom
				})
			wantErr(t, err, errBoom)
		}
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, 100), pending)
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		previous := openInvitations(t, a.Stores, team.Org, ws, 100)
		for _, email := range []string{"lost@example.com", previous[0].Email} {
			err := a.Invitations.Invite(ctx, team.Admin, ws, email,
				func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation,
					error) {
					i, _, err := w.Invite(team.Admin, email, identity.Admin, member, pending)
					return i, errors.Join(err, errBoom)
				})
			wantErr(t, err, errBoom)
		}
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, 100), &previous[0])
	})
	t.Run("a workspace of another org is not found", func(t *testing.T) {
		for _, id := range []identity.WorkspaceID{other.Workspace.ID, "wsp_00000000000000000000000000"} {
			_, _, err := tryInvite(t, a.Stores, team.Owner, id, "new@example.com", identity.Member)
			wantErr(t, err, identity.ErrWorkspaceNotFound)
			wantErr(t, withdraw(t, a.Stores, team.Owner, id, "inv_00000000000000000000000000"),
				identity.ErrWorkspaceNotFound)
		}
	})
	t.Run("renewing keeps the invitation and ends its old link", func(t *testing.T) {
		person := newcomer(t, a.Stores, team.Org, "renewed@example.com")
		first, old := invite(t, a.Stores, team.Admin, ws, "Renewed@example.com", identity.Viewer)
		by := fixture.Later(team.Owner, time.Hour)
		second, token := invite(t, a.Stores, by, ws, "renewed@EXAMPLE.com", identity.Admin)
		if second.ID != first.ID || second.Revision != 2 || second.InvitedBy != by.User ||
			second.ExpiresAt != by.At.Add(account.InvitationLasts) || second.CreatedAt != fixture.At {
			t.Errorf("got %+v", second)
		}
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, 100)[:1], second)
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(first.ID))),
			[]string{"invitation.renewed", "invitation.created"})
		wantErr(t, accept(t, a.Stores, person, old), account.ErrInvitationNotFound)
		must(t, accept(t, a.Stores, person, token))
		same(t, "role", roles(t, a.Stores, team.Org, ws)[person.User], identity.Admin)
	})
	t.Run("the stored response with the old link is erased", func(t *testing.T) {
		key := ports.IdempotencyKey{Org: team.Org, Scope: [32]byte{1}, At: fixture.At}
		_, _, err := a.Idempotency.Once(ctx, key, nil, func(s ports.Stores) (ports.Answer, error) {
			i, token := invite(t, s, team.Admin, ws, "shown@example.com", identity.Viewer)
			return ports.Answer{Status: 201, Body: []byte(token.Reveal()), Reveals: string(i.ID)}, nil
		}, nil)
		must(t, err)
		invite(t, a.Stores, team.Admin, ws, "shown@example.com", identity.Viewer)
		_, _, err = a.Idempotency.Once(ctx, key, nil,
			func(ports.Stores) (ports.Answer, error) { t.Error("it ran again"); return ports.Answer{}, errBoom }, nil)
		wantErr(t, err, ports.ErrAnswerErased)
	})
	t.Run("concurrent invitations of an address leave one open invitation and one valid link", func(t *testing.T) {
		person := newcomer(t, a.Stores, team.Org, "contended@example.com")
		tokens := make([]account.Token, 16)
		must(t, errors.Join(atOnce(len(tokens), func(i int) (err error) {
			_, tokens[i], err = tryInvite(t, a.Stores, team.Admin, ws,
				[]string{"contended@example.com", "CONTENDED@example.com"}[i%2], identity.Member)
			return err
		})...))
		open := 0
		for _, i := range openInvitations(t, a.Stores, team.Org, ws, 100) {
			if account.EmailKey(i.Email) == "contended@example.com" {
				open++
				same(t, "revision", i.Revision, int64(len(tokens)))
			}
		}
		same(t, "open invitations", open, 1)
		errs := make([]error, len(tokens))
		for i, token := range tokens {
			errs[i] = accept(t, a.Stores, person, token)
		}
		oneWon(t, errs, account.ErrInvitationNotFound)
	})
	t.Run("two workspaces can invite the same address", func(t *testing.T) {
		second := ownSpace(t, a.Stores, team.Owner, "invites-too")
		person := newcomer(t, a.Stores, team.Org, "both@example.com")
		_, one := invite(t, a.Stores, team.Owner, ws, "both@example.com", identity.Viewer)
		_, two := invite(t, a.Stores, team.Owner, second.ID, "both@example.com", identity.Member)
		must(t, accept(t, a.Stores, person, one))
		must(t, accept(t, a.Stores, person, two))
		_, m, err := a.Users.Get(ctx, team.Org, person.User)
		must(t, err)
		same(t, "memberships", len(m), 2)
	})
}

func invitationWithdrawn(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	t.Run("change gets the workspace and the invitation", func(t *testing.T) {
		i, _ := invite(t, a.Stores, team.Admin, ws, "given@example.com", identity.Admin)
		wantErr(t, a.Invitations.Update(ctx, team.Admin, ws, i.ID,
			func(w *account.Workspace, found *account.Invitation) error {
				if w.ID != ws || w.Members[team.Admin.User].Role != identity.Admin || w.Owners != 1 {
					t.Errorf("workspace = %+v", w)
				}
				sameInvitations(t, []account.Invitation{*found}, i)
				return errors.Join(w.Withdraw(team.Admin, nil, found), errBoom)
			}), errBoom)
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, 100), i) // nothing was saved
	})
	t.Run("after an invitation is withdrawn its address can be invited again", func(t *testing.T) {
		person := newcomer(t, a.Stores, team.Org, "withdrawn@example.com")
		i, token := invite(t, a.Stores, team.Admin, ws, "withdrawn@example.com", identity.Viewer)
		must(t, withdraw(t, a.Stores, team.Admin, ws, i.ID))
		wantErr(t, accept(t, a.Stores, person, token), account.ErrInvitationNotFound)
		wantErr(t, withdraw(t, a.Stores, team.Admin, ws, i.ID), account.ErrInvitationNotFound)
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(i.ID))),
			[]string{"invitation.withdrawn", "invitation.created"})
		second, token := invite(t, a.Stores, team.Admin, ws, "withdrawn@example.com", identity.Viewer)
		if second.ID == i.ID || second.Revision != 1 {
			t.Errorf("got %+v", second)
		}
		must(t, accept(t, a.Stores, person, token))
	})
	t.Run("change gets nil if the workspace has no invitation with that id", func(t *testing.T) {
		theirs, token := invite(t, a.Stores, other.Admin, other.Workspace.ID, "theirs@example.com", identity.Viewer)
		for _, id := range []account.InvitationID{theirs.ID, "inv_00000000000000000000000000", ""} {
			wantErr(t, a.Invitations.Update(ctx, team.Owner, ws, id,
				func(_ *account.Workspace, i *account.Invitation) error {
					if i != nil {
						t.Errorf("got %+v", i)
					}
					return account.ErrInvitationNotFound
				}), account.ErrInvitationNotFound)
		}
		must(t, accept(t, a.Stores, newcomer(t, a.Stores, team.Org, "theirs@example.com"), token))
	})
	t.Run("of many concurrent withdrawals and acceptances one succeeds", func(t *testing.T) {
		for n := range 5 {
			email := fmt.Sprint("raced", n, "@example.com")
			person := newcomer(t, a.Stores, team.Org, email)
			i, token := invite(t, a.Stores, team.Admin, ws, email, identity.Viewer)
			oneWon(t, atOnce(8, func(n int) error {
				if n%2 == 0 {
					return withdraw(t, a.Stores, team.Admin, ws, i.ID)
				}
				return accept(t, a.Stores, person, token)
			}), account.ErrInvitationNotFound)
			_, member := roles(t, a.Stores, team.Org, ws)[person.User]
			isAccepted := kinds(eventsOn(t, a.Stores, ws, string(i.ID)))[0] == "invitation.accepted"
			same(t, "member", member, isAccepted)
		}
	})
}

func invitationAccepted(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws := team.Workspace.ID
	t.Run("accepting creates a member, once", func(t *testing.T) {
		who := fixture.Later(newcomer(t, a.Stores, team.Org, "accepts@example.com"), time.Hour)
		i, token := invite(t, a.Stores, team.Owner, ws, "accepts@example.com", identity.Owner)
		must(t, accept(t, a.Stores, who, token))
		w, err := a.Workspaces.Get(ctx, who, ws)
		must(t, err)
		same(t, "member", w.Members[who.User], account.Member{User: who.User, Email: "accepts@example.com", Name: "Neu",
			Role: identity.Owner, ByHand: identity.Owner, Revision: 1, CreatedAt: who.At, UpdatedAt: who.At})
		same(t, "owners", w.Owners, 2)
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(i.ID))),
			[]string{"invitation.accepted", "invitation.created"})
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(ws))), []string{"member.added"})
		wantErr(t, accept(t, a.Stores, who, token), account.ErrInvitationNotFound)
	})
	t.Run("a refused acceptance leaves the invitation open", func(t *testing.T) {
		thief, person := newcomer(t, a.Stores, team.Org, "thief@example.com"),
			newcomer(t, a.Stores, team.Org, "right@example.com")
		i, token := invite(t, a.Stores, team.Owner, ws, "right@example.com", identity.Member)
		wantErr(t, accept(t, a.Stores, thief, token), account.ErrInvitationEmail)
		late := fixture.Later(person, account.InvitationLasts)
		wantErr(t, accept(t, a.Stores, late, token), account.ErrInvitationExpired)
		wantErr(t, a.Invitations.Accept(ctx, person, token.Hash(),
			func(u *account.User, w *account.Workspace, i *account.Invitation) error {
				return errors.Join(w.Accept(person, u, i), errBoom)
			}), errBoom)
		same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(i.ID))), []string{"invitation.created"})
		must(t, accept(t, a.Stores, person, token))
	})
	t.Run("an invitation is valid only while its creator has the right to invite", func(t *testing.T) {
		maker, person := newcomer(t, a.Stores, team.Org, "maker@example.com"),
			newcomer(t, a.Stores, team.Org, "made@example.com")
		join(t, a.Stores, team.Owner, ws, maker, identity.Admin)
		i, token := invite(t, a.Stores, maker, ws, "made@example.com", identity.Admin)
		must(t, setRole(t, a.Stores, team.Owner, ws, maker.User, identity.Member))
		wantErr(t, accept(t, a.Stores, person, token), account.ErrInvitationNotFound)
		must(t, removeMember(t, a.Stores, team.Owner, ws, maker.User))
		wantErr(t, accept(t, a.Stores, person, token), account.ErrInvitationNotFound)
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, ws, 100)[:1], i)
		join(t, a.Stores, team.Owner, ws, maker, identity.Admin)
		must(t, accept(t, a.Stores, person, token))
	})
	t.Run("an invitation of another org is not found", func(t *testing.T) {
		_, token := invite(t, a.Stores, team.Owner, ws, "orgs@example.com", identity.Member)
		elsewhere := newcomer(t, a.Stores, a.Orgs[1], "orgs@example.com")
		for person, hash := range map[identity.Actor]account.Hash{elsewhere: token.Hash(),
			newcomer(t, a.Stores, team.Org, "orgs@example.com"): {7}} {
			wantErr(t, a.Invitations.Accept(ctx, person, hash,
				func(*account.User, *account.Workspace, *account.Invitation) error {
					t.Error("change was called")
					return nil
				}), account.ErrInvitationNotFound)
		}
	})
	t.Run("of many concurrent acceptances one creates a member", func(t *testing.T) {
		for n := range 5 {
			email := fmt.Sprint("once", n, "@example.com")
			person := newcomer(t, a.Stores, team.Org, email)
			i, token := invite(t, a.Stores, team.Owner, ws, email, identity.Member)
			previous := len(roles(t, a.Stores, team.Org, ws))
			oneWon(t, atOnce(16, func(int) error { return accept(t, a.Stores, person, token) }),
				account.ErrInvitationNotFound)
			same(t, "members", len(roles(t, a.Stores, team.Org, ws)), previous+1)
			same(t, "events", kinds(eventsOn(t, a.Stores, ws, string(i.ID))),
				[]string{"invitation.accepted", "invitation.created"})
		}
	})
	t.Run("a user who signed in before sees the membership at once", func(t *testing.T) {
		p := signIn(t, a.Stores, team.Org, account.Claims{Issuer: issuer, Subject: "joins", Email: "joins@example.com",
			EmailVerified: true}, nil)
		_, err := a.Users.SignedIn(ctx, team.Org, issuer, "joins") // fills the cache
		must(t, err)
		_, token := invite(t, a.Stores, team.Owner, ws, "joins@example.com", identity.Member)
		must(t, accept(t, a.Stores, identity.Actor{Org: team.Org, User: p.User.ID, Ceiling: identity.Owner,
			At: fixture.At}, token))
		second, err := a.Users.SignedIn(ctx, team.Org, issuer, "joins")
		must(t, err)
		if len(second.Memberships) != 1 || second.Memberships[0].Role != identity.Member {
			t.Fatalf("memberships = %+v", second.Memberships)
		}
	})
}
