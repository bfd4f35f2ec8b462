package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func noMail(context.Context, *account.Invitation, *account.Workspace, string) bool { return false }

// guests runs invitations to chats through the use cases, because their transactions span several stores.
func guests(t *testing.T, a Adapter) {
	ctx := t.Context()
	registry := fixture.Registry(t)
	using := chats.NewService(a.Atomic, a.ChatStores, chats.Deps{
		Users: a.Users, Prompts: a.Prompts,
		Registries: func(identity.OrgID) *chat.Registry { return registry },
		MailLimits: mailLimits, MailInvitation: noMail, Quotas: noQuotas,
	})
	people := accounts.NewService(a.Atomic, a.AccountStores, accounts.Deps{
		Events: a.Events, Notes: a.Notes(), GatewayAccount: func(identity.OrgID) string { return "" },
		Mails: &accounts.InvitationMailer{Limits: mailLimits}, Quotas: noQuotas,
	})
	email := func(name string, team *fixture.Team) string { return name + "@" + team.Workspace.Slug + ".example" }
	add := func(t *testing.T, by identity.Actor, id chat.ID, email string, role access.Role) *chats.Added {
		t.Helper()
		addedAdded, err := using.AddMember(ctx, by, &identity.Org{ID: by.Org}, id, chat.Grant{Email: email, Role: role})
		must(t, err)
		return addedAdded
	}

	t.Run("an invitation is a guest's until the workspace invites the address too", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		template := fixture.Chat(t, a.Stores, team.Admin, chat.Draft{})
		first := add(t, team.Admin, template.ID, email("new", team), access.Viewer)
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, team.Workspace.ID, 5), first.Invitation)
		if !first.Invitation.Guest {
			t.Fatal("it is not a guest's")
		}
		renewedInvitation, _ := invite(t, a.Stores, team.Admin, team.Workspace.ID, email("new", team), identity.Member)
		sameInvitations(t, openInvitations(t, a.Stores, team.Org, team.Workspace.ID, 5), renewedInvitation)
		if renewedInvitation.Guest {
			t.Fatal("it is a guest's still")
		}
	})
	t.Run("one acceptance joins all waiting chats, and the workspace as a viewer", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		guest := newcomer(t, a.Stores, team.Org, email("new", team))
		first, second := fixture.Chat(t, a.Stores, team.Admin, chat.Draft{}),
			fixture.Chat(t, a.Stores, team.Owner, chat.Draft{})
		old := add(t, team.Admin, first.ID, email("NEW", team), access.Viewer)
		link := add(t, team.Admin, second.ID, email("new", team), access.Manager)
		if old.Member.User != link.Member.User || link.Again {
			t.Fatalf("reserved are %s and %s", old.Member.User, link.Member.User)
		}
		_, err := people.AcceptInvitation(ctx, guest, old.Token.Reveal()) // both links work
		must(t, err)
		_, err = people.AcceptInvitation(ctx, guest, link.Token.Reveal())
		wantErr(t, err, account.ErrInvitationNotFound)
		for id, want := range map[chat.ID]access.Role{first.ID: access.Viewer, second.ID: access.Manager} {
			got := membersOf(t, a.Stores, team.Workspace.ID, id)
			if m := got[guest.User]; len(got) != 2 || m.Role != want || m.Invited {
				t.Errorf("members %+v", got)
			}
		}
		if m, err := a.Users.Member(ctx, team.Workspace.ID, guest.User, ""); err != nil || m == "" {
			t.Errorf("member of the workspace: %q, %v", m, err)
		}
	})
	t.Run("a guest who joined the workspace meanwhile keeps the higher role", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		guest := newcomer(t, a.Stores, team.Org, email("new", team))
		template := fixture.Chat(t, a.Stores, team.Admin, chat.Draft{})
		link := add(t, team.Admin, template.ID, email("new", team), access.Editor)
		_, err := a.Workspaces.Update(ctx, team.Owner, team.Workspace.ID, []identity.UserID{guest.User},
			func(w *account.Workspace) error {
				w.SettleGranted(team.Owner, guest.User, issuer, identity.Member, nil)
				return nil
			})
		must(t, err)
		fixture.ChatMember(t, a.Stores, team.Admin, template.ID, guest.User, access.Manager)
		_, err = people.AcceptInvitation(ctx, guest, link.Token.Reveal())
		must(t, err)
		if got := membersOf(t, a.Stores, team.Workspace.ID, template.ID); len(got) != 2 ||
			got[guest.User].Role != access.Manager {
			t.Errorf("members %+v", got)
		}
	})
	t.Run("withdrawing an invitation removes its waiting members", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		template := fixture.Chat(t, a.Stores, team.Admin, chat.Draft{})
		link := add(t, team.Admin, template.ID, email("new", team), access.Editor)
		must(t, people.Withdraw(ctx, team.Admin, team.Workspace.ID, link.Invitation.ID, nil))
		if got := membersOf(t, a.Stores, team.Workspace.ID, template.ID); len(got) != 1 {
			t.Errorf("members %+v", got)
		}
		second := add(t, team.Admin, template.ID, email("new", team), access.Editor)
		if second.Again || second.Member.User == link.Member.User {
			t.Errorf("again: %+v", second.Member)
		}
	})
	t.Run("an invitation by the workspace ends the links of its chats", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		guest := newcomer(t, a.Stores, team.Org, email("new", team))
		template := fixture.Chat(t, a.Stores, team.Admin, chat.Draft{})
		for range 22 {
			add(t, team.Admin, template.ID, email("new", team), access.Viewer)
		}
		link := add(t, team.Admin, template.ID, email("new", team), access.Viewer)
		invite(t, a.Stores, team.Admin, team.Workspace.ID, email("new", team), identity.Member)
		_, err := people.AcceptInvitation(ctx, guest, link.Token.Reveal())
		wantErr(t, err, account.ErrInvitationNotFound)
	})
	t.Run("deleting the last chat ends the invitation, and its link makes no one a viewer", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		guest := newcomer(t, a.Stores, team.Org, email("new", team))
		one, two := fixture.Chat(t, a.Stores, team.Member, chat.Draft{}),
			fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
		add(t, team.Admin, one.ID, email("new", team), access.Editor)
		link := add(t, team.Admin, two.ID, email("new", team), access.Editor)
		for i, id := range []chat.ID{one.ID, two.ID} { // as a member, who could not withdraw the invitation
			must(t, using.Delete(ctx, team.Member, id, nil))
			if open := openInvitations(t, a.Stores, team.Org, team.Workspace.ID, 5); len(open) != 1-i {
				t.Fatalf("%d are open", len(open))
			}
		}
		_, err := people.AcceptInvitation(ctx, guest, link.Token.Reveal())
		wantErr(t, err, account.ErrInvitationNotFound)
		if m, err := a.Users.Member(ctx, team.Workspace.ID, guest.User, ""); err != nil || m != "" {
			t.Errorf("a member of the workspace: %q, %v", m, err)
		}
		_, err = using.Restore(ctx, team.Member, two.ID)
		must(t, err)
		if got := membersOf(t, a.Stores, team.Workspace.ID, two.ID); len(got) != 1 {
			t.Errorf("members of the restored chat: %+v", got)
		}
	})
	t.Run("the invitation ends when its last chat is removed", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		one, two := fixture.Chat(t, a.Stores, team.Member, chat.Draft{}),
			fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
		add(t, team.Admin, one.ID, email("new", team), access.Editor)
		link := add(t, team.Admin, two.ID, email("new", team), access.Editor)
		for i, id := range []chat.ID{one.ID, two.ID} { // as a member, who could not withdraw the invitation
			must(t, using.RemoveMember(ctx, team.Member, id, link.Member.User, nil))
			if open := openInvitations(t, a.Stores, team.Org, team.Workspace.ID, 5); len(open) != 1-i {
				t.Fatalf("%d are open", len(open))
			}
		}
	})
	t.Run("concurrent acceptances, removals, invitations and changes leave a consistent state", func(t *testing.T) {
		for round := range 6 {
			team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
			guest := newcomer(t, a.Stores, team.Org, email("new", team))
			one, two := fixture.Chat(t, a.Stores, team.Member, chat.Draft{}),
				fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
			add(t, team.Admin, one.ID, email("new", team), access.Editor)
			link := add(t, team.Admin, two.ID, email("new", team), access.Editor)
			var wg sync.WaitGroup
			for name, do := range map[string]func() error{
				"accept": func() error {
					_, err := people.AcceptInvitation(ctx, guest, link.Token.Reveal())
					return err
				},
				"remove":  func() error { return using.RemoveMember(ctx, team.Member, one.ID, link.Member.User, nil) },
				"remove2": func() error { return using.RemoveMember(ctx, team.Member, two.ID, link.Member.User, nil) },
				"invite": func() error {
					_, err := using.AddMember(ctx, team.Admin, &identity.Org{ID: team.Org}, one.ID,
						chat.Grant{Email: email("new", team), Role: access.Viewer})
					return err
				},
				"change": func() error {
					_, err := using.ChangeMember(ctx, team.Member, two.ID, link.Member.User, nil, access.Manager)
					return err
				},
			} {
				wg.Go(func() {
					if err := do(); err != nil {
						if _, isRefused := errors.AsType[*fault.Error](err); !isRefused {
							t.Errorf("round %d, %s: %v", round, name, err)
						}
					}
				})
			}
			wg.Wait()
			open := map[identity.UserID]bool{}
			for _, i := range openInvitations(t, a.Stores, team.Org, team.Workspace.ID, 5) {
				open[i.ID.Reserved()] = true
			}
			waiting := map[identity.UserID]bool{}
			for _, id := range []chat.ID{one.ID, two.ID} {
				for user, m := range membersOf(t, a.Stores, team.Workspace.ID, id) {
					if m.Invited {
						waiting[user] = true
					}
				}
			}
			if fmt.Sprint(open) != fmt.Sprint(waiting) {
				t.Fatalf("round %d: open are %v, waiting are %v", round, open, waiting)
			}
		}
	})
}
