package account_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const issuer, partner = "https://issuer.example", "https://partner.example"

var signingIn = identity.System("org", "", "sign-in", later)

// claims returns Ann's claims after change.
func claims(change func(*account.Claims)) account.Claims {
	c := account.Claims{Issuer: issuer, Subject: "sub", Email: "ann@example.com", EmailVerified: true, Name: "Ann",
		IssuedAt: now}
	if change != nil {
		change(&c)
	}
	return c
}

// issued makes claims newer by later.
func issued(delay time.Duration) func(*account.Claims) {
	return func(c *account.Claims) { c.IssuedAt = c.IssuedAt.Add(delay) }
}

// user returns a user who was created a minute ago.
func user(id identity.UserID, email string, isVerified bool) *account.User {
	by := ""
	if isVerified {
		by = issuer
	}
	return &account.User{EmailVerifiedBy: by, ID: id, Org: "org", Email: email, EmailVerified: isVerified, Name: "Ann",
		Revision: 3, CreatedAt: now, UpdatedAt: now}
}

// types returns the types of the recorded events.
func types(log event.Log) (out []string) {
	for _, e := range log.Recorded() {
		out = append(out, e.Type)
	}
	return out
}

func TestSettleFindsTheAccount(t *testing.T) {
	verify := func(isVerified bool, email string) func(*account.Claims) {
		return func(c *account.Claims) { c.Email, c.EmailVerified = email, isVerified }
	}
	for name, tt := range map[string]struct {
		claims          func(*account.Claims)
		linked, byEmail *account.User
		want            identity.UserID // empty: a new one
		link            bool
		email           string // that the account has then, verified or none
		events          []string
	}{
		"who is linked is that account": {nil, user("ann", "ann@example.com", true),
			user("ann", "ann@example.com", true), "ann", false, "ann@example.com", nil},
		"whatever their address has become": {verify(true, "anna@example.com"), user("ann", "ann@example.com", true),
			nil, "ann", false, "anna@example.com",
			[]string{"user.updated"}},
		"an address that is vouched for no longer stays": {verify(false, "anna@example.com"),
			user("ann", "ann@example.com", true), nil, "ann", false, "ann@example.com", nil},
		"an address of another account stays that one's": {nil, user("ann", "old@example.com", true),
			user("bob", "ann@example.com", true), "ann", false, "old@example.com", nil},
		"though no one vouched for it there": {nil, user("ann", "", false), user("bob", "ann@example.com", false),
			"ann", false, "", nil},
		"a linked one gets the address it lacks": {nil, user("ann", "", false), nil, "ann", false, "ann@example.com",
			[]string{"user.updated"}},
		"or has it vouched for": {nil, user("ann", "ann@example.com", false),
			user("ann", "ann@example.com", false), "ann", false, "ann@example.com", []string{"user.updated"}},
		"its case follows the token": {nil, user("ann", "Ann@Example.com", true), user("ann", "Ann@Example.com", true),
			"ann", false, "ann@example.com", []string{"user.updated"}},

		"an account is joined by an address that both sides vouch for": {nil, nil, user("ann", "ann@example.com", true), "ann", true, "ann@example.com", []string{"user.linked"}},
		"whatever the case of it":                                      {nil, nil, user("ann", "ANN@example.com", true), "ann", true, "ann@example.com", []string{"user.linked", "user.updated"}},
		"not if the issuer does not vouch for it":                      {verify(false, "ann@example.com"), nil, user("ann", "ann@example.com", true), "", true, "", []string{"user.created"}},
		"nor if no one did for the account's":                          {nil, nil, user("ann", "ann@example.com", false), "", true, "", []string{"user.created"}},
		"nor by no address at all":                                     {verify(true, ""), nil, user("ann", "", true), "", true, "", []string{"user.created"}},
		"nor by one that has a NUL":                                    {verify(true, "ann@example.com\x00"), nil, user("ann", "ann@example.com\x00", true), "", true, "", []string{"user.created"}},
		"nor by what is no address":                                    {verify(true, "ann"), nil, user("ann", "ann", true), "", true, "", []string{"user.created"}},
		"a newcomer gets an account": {nil, nil, nil, "", true, "ann@example.com",
			[]string{"user.created"}},
		"without an address that is not vouched for": {verify(false, "ann@example.com"), nil, nil,
			"", true, "", []string{"user.created"}},
		"nor what is no address": {verify(true, "ann@"), nil, nil, "", true, "",
			[]string{"user.created"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := account.SignIn{Claims: claims(tt.claims), Org: open(), Linked: tt.linked, ByEmail: tt.byEmail}
			require.NoError(t, s.Settle(signingIn))
			u := s.User
			if s.IsNew != (tt.want == "") || s.Link != tt.link || s.PersonalWorkspace != nil {
				t.Errorf("fresh %v, link %v, own %+v", s.IsNew, s.Link, s.PersonalWorkspace)
			}
			if (!s.IsNew && u.ID != tt.want) || (s.IsNew &&
				(!id.Valid(identity.UserPrefix, string(u.ID)) || u.Org != "org" || u.CreatedAt != later ||
					u.Revision != 1 || u.Service || u.Operator)) {
				t.Errorf("user %+v", u)
			}
			if u.Email != tt.email || (!s.IsNew && tt.email == "" && u.EmailVerified) || (tt.email != "" &&
				!u.EmailVerified) {
				t.Errorf("address %q, verified %v", u.Email, u.EmailVerified)
			}
			if s.IsNew && tt.email == "" && u.EmailVerified {
				t.Error("no address is vouched for")
			}
			assert.Equal(t, "name", u.Name, "Ann")
			recorded(t, u.Log, signingIn, string(u.ID), tt.events...)
			if isUpdated := slices.Contains(tt.events, "user.updated"); !s.IsNew &&
				isUpdated != (u.Revision == 4 && u.UpdatedAt == later) {
				t.Errorf("revision %d, updated %v", u.Revision, u.UpdatedAt)
			}
			if tt.byEmail != nil && tt.byEmail != u && (len(tt.byEmail.Recorded()) != 0 || tt.byEmail.Revision != 3) {
				t.Errorf("the other account changed: %+v", tt.byEmail)
			}
		})
	}
	t.Run("another subject of an issuer is another person, though it has the address", func(t *testing.T) {
		for _, linkedUser := range []*account.User{nil, user("eve", "", false)} {
			ann := user("ann", "ann@example.com", true)
			s := account.SignIn{Claims: claims(nil), Org: open(), Linked: linkedUser, ByEmail: ann, HasSubject: true}
			require.NoError(t, s.Settle(signingIn))
			if s.User == ann || s.User.Email != "" || s.User.EmailVerified || s.User.Name != "Ann" ||
				ann.Revision != 3 || len(ann.Recorded()) != 0 {
				t.Errorf("user %+v", s.User)
			}
			if (linkedUser == nil && (!s.IsNew || !s.Link || s.NotJoined != ann)) || (linkedUser != nil &&
				(s.IsNew || s.Link || s.User != linkedUser || s.NotJoined != nil)) {
				t.Errorf("fresh %v, link %v, apart %+v", s.IsNew, s.Link, s.NotJoined)
			}
		}
	})
	t.Run("a link's event names the issuer, and no event the address or subject", func(t *testing.T) {
		s := account.SignIn{Claims: claims(nil), Org: open(), ByEmail: user("ann", "ann@example.com", true)}
		require.NoError(t, s.Settle(signingIn))
		if data := s.User.Recorded()[0].Data; data["issuer"] != issuer || len(data) != 1 {
			t.Errorf("data = %v", data)
		}
	})
}

func TestSettleTellsTheWorkspaces(t *testing.T) {
	rules := []identity.ClaimRule{
		{Claim: "groups", Value: "dev", Workspace: "acme-slug", Role: identity.Member},
		{Claim: "groups", Value: "ops", Operator: true},
	}
	ann, bob := user("ann", "ann@example.com", true), user("bob", "bob@example.com", true)
	in := map[identity.UserID][]identity.WorkspaceID{"ann": {"beta", "acme"}, "bob": {"gamma"}}
	for name, tt := range map[string]struct {
		s      account.SignIn
		groups []string
		is     identity.Role // in acme, by rules
		want   []string
	}{
		"a link is recorded in all their workspaces, and in no other": {account.SignIn{ByEmail: ann, MemberOf: in}, []string{"dev"}, identity.Member, []string{"user.linked acme", "user.linked beta"}},
		"so is what changed, once each":                               {account.SignIn{Linked: bob, MemberOf: in}, []string{"ops"}, identity.NoRole, []string{"user.updated gamma"}},
		"to one who joins too":                                        {account.SignIn{Linked: bob, MemberOf: in}, []string{"dev"}, identity.NoRole, []string{"user.updated acme", "user.updated gamma"}},
		"but not to one who leaves": {account.SignIn{ByEmail: ann, MemberOf: in}, nil,
			identity.Member, []string{"user.linked beta"}},
		"of who is in none an event without one is kept": {account.SignIn{ByEmail: ann}, nil,
			identity.NoRole, []string{"user.linked "}},
		"a newcomer without a place is told of to none": {account.SignIn{}, nil, identity.NoRole,
			[]string{"user.created "}},
		"a user admitted by rules is recorded there": {account.SignIn{}, []string{"dev"}, identity.NoRole,
			[]string{"user.created acme"}},
		"who gets a workspace is told of there, by its own": {account.SignIn{Org: withOwnSpaces()}, nil,
			identity.NoRole, []string{"user.created own"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, u := range []**account.User{&tt.s.Linked, &tt.s.ByEmail} {
				if *u != nil {
					fresh := **u
					*u = &fresh
				}
			}
			w := acme()
			if tt.is != identity.NoRole {
				w.Members["ann"] = account.Member{User: "ann", Role: tt.is, Revision: 1}
			}
			if tt.s.Org == nil {
				tt.s.Org = open()
			}
			tt.s.Org.ClaimRules = open(rules...).ClaimRules
			tt.s.Claims, tt.s.Workspaces = claims(func(c *account.Claims) {
				c.Raw = map[string]any{"groups": anys(tt.groups)}
			}), map[string]*account.Workspace{"acme-slug": w}
			require.NoError(t, tt.s.Settle(signingIn))
			var got []string
			for _, e := range tt.s.User.Recorded() {
				if tt.s.PersonalWorkspace != nil && e.Workspace == tt.s.PersonalWorkspace.ID {
					e.Workspace = "own"
				}
				got = append(got, e.Type+" "+string(e.Workspace))
				if text := fmt.Sprint(e.Data); strings.Contains(text, "Ann") || strings.Contains(text, "@") {
					t.Errorf("%s holds %s", e.Type, text)
				}
			}
			assert.EqualSlice(t, "told", got, tt.want)
		})
	}
}

func TestSettleHeedsTheNewestToken(t *testing.T) {
	rules := []identity.ClaimRule{{Claim: "groups", Value: "lead", Workspace: "acme-slug", Role: identity.Admin},
		{Claim: "groups", Value: "lead", Operator: true}}
	for name, tt := range map[string]struct {
		issued time.Time
		heeded bool
	}{
		"a newer one is heeded":         {now.Add(time.Microsecond), true},
		"so is one of the same moment":  {now, true},
		"an older one is not":           {now.Add(-time.Microsecond), false},
		"nor one that tells no age":     {time.Time{}, false},
		"though that is by far the one": {now.Add(-time.Hour), false},
	} {
		for _, role := range []identity.Role{identity.NoRole, identity.Member} { // what the token would raise, or give
			t.Run(name, func(t *testing.T) {
				w, ann := acme(), user("ann", "ann@example.com", true)
				if role != identity.NoRole {
					w.Members["ann"] = account.Member{User: "ann", Role: role, Revision: 1}
				}
				s := account.SignIn{
					Claims: claims(func(c *account.Claims) {
						c.IssuedAt, c.Name, c.Email, c.Raw = tt.issued, "Anna", "anna@example.com",
							map[string]any{"groups": "lead"}
					}),
					Org: open(rules...), Linked: ann, IssuedAt: now,
					Workspaces: map[string]*account.Workspace{"acme-slug": w},
				}
				require.NoError(t, s.Settle(signingIn))
				if s.User != ann || s.IsNew || s.Link {
					t.Fatalf("it is somebody else: %+v", s.User)
				}
				count := len(ann.Recorded()) + len(w.Recorded())
				if (tt.heeded && (s.IssuedAt != tt.issued || w.Members["ann"].Role != identity.Admin || !ann.Operator ||
					ann.Name != "Anna" || ann.Email != "anna@example.com")) ||
					(!tt.heeded && (s.IssuedAt != now || w.Members["ann"].Role != role || ann.Operator ||
						ann.Name != "Ann" || ann.Email != "ann@example.com" || count != 0)) {
					t.Errorf("user %+v, member %+v, newest %v, told %d", ann, w.Members["ann"], s.IssuedAt, count)
				}
			})
		}
	}
	t.Run("a first sign-in has no older token", func(t *testing.T) {
		s := account.SignIn{Claims: claims(nil), Org: open(), ByEmail: user("ann", "ann@example.com", true)}
		require.NoError(t, s.Settle(signingIn))
		if !s.Link || s.IssuedAt != now {
			t.Errorf("link %v, newest %v", s.Link, s.IssuedAt)
		}
	})
}

func TestSettleFollowsTheName(t *testing.T) {
	for name, tt := range map[string]struct{ claimed, want string }{
		"another name":                    {"Änn Example", "Änn Example"},
		"the same":                        {"Ann", "Ann"},
		"none, which takes nothing away":  {"", "Ann"},
		"one of control characters alone": {"\x00\n\x7f\u0085", "Ann"},
		"one that holds some":             {"A\x00n\nn\u0085a\x7f", "Anna"},
		"one of 121 characters":           {strings.Repeat("ä", 121), strings.Repeat("ä", 120)},
		"one that is not UTF-8":           {"Ann\xff", "Ann\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			c := claims(func(c *account.Claims) { c.Name = tt.claimed })
			s := account.SignIn{Claims: c, Org: open(), Linked: user("ann", "ann@example.com", true)}
			require.NoError(t, s.Settle(signingIn))
			if s.User.Name != tt.want || (tt.want != "Ann") != (len(s.User.Recorded()) == 1) {
				t.Errorf("name = %q, recorded %q", s.User.Name, types(s.User.Log))
			}
			p := account.Person{User: *user("ann", "ann@example.com", true), IssuedAt: c.IssuedAt}
			if p.Settled(c, open()) != (tt.want == "Ann") {
				t.Errorf("settled = %v", !(tt.want == "Ann"))
			}
		})
	}
}
