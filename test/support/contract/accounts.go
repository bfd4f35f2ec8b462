package contract

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Users is the suite for ports.Users.
func Users(t *testing.T, open Opener) {
	a, ctx := open(t), t.Context()
	system := identity.System(a.Orgs[0], "", "contract", fixture.At)
	user := func(t *testing.T, by identity.Actor, email string) *account.User {
		t.Helper()
		u, err := account.NewUser(by, email, "Änn", true)
		must(t, err)
		return u
	}

	t.Run("a user is read with all memberships, the oldest first", func(t *testing.T) {
		u := user(t, system, "Ann@Example.com")
		must(t, a.Users.Add(ctx, u))
		var memberships []account.Membership
		for _, m := range []account.Membership{{Role: identity.Viewer, ByHand: identity.Viewer},
			{Role: identity.Owner, ByHand: identity.Owner}} {
			m.Workspace = fixture.Workspace(t, a.Stores, system.Org, m.Role.String()+"s",
				map[identity.UserID]identity.Role{u.ID: m.Role})
			memberships = append(memberships, m)
		}
		got, m, err := a.Users.Get(ctx, system.Org, u.ID)
		must(t, err)
		same(t, "user", got, u)
		same(t, "memberships", m, memberships)
		if got.CreatedAt != fixture.At || got.UpdatedAt != fixture.At || m[0].Workspace.CreatedAt != fixture.At {
			t.Errorf("times = %v, %v, %v", got.CreatedAt, got.UpdatedAt, m[0].Workspace.CreatedAt)
		}
		for _, email := range []string{"Ann@Example.com", "aNN@eXAMPLE.COM"} {
			byEmail, m, err := a.Users.FindByEmail(ctx, system.Org, email)
			must(t, err)
			same(t, "user", byEmail, u)
			same(t, "memberships", m, memberships)
		}
	})
	t.Run("a user with a taken e-mail address, in any case, is not stored", func(t *testing.T) {
		must(t, a.Users.Add(ctx, user(t, system, "äNN@example.com")))
		second := user(t, system, "änn@EXAMPLE.com")
		wantErr(t, a.Users.Add(ctx, second), account.ErrEmailTaken)
		if _, _, err := a.Users.Get(ctx, system.Org, second.ID); !errors.Is(err, account.ErrUserNotFound) {
			t.Errorf("the user was made: %v", err)
		}
		remote := identity.System(a.Orgs[1], "", "contract", fixture.At)
		must(t, a.Users.Add(ctx, user(t, remote, "änn@example.com")))
		must(t, a.Users.Add(ctx, user(t, system, "ÄNN@example.com"))) // not ASCII, so it is another address
	})
	t.Run("of many concurrent users with one address one is stored", func(t *testing.T) {
		var wg sync.WaitGroup
		results := make(chan error, 16)
		for range cap(results) {
			u := user(t, system, "contended@example.com")
			wg.Go(func() { results <- a.Users.Add(ctx, u) })
		}
		wg.Wait()
		close(results)
		won := 0
		for err := range results {
			if err == nil {
				won++
			} else if !errors.Is(err, account.ErrEmailTaken) {
				t.Error(err)
			}
		}
		require.Equal(t, "got the address", won, 1)
	})
	t.Run("users without an address do not conflict, and are not found by an empty address", func(t *testing.T) {
		for range 2 {
			u := user(t, system, "x@example.com")
			u.Email = ""
			must(t, a.Users.Add(ctx, u))
		}
		_, _, err := a.Users.FindByEmail(ctx, system.Org, "")
		wantErr(t, err, account.ErrUserNotFound)
	})

	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[1])
	email := func(name string, in *fixture.Team) string { return name + "@" + in.Workspace.Slug + ".example" }
	t.Run("a user of another org is not found", func(t *testing.T) {
		for _, id := range []identity.UserID{other.Owner.User, "usr_00000000000000000000000000", ""} {
			_, _, err := a.Users.Get(ctx, team.Org, id)
			wantErr(t, err, account.ErrUserNotFound)
			_, err = a.Users.Update(ctx, team.Org, id,
				func(*account.User, []account.Membership) error { t.Error("change was called"); return nil })
			wantErr(t, err, account.ErrUserNotFound)
		}
		_, _, err := a.Users.FindByEmail(ctx, team.Org, email("owner", other))
		wantErr(t, err, account.ErrUserNotFound)
	})
	t.Run("Member finds members by id or address", func(t *testing.T) {
		for _, tt := range []struct {
			id    identity.UserID
			email string
			want  identity.UserID
		}{
			{id: team.Peer.User, want: team.Peer.User},
			{email: email("peer", team), want: team.Peer.User},
			{email: strings.ToUpper(email("peer", team)), want: team.Peer.User},
			{id: team.Peer.User, email: email("owner", team), want: team.Peer.User},
			{id: team.Gone.User},
			{email: email("gone", team)},
			{id: other.Peer.User},
			{email: email("peer", other)},
			{id: "usr_nobody"},
			{email: "nobody@example.com"},
			{},
		} {
			got, err := a.Users.Member(ctx, team.Workspace.ID, tt.id, tt.email)
			if err != nil || got != tt.want {
				t.Errorf("Member(%q, %q) = %q, %v; want %q", tt.id, tt.email, got, err, tt.want)
			}
		}
	})
	t.Run("Update stores the changed user", func(t *testing.T) {
		by := fixture.Later(team.Member, time.Hour)
		current, err := a.Users.Update(ctx, team.Org, by.User, func(u *account.User, m []account.Membership) error {
			same(t, "memberships", m, []account.Membership{{Workspace: team.Workspace, Role: identity.Member,
				ByHand: identity.Member}})
			return u.Change(by, nil, m, account.UserChanges{Name: new("renamed"), DefaultWorkspace: &team.Workspace.ID})
		})
		must(t, err)
		got, _, err := a.Users.Get(ctx, team.Org, by.User)
		must(t, err)
		same(t, "user", got, current)
		if got.Name != "renamed" || got.DefaultWorkspace != team.Workspace.ID || got.Revision != 2 ||
			got.UpdatedAt != by.At {
			t.Fatalf("got %+v", got)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(by.User))), []string{"user.updated"})
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		by := team.Viewer
		_, err := a.Users.Update(ctx, team.Org, by.User, func(u *account.User, m []account.Membership) error {
			return errors.Join(u.Change(by, nil, m, account.UserChanges{Name: new("lost")}), errBoom)
		})
		wantErr(t, err, errBoom)
		if got, _, err := a.Users.Get(ctx, team.Org, by.User); err != nil || got.Name != "viewer" ||
			len(eventsOn(t, a.Stores, by.Workspace, string(by.User))) != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	t.Run("concurrent changes are all kept", func(t *testing.T) {
		by := team.Admin
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := a.Users.Update(ctx, team.Org, by.User,
					func(u *account.User, m []account.Membership) error {
						return u.Change(by, nil, m, account.UserChanges{Name: new(u.Name + "!")})
					}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got, _, err := a.Users.Get(ctx, team.Org, by.User); err != nil || len(got.Name) != len("admin")+20 {
			t.Fatalf("name = %q, %v", got.Name, err)
		}
	})
}

// Events is the suite for ports.Events.
func Events(t *testing.T, open Opener) {
	a, ctx := open(t), t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	var want []event.Event // the latest first
	for i := range 7 {
		by := fixture.Later([]identity.Actor{team.Member, team.Peer}[i%2], time.Duration(i)*time.Second)
		by.Key, by.Request = "key_1", identity.Request{ID: fmt.Sprint("req-", i), Address: "2001:db8::1"}
		var log event.Log
		log.Record(by, []string{"a.made", "a.changed", "b.made"}[i%3], fmt.Sprint("subject", i%4),
			map[string]any{"n": float64(i), "ä": []any{nil, true}, "deep": map[string]any{"x": "y"}})
		must(t, a.Users.Add(ctx, &account.User{Log: log, ID: identity.UserID(fmt.Sprint("usr_", i)), Org: team.Org,
			CreatedAt: by.At, UpdatedAt: by.At}))
		want = append([]event.Event{log.Recorded()[0]}, want...)
	}
	elsewhere := event.Log{}
	elsewhere.Record(other.Member, "a.made", "subject1", nil)
	must(t, a.Users.Add(ctx, &account.User{Log: elsewhere, ID: "usr_elsewhere", Org: team.Org}))

	for _, f := range []event.Filter{
		{}, {Type: "a.made"}, {Type: "a.%"}, {Actor: team.Peer.User}, {Subject: "subject1"}, {Subject: "subject"},
		{CreatedAfter: fixture.At}, {CreatedAfter: fixture.At.Add(3*time.Second - time.Microsecond)},
		{CreatedAfter: fixture.At.Add(time.Hour)}, {Request: "req-2"}, {Request: "req"},
		{Request: "req-2", Actor: team.Member.User}, {Request: "req-2", Actor: team.Peer.User},
		{Type: "b.made", Actor: team.Member.User, Subject: "subject2", CreatedAfter: fixture.At.Add(time.Second)},
	} {
		t.Run(fmt.Sprintf("filter %+v", f), func(t *testing.T) {
			var filteredEvents []event.Event
			for _, e := range want {
				if (f.Type == "" || e.Type == f.Type) && (f.Actor == "" || e.Actor == f.Actor) &&
					(f.Subject == "" || e.Subject == f.Subject) &&
					(f.Request == "" || e.Request.ID == f.Request) &&
					(f.CreatedAfter.IsZero() || e.At.After(f.CreatedAfter)) {
					filteredEvents = append(filteredEvents, e)
				}
			}
			for _, limit := range []int{2, 100} {
				got := fixture.Events(t, a.Stores, team.Workspace.ID, f, limit)
				same(t, "events", got, filteredEvents)
			}
		})
	}
	t.Run("times come back to the microsecond, in UTC", func(t *testing.T) {
		found, err := a.Events.List(ctx, team.Workspace.ID, event.Filter{}, page.Query{Limit: 1})
		must(t, err)
		require.Equal(t, "at", found.Items[0].At, fixture.At.Add(6*time.Second))
	})
	t.Run("another workspace's events are not listed", func(t *testing.T) {
		got := eventsOn(t, a.Stores, other.Workspace.ID, "subject1")
		same(t, "events", got, elsewhere.Recorded())
	})
}
