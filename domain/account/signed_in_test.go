package account_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestASignInIsNotedInTheWorkspacesOfThePerson(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	by := identity.System("org", "", "sign-in", now)
	by.Request = identity.Request{ID: "req", Address: "192.0.2.1"}
	in := func(n int, deletedCounts ...int) *account.Person {
		p := &account.Person{User: account.User{ID: "ann", Org: "org"}}
		for i := range n {
			w := account.Workspace{ID: identity.WorkspaceID(fmt.Sprint("w", i)), Org: "org"}
			if slices.Contains(deletedCounts, i) {
				w.DeletedAt = now
			}
			p.Memberships = append(p.Memberships, account.Membership{Workspace: w, Role: identity.Member})
		}
		return p
	}
	for name, tt := range map[string]struct {
		person      *account.Person
		count       int
		first, last identity.WorkspaceID
	}{
		"in none":                     {in(0), 0, "", ""},
		"in one":                      {in(1), 1, "w0", "w0"},
		"in three, the newest first":  {in(3), 3, "w2", "w0"},
		"in 25, of which 20":          {in(25), 20, "w24", "w5"},
		"in one that was deleted":     {in(1, 0), 0, "", ""},
		"in 25, of which one deleted": {in(25, 24), 20, "w23", "w4"},
	} {
		t.Run(name, func(t *testing.T) {
			n := tt.person.SignedIn(by, "https://issuer.example")
			events := n.Events()
			if len(events) != tt.count || n.IsRecordable() != (tt.count > 0) {
				t.Fatalf("%d events, want %d", len(events), tt.count)
			}
			if tt.count == 0 {
				return
			}
			if first, last := events[0].Workspace, events[len(events)-1].Workspace; first != tt.first ||
				last != tt.last {
				t.Errorf("from %s to %s, want from %s to %s", first, last, tt.first, tt.last)
			}
			e := events[0]
			if e.Type != "user.signed_in" || e.Actor != "ann" || e.Subject != "ann" ||
				e.Data["issuer"] != "https://issuer.example" || e.Request != by.Request {
				t.Errorf("the event is %+v", e)
			}
			if want := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC); !n.Until.Equal(want) {
				t.Errorf("until %v, want %v", n.Until, want)
			}
		})
	}
	one, two, other := in(1).SignedIn(by, "https://one.example"), in(2).SignedIn(by, "https://one.example"),
		in(1).SignedIn(by, "https://two.example")
	if one.Key() != two.Key() || one.Key() == other.Key() {
		t.Error("a sign-in is counted by person and issuer")
	}
}

func TestARefusedSignInIsNotedInTheWorkspacesOfThePerson(t *testing.T) {
	by := identity.System("org", "", "sign-in", now)
	p := &account.Person{User: account.User{ID: "ann", Org: "org", DisabledAt: now}, Memberships: []account.Membership{
		{Workspace: account.Workspace{ID: "w0"}}, {Workspace: account.Workspace{ID: "w1", DeletedAt: now}}}}
	n := p.SignInRefused(by, "link")
	assert.EqualSlice(t, "workspaces", n.Workspaces, []identity.WorkspaceID{"w0"})
	events := n.Events()
	require.Equal(t, "events", len(events), 1)
	assert.Equal(t, "the type", events[0].Type, "user.sign_in_refused")
	assert.Equal(t, "the subject", events[0].Subject, "ann")
	assert.Equal(t, "the source", events[0].Data["source"], any("link"))
	assert.Equal(t, "the reason", events[0].Data["reason"], any("user_disabled"))
	later, passkey := p.SignInRefused(by, "link"), p.SignInRefused(by, "passkey")
	assert.Equal(t, "whether the same way is noted again in the hour", later.Key() == n.Key(), true)
	assert.Equal(t, "whether another way is", passkey.Key() != n.Key(), true)
	assert.Equal(t, "until when", n.Until, now.Truncate(time.Hour).Add(time.Hour))
}
