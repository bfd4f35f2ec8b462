package contract

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Offboarding is the suite for what ends with a membership or with a person's account.
func Offboarding(t *testing.T, open Opener) {
	a := open(t)
	t.Run("service keys of a member who is removed", func(t *testing.T) { creatorRemoved(t, a) })
	t.Run("service keys of a member whose role is lowered", func(t *testing.T) { creatorLowered(t, a) })
	t.Run("service keys of people in a group that ends", func(t *testing.T) { creatorUngrouped(t, a) })
	t.Run("service keys of a person who is suspended", func(t *testing.T) { creatorSuspended(t, a) })
	t.Run("webhooks of a member whose role is lowered", func(t *testing.T) { endpointsLoseTheirOwner(t, a) })
	t.Run("the creators of a program", func(t *testing.T) { creatorsLoaded(t, a) })
	t.Run("programs of an owner who transfers", func(t *testing.T) { programsOfOwnersLoaded(t, a) })
	t.Run("groups that a program links to tokens", func(t *testing.T) { groupsOfPrograms(t, a) })
	t.Run("List", func(t *testing.T) { peopleListed(t, a) })
	t.Run("ChangeAccess", func(t *testing.T) { accessChanged(t, a) })
	t.Run("ChangeAccess at once", func(t *testing.T) { operatorsRace(t, a) })
}

// live reports for each key whether it is accepted.
func live(t testing.TB, s ports.Stores, org identity.OrgID, keys ...*account.Key) (out []bool) {
	t.Helper()
	for _, k := range keys {
		person, err := s.Keys.Principal(t.Context(), org, k.Hash)
		must(t, err)
		out = append(out, person.Live(identity.KeyPolicy{}, fixture.At.Add(time.Minute)))
	}
	return out
}

// offboarded returns a team whose admin has created a personal key, one service key while signed in, and one with the
// personal key. The first service key has created a key for itself. others is a service key of the owner.
func offboarded(
	t testing.TB, a Adapter,
) (team *fixture.Team, personal *account.Key, service []*account.Key, others *account.Key) {
	t.Helper()
	team = fixture.NewTeam(t, a.Stores, a.Orgs[0])
	signedIn := team.Admin
	signedIn.Key = ""
	personal = addKey(t, a.Stores, signedIn, account.KeyDraft{Name: "laptop"})
	u, first := fixture.ServiceKey(t, a.Stores, signedIn, account.KeyDraft{Name: "first", Ceiling: identity.Member})
	byKey := team.Admin
	byKey.Key = personal.ID
	_, second := fixture.ServiceKey(t, a.Stores, byKey, account.KeyDraft{Name: "second", Ceiling: identity.Admin})
	bearer := identity.Actor{
		Org: team.Org, User: u.ID, Service: true, Workspace: team.Workspace.ID, Role: identity.Member,
		Ceiling: identity.Member, Key: first.ID, At: fixture.At,
	}
	third := addKey(t, a.Stores, bearer, account.KeyDraft{Name: "third"})
	owner := team.Owner
	owner.Key = ""
	_, others = fixture.ServiceKey(t, a.Stores, owner, account.KeyDraft{Name: "others", Ceiling: identity.Member})
	return team, personal, []*account.Key{first, second, third}, others
}

func creatorRemoved(t *testing.T, a Adapter) {
	for _, keep := range []account.KeepServiceKeys{false, true} {
		team, personal, service, others := offboarded(t, a)
		all := append([]*account.Key{personal, others}, service...)
		same(t, "before", live(t, a.Stores, team.Org, all...), []bool{true, true, true, true, true})
		by := fixture.Later(team.Owner, time.Second)
		must(t, changeWorkspace(t, a.Stores, by, team.Workspace.ID, []identity.UserID{team.Admin.User},
			func(w *account.Workspace) error {
				return w.Remove(by, nil, team.Admin.User, keep)
			}))
		stay := bool(keep)
		same(t, "after", live(t, a.Stores, team.Org, all...), []bool{false, true, stay, stay, stay})
		last := kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(service[2].ID)))[0]
		same(t, "told of an ended key", last == "api_key.revoked", !stay)
		if stay {
			keptKeysHaveAnotherOwner(t, a, team, service)
		}
	}
}

func accessChanged(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, personal, service, others := offboarded(t, a)
	all := append([]*account.Key{personal, others}, service...)
	person := team.Admin.User
	second := ownSpace(t, a.Stores, team.Admin, "second-"+string(person)[len(person)-8:])
	by := fixture.Later(identity.System(team.Org, "", "cli", fixture.At), time.Second)
	load := func() *account.Access {
		t.Helper()
		var got *account.Access
		wantErr(t, a.People.ChangeAccess(ctx, by, person, func(a *account.Access) error { got = a; return errBoom }),
			errBoom)
		return got
	}
	t.Run("change gets the account with its workspaces and keys", func(t *testing.T) {
		got := load()
		in := []identity.WorkspaceID{team.Workspace.ID, second.ID}
		slices.Sort(in)
		same(t, "workspaces", got.MemberOf, in)
		same(t, "keys", len(got.Powers[team.Workspace.ID].Keys), 4)
		if got.User.ID != person || slices.Contains(got.Operators, person) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("keys of a disabled account are refused, and its service keys end", func(t *testing.T) {
		must(t, a.People.ChangeAccess(ctx, by, person,
			func(a *account.Access) error { return a.Disable(by, "left", false) }))
		same(t, "live", live(t, a.Stores, team.Org, all...), []bool{false, true, false, false, false})
		u, _, err := a.Users.Get(ctx, team.Org, person)
		must(t, err)
		same(t, "disabled at", u.DisabledAt, by.At)
		for _, ws := range []identity.WorkspaceID{team.Workspace.ID, second.ID} {
			same(t, "told", kinds(eventsOn(t, a.Stores, ws, string(person)))[0], "user.disabled")
		}
		proven, err := a.Tickets.Proven(ctx, team.Org, []session.Proof{{Key: personal.Hash}})
		must(t, err)
		same(t, "proof stands", session.Proof{}.Valid(&identity.Org{ID: team.Org}, proven[0], by.At), false)
	})
	t.Run("another process sees within a second that an account is disabled", func(t *testing.T) {
		other := a.Second()
		got, err := other.Keys.Principal(ctx, team.Org, personal.Hash)
		must(t, err)
		same(t, "enabled", got.User.Enabled(), false)
	})
	t.Run("an account that is enabled again can use its keys that did not end", func(t *testing.T) {
		must(t, a.People.ChangeAccess(ctx, by, person, func(a *account.Access) error { return a.Enable(by, "") }))
		same(t, "live", live(t, a.Stores, team.Org, all...), []bool{true, true, false, false, false})
	})
	t.Run("an account of another org is not found", func(t *testing.T) {
		by := by
		by.Org = a.Orgs[1]
		wantErr(t, a.People.ChangeAccess(ctx, by, person, func(*account.Access) error {
			t.Error("change was called")
			return nil
		}), account.ErrUserNotFound)
	})
}

// operatorsRace has two operators disable each other concurrently. One must remain.
func operatorsRace(t *testing.T, a Adapter) {
	ctx := t.Context()
	system := identity.System(a.Orgs[1], "", "cli", fixture.At)
	var operators []identity.Actor
	for i := range 2 {
		u, err := account.NewUser(system, "operator-"+string(rune('a'+i))+"@example.com", "", true)
		must(t, err)
		must(t, a.Users.Add(ctx, u))
		operators = append(operators, identity.Actor{Org: u.Org, User: u.ID, Operator: true, Ceiling: identity.Owner,
			At: fixture.At})
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, by := range operators {
		wg.Go(func() {
			errs[i] = a.People.ChangeAccess(ctx, by, operators[1-i].User,
				func(a *account.Access) error { return a.Disable(by, "", false) })
		})
	}
	wg.Wait()
	oneWon(t, errs, identity.ErrForbidden)
	t.Run("who cannot disable themselves", func(t *testing.T) {
		for _, by := range operators {
			err := a.People.ChangeAccess(ctx, by, by.User,
				func(a *account.Access) error { return a.Disable(by, "", false) })
			if u, _, _ := a.Users.Get(ctx, by.Org, by.User); u.Enabled() {
				wantErr(t, err, account.ErrLastOperator)
			} else {
				wantErr(t, err, identity.ErrForbidden)
			}
		}
	})
}
