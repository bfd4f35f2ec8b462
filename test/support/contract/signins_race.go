package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func signInsRace(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	members := func() int {
		return len(fixture.Pages(t, 100, func(q page.Query) (account.MemberPage, error) {
			return a.Workspaces.Members(ctx, team.Org, team.Workspace.ID, q)
		}))
	}
	rules := []identity.ClaimRule{{Issuer: issuer, Claim: "in", Value: "true", Workspace: team.Workspace.Slug,
		Role: identity.Viewer}}
	for name, c := range map[string]account.Claims{
		"with an address":    {Email: "raced@example.com", EmailVerified: true},
		"without an address": {},
	} {
		t.Run("many first sign-ins of one subject create one account, "+name, func(t *testing.T) {
			c.Issuer, c.Subject, c.Raw = issuer, name, map[string]any{"in": true}
			previous := members()
			ids := make([]identity.UserID, 16)
			must(t, errors.Join(atOnce(len(ids), func(i int) error {
				org := anyoneOf(rules...)
				org.OwnSpaces = true
				p, err := trySignIn(t, a.Stores, team.Org, account.SignIn{Claims: c, Org: org})
				if err == nil {
					ids[i] = p.User.ID
					if len(p.Memberships) != 2 {
						t.Errorf("memberships = %+v", p.Memberships)
					}
				}
				return err
			})...))
			for _, id := range ids {
				same(t, "account", id, ids[0])
			}
			same(t, "members", members(), previous+1)
		})
	}
	t.Run("first sign-ins with one address, one per issuer, share one account", func(t *testing.T) {
		ids := make([]identity.UserID, 8)
		must(t, errors.Join(atOnce(len(ids), func(i int) error {
			org := anyoneOf()
			org.Issuers = append(org.Issuers, identity.Issuer{URL: fmt.Sprint(issuer, "/", i), TrustEmail: true})
			p, err := trySignIn(t, a.Stores, team.Org, account.SignIn{
				Claims: account.Claims{Issuer: fmt.Sprint(issuer, "/", i), Subject: "sharer",
					Email: "shared@example.com", EmailVerified: true}, Org: org,
			})
			if err == nil {
				ids[i] = p.User.ID
			}
			return err
		})...))
		for _, id := range ids {
			same(t, "account", id, ids[0])
		}
	})
	for name, isNew := range map[string]bool{"that nobody has": false, "of an account that was made before": true} {
		t.Run("of many subjects of one issuer with one address "+name+", one gets it and the others are separate "+
			"accounts", func(t *testing.T) {
			email := fmt.Sprint("recycled-", isNew, "@example.com")
			if isNew {
				newcomer(t, a.Stores, team.Org, email)
			}
			var mu sync.Mutex
			people := map[identity.UserID]string{}
			must(t, errors.Join(atOnce(8, func(i int) error {
				p, err := trySignIn(t, a.Stores, team.Org,
					account.SignIn{Claims: account.Claims{Issuer: issuer, Subject: fmt.Sprint(email, i), Email: email,
						EmailVerified: true}, Org: anyoneOf()})
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					people[p.User.ID] = p.User.Email
				}
				return err
			})...))
			existing := 0
			for _, existingText := range people {
				if existingText != "" {
					existing++
				}
			}
			same(t, "people, with the address", []int{len(people), existing}, []int{8, 1})
		})
	}
	t.Run("of accounts that claim one address at once one gets it, and all stay separate", func(t *testing.T) {
		ids := map[identity.UserID]int{}
		claim := func(i int) account.Claims {
			return account.Claims{Issuer: issuer, Subject: fmt.Sprint("claimer ", i)}
		}
		for i := range 8 {
			ids[signIn(t, a.Stores, team.Org, claim(i), nil).User.ID] = i
		}
		same(t, "accounts", len(ids), 8)
		must(t, errors.Join(atOnce(8, func(i int) error {
			c := claim(i)
			c.Email, c.EmailVerified = "claimed@example.com", true
			p, err := trySignIn(t, a.Stores, team.Org, account.SignIn{Claims: c, Org: anyoneOf()})
			if err == nil && ids[p.User.ID] != i {
				t.Errorf("claimer %d became %d", i, ids[p.User.ID])
			}
			return err
		})...))
		existing := 0
		for id := range ids {
			u, _, err := a.Users.Get(ctx, team.Org, id)
			must(t, err)
			if u.Email != "" {
				existing++
			}
		}
		same(t, "accounts with the address", existing, 1)
	})
}
