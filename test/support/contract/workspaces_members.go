package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func membersListed(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	program, _ := fixture.ServiceKey(t, a.Stores, team.Admin,
		account.KeyDraft{Name: "deploys", Ceiling: identity.Member})
	var want []account.Member
	for _, m := range []struct {
		by   identity.Actor
		name string
	}{{team.Owner, "owner"}, {team.Admin, "admin"}, {team.Member, "member"}, {team.Peer, "peer"},
		{team.Viewer, "viewer"}} {
		want = append(want, account.Member{User: m.by.User, Email: m.name + "@" + team.Workspace.Slug + ".example",
			Name: m.name, Role: m.by.Role, ByHand: m.by.Role, Revision: 1, CreatedAt: fixture.At,
			UpdatedAt: fixture.At})
	}
	want = append(want, account.Member{User: program.ID, Name: "deploys", Service: true, Role: identity.Member,
		ByHand: identity.Member, Revision: 1, CreatedAt: fixture.At, UpdatedAt: fixture.At})
	t.Run("members are listed by user id, without those who left", func(t *testing.T) {
		for _, limit := range []int{1, 2, 6, 100} {
			same(t, "members", fixture.Pages(t, limit, func(q page.Query) (account.MemberPage, error) {
				return a.Workspaces.Members(ctx, team.Org, team.Workspace.ID, q)
			}), want)
		}
	})
	t.Run("a member is found by user id, only in their own workspace", func(t *testing.T) {
		for _, m := range want {
			got, err := a.Workspaces.Member(ctx, team.Org, team.Workspace.ID, m.User)
			must(t, err)
			same(t, "member", got, m)
		}
		for _, absent := range []struct {
			org  identity.OrgID
			ws   identity.WorkspaceID
			user identity.UserID
		}{{team.Org, team.Workspace.ID, team.Gone.User}, {team.Org, team.Workspace.ID, ""},
			{team.Org, other.Workspace.ID, team.Owner.User}, {other.Org, team.Workspace.ID, team.Owner.User}} {
			_, err := a.Workspaces.Member(ctx, absent.org, absent.ws, absent.user)
			wantErr(t, err, account.ErrMemberNotFound)
		}
	})
	t.Run("members of another org's workspace are not listed", func(t *testing.T) {
		same(t, "members", len(roles(t, a.Stores, team.Org, other.Workspace.ID)), 0)
	})
}

func membersUpdated(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	ws, by := team.Workspace.ID, fixture.Later(team.Owner, time.Hour)
	t.Run("change gets the memberships of by and also, and the number of owners", func(t *testing.T) {
		for _, extra := range [][]identity.UserID{nil, {team.Peer.User},
			{team.Peer.User, team.Viewer.User, team.Gone.User, "usr_nobody", team.Owner.User}} {
			must(t, changeWorkspace(t, a.Stores, by, ws, extra, func(w *account.Workspace) error {
				want := map[identity.UserID]identity.Role{by.User: identity.Owner}
				for _, user := range extra {
					switch user {
					case team.Peer.User:
						want[user] = identity.Member
					case team.Viewer.User:
						want[user] = identity.Viewer
					}
				}
				got := map[identity.UserID]identity.Role{}
				for user, m := range w.Members {
					got[user] = m.Role
				}
				same(t, "members", got, want)
				same(t, "owners", w.Owners, 1)
				return nil
			}))
		}
	})
	t.Run("a changed role is stored, and no other changes", func(t *testing.T) {
		must(t, setRole(t, a.Stores, by, ws, team.Viewer.User, identity.Owner))
		want := map[identity.UserID]identity.Role{team.Owner.User: identity.Owner, team.Admin.User: identity.Admin,
			team.Member.User: identity.Member, team.Peer.User: identity.Member, team.Viewer.User: identity.Owner}
		same(t, "roles", roles(t, a.Stores, team.Org, ws), want)
		w, err := a.Workspaces.Get(ctx, team.Viewer, ws)
		must(t, err)
		if m := w.Members[team.Viewer.User]; m.Revision != 2 || m.UpdatedAt != by.At || m.CreatedAt != fixture.At ||
			w.Owners != 2 || w.Revision != 1 {
			t.Errorf("got %+v", w)
		}
		events := eventsOn(t, a.Stores, ws, string(ws))
		same(t, "events", kinds(events), []string{"member.updated"})
		same(t, "data", events[0].Data,
			map[string]any{"user_id": string(team.Viewer.User),
				"role": map[string]any{"from": "viewer", "to": "owner"}})
	})
	t.Run("a changed role applies to keys at once", func(t *testing.T) {
		k := addKey(t, a.Stores, team.Peer, account.KeyDraft{Name: "k"})
		for _, role := range []identity.Role{identity.Admin, identity.Viewer} {
			must(t, setRole(t, a.Stores, by, ws, team.Peer.User, role))
			person, err := a.Keys.Principal(ctx, team.Org, k.Hash)
			must(t, err)
			same(t, "role", person.Membership.Role, role)
		}
	})
	t.Run("of two owners who leave concurrently one stays", func(t *testing.T) {
		for i := range 10 {
			w := ownSpace(t, a.Stores, team.Owner, fmt.Sprint("leaving-", i))
			join(t, a.Stores, team.Owner, w.ID, team.Peer, identity.Owner)
			owners := []identity.Actor{team.Owner, team.Peer}
			oneWon(t, atOnce(2, func(i int) error {
				return removeMember(t, a.Stores, owners[i], w.ID,
					owners[i].User)
			}), account.ErrLastOwner)
			require.Equal(t, "members are left", len(roles(t, a.Stores, team.Org, w.ID)), 1)
		}
	})
	t.Run("a service key does not count as an owner", func(t *testing.T) {
		w := ownSpace(t, a.Stores, team.Owner, "programs")
		bot := program(t, a.Stores, team.Owner, w, identity.Owner)
		for _, by := range []identity.Actor{team.Owner, bot} {
			wantErr(t, setRole(t, a.Stores, by, w.ID, team.Owner.User, identity.Admin), account.ErrLastOwner)
			wantErr(t, removeMember(t, a.Stores, by, w.ID, team.Owner.User), account.ErrLastOwner)
		}
		got, err := a.Workspaces.Get(ctx, bot, w.ID)
		must(t, err)
		if !got.Members[bot.User].Service || got.Owners != 1 {
			t.Errorf("got %+v", got)
		}
		must(t, removeMember(t, a.Stores, bot, w.ID, bot.User))
		same(t, "roles", roles(t, a.Stores, team.Org, w.ID),
			map[identity.UserID]identity.Role{team.Owner.User: identity.Owner})
	})
	t.Run("of two owners who lower each other concurrently one stays", func(t *testing.T) {
		w := ownSpace(t, a.Stores, team.Owner, "duel")
		join(t, a.Stores, team.Owner, w.ID, team.Peer, identity.Owner)
		owners := []identity.Actor{team.Owner, team.Peer}
		errs := atOnce(2, func(i int) error {
			return setRole(t, a.Stores, owners[i], w.ID, owners[1-i].User,
				identity.Viewer)
		})
		oneWon(t, errs, identity.ErrForbidden)
	})
}
