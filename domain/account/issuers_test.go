package account_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

// open returns an org that everyone can join who signs in at its only issuer.
func open(rules ...identity.ClaimRule) *identity.Org {
	for i := range rules {
		rules[i].Issuer = issuer
	}
	return &identity.Org{Issuers: []identity.Issuer{{URL: issuer, TrustEmail: true}}, ClaimRules: rules,
		SignUp: identity.SignUpOpen}
}

// withOwnSpaces returns an open org in which each new user gets a workspace.
func withOwnSpaces() *identity.Org {
	o := open()
	o.OwnSpaces = true
	return o
}

// shared returns an org with two issuers: its own, and a partner's with those settings.
func shared(extra identity.Issuer, rules ...identity.ClaimRule) *identity.Org {
	extra.URL = partner
	return &identity.Org{Issuers: []identity.Issuer{{URL: issuer, TrustEmail: true}, extra}, ClaimRules: rules,
		SignUp: identity.SignUpOpen}
}

// signedBy makes claims another issuer's.
func signedBy(url string) func(*account.Claims) { return func(c *account.Claims) { c.Issuer = url } }

func TestSettleJoinsOnlyWhereTheIssuerVouches(t *testing.T) {
	issuerOf := func(domains ...string) identity.Issuer {
		return identity.Issuer{TrustEmail: true, EmailDomains: domains}
	}
	call := func(by string) *account.User {
		u := user("ann", "ann@example.com", by != "")
		u.EmailVerifiedBy = by
		return u
	}
	for name, tt := range map[string]struct {
		signs   string // the issuer of the token
		partner identity.Issuer
		account *account.User
		joins   bool
		email   string // that the account has afterwards
		by      string // who verified it
		apart   bool
	}{
		"the org's own issuer joins": {issuer, issuerOf(), call(account.VerifiedByOperator), true,
			"ann@example.com", account.VerifiedByOperator, false},
		"a partner that is not trusted does not": {partner, identity.Issuer{}, call(issuer), false, "", "", false},
		"nor one that is for other domains": {partner, issuerOf("partner.test"), call(issuer), false,
			"", "", false},
		"nor though the account is its own person's": {partner, identity.Issuer{}, call(partner), false, "", "", false},
		"one does that is trusted with this domain": {partner, issuerOf("partner.test", "example.com"), call(issuer),
			true, "ann@example.com", issuer, false},
		"or with all": {partner, issuerOf(), call(issuer), true, "ann@example.com", issuer, false},
		"an account with an address that a partner claimed is not joined": {issuer, identity.Issuer{}, call(partner),
			false, "", "", true},
		"nor one with an address that it may no longer claim": {issuer, issuerOf("partner.test"), call(partner), false,
			"", "", true},
		"one with an address that it may claim is": {issuer, issuerOf("example.com"), call(partner), true,
			"ann@example.com", partner, false},
		"what an issuer verified that is gone still counts": {issuer, identity.Issuer{}, call("https://gone.example"),
			true, "ann@example.com", "https://gone.example", false},
		"an address with no known verifier does not": {issuer, identity.Issuer{},
			func() *account.User { u := call(issuer); u.EmailVerifiedBy = ""; return u }(), false, "", "", true},
		"an issuer that is not the org's joins nothing": {"https://elsewhere.example", issuerOf(), call(issuer), false,
			"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			previous := *tt.account
			s := account.SignIn{Claims: claims(signedBy(tt.signs)), Org: shared(tt.partner), ByEmail: tt.account}
			if s.Email() == "" {
				s.ByEmail = nil // as a store does
			}
			require.NoError(t, s.Settle(signingIn))
			if (s.User == tt.account) != tt.joins || s.IsNew == tt.joins || (s.NotJoined != nil) != tt.apart {
				t.Fatalf("joined %v, fresh %v, apart %v", s.User == tt.account, s.IsNew, s.NotJoined != nil)
			}
			if s.User.Email != tt.email || s.User.EmailVerified != (tt.email != "") || s.User.EmailVerifiedBy != tt.by {
				t.Errorf("address %q, verified %v by %q", s.User.Email, s.User.EmailVerified, s.User.EmailVerifiedBy)
			}
			if !tt.joins && !reflect.DeepEqual(previous, *tt.account) {
				t.Errorf("the other account became %+v", tt.account)
			}
		})
	}
}

func TestSettleKeepsWhoVerifiedAnAddress(t *testing.T) {
	verify := func(by string) *account.User {
		u := user("ann", "ann@example.com", by != "")
		u.EmailVerifiedBy = by
		return u
	}
	unknown := verify("")
	unknown.EmailVerified = true
	for name, tt := range map[string]struct {
		signs  string
		linked *account.User
		email  string // of the token
		want   account.User
		told   bool
	}{
		"a confirmation changes nothing": {issuer, verify(issuer), "ann@example.com",
			account.User{Email: "ann@example.com", EmailVerifiedBy: issuer}, false},
		"nor of what an operator vouches for": {issuer, verify(account.VerifiedByOperator),
			"ann@example.com", account.User{Email: "ann@example.com", EmailVerifiedBy: account.VerifiedByOperator},
			false},
		"it is noted where no one was known": {issuer, unknown, "ann@example.com",
			account.User{Email: "ann@example.com", EmailVerifiedBy: issuer}, true},
		"or where that one may not vouch": {issuer, verify(partner), "ann@example.com",
			account.User{Email: "ann@example.com", EmailVerifiedBy: issuer}, true},
		"another address is noted with its issuer": {issuer, verify(account.VerifiedByOperator),
			"anna@example.com", account.User{Email: "anna@example.com", EmailVerifiedBy: issuer}, true},
		"a partner's claim is not": {partner, verify(issuer), "anna@example.com",
			account.User{Email: "ann@example.com", EmailVerifiedBy: issuer}, false},
		"an address goes for which it may not vouch": {partner, verify(partner), "ann@example.com",
			account.User{}, true},
		"also where the token names another one": {partner, verify(partner), "anna@example.com",
			account.User{}, true},
		"an address of its own domain is a partner's": {partner, verify(issuer), "ann@partner.test",
			account.User{Email: "ann@partner.test", EmailVerifiedBy: partner}, true},
		"and takes the place of what it verified wrong": {partner, verify(partner), "ann@partner.test",
			account.User{Email: "ann@partner.test", EmailVerifiedBy: partner}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := claims(signedBy(tt.signs))
			c.Email = tt.email
			u := *tt.linked
			org := shared(identity.Issuer{TrustEmail: true, EmailDomains: []string{"partner.test"}})
			s := account.SignIn{Claims: c, Org: org, Linked: &u}
			require.NoError(t, s.Settle(signingIn))
			if u.Email != tt.want.Email || u.EmailVerifiedBy != tt.want.EmailVerifiedBy ||
				u.EmailVerified != (u.Email != "") {
				t.Errorf("address %q, verified %v by %q", u.Email, u.EmailVerified, u.EmailVerifiedBy)
			}
			if isReported := len(u.Recorded()) > 0; isReported != tt.told {
				t.Errorf("told %v: %+v", isReported, u.Recorded())
			}
			p := account.Person{User: *tt.linked, IssuedAt: c.IssuedAt}
			if p.Settled(c, org) != !tt.told || !reflect.DeepEqual(p.User, *tt.linked) {
				t.Errorf("settled %v; the person is %+v", p.Settled(c, org), p.User)
			}
		})
	}
}

func TestRulesAreForTheirIssuer(t *testing.T) {
	rule := func(url, group, slug string, role identity.Role) identity.ClaimRule {
		return identity.ClaimRule{Issuer: url, Claim: "groups", Value: group, Workspace: slug, Role: role}
	}
	rules := []identity.ClaimRule{
		rule(issuer, "dev", "acme-slug", identity.Admin), rule(partner, "guests", "acme-slug", identity.Viewer),
		{Issuer: issuer, Claim: "groups", Value: "ops", Operator: true},
		{Issuer: partner, Claim: "groups", Value: "helpers", Operator: true},
	}
	type membership struct {
		Role     identity.Role
		Granted  account.Granted
		Operator bool
		By       []string
	}
	pair := membership{identity.Admin, account.Granted{issuer: identity.Admin, partner: identity.Viewer}, true,
		[]string{issuer, partner}}
	own := membership{identity.Admin, account.Granted{issuer: identity.Admin}, true, []string{issuer}}
	item := membership{}
	for name, tt := range map[string]struct {
		is     membership
		byHand identity.Role
		signs  string
		groups []string
		rules  []identity.ClaimRule
		want   membership
	}{
		"a partner's token gets nothing by the rules of another issuer": {item, identity.NoRole, partner,
			[]string{"dev", "ops"}, rules, item},
		"but what its own rules give": {
			item, identity.NoRole, partner, []string{"guests", "helpers", "dev"}, rules,
			membership{identity.Viewer, account.Granted{partner: identity.Viewer}, true, []string{partner}},
		},
		"it takes nothing away that rules of another issuer gave": {own, identity.NoRole, partner, nil, rules, own},
		"nor that people gave":                                               {membership{Role: identity.Owner}, identity.Owner, partner, nil, rules, membership{Role: identity.Owner}},
		"both may give":                                                      {own, identity.NoRole, partner, []string{"guests", "helpers"}, rules, pair},
		"and each takes its own away: the partner":                           {pair, identity.NoRole, partner, nil, rules, own},
		"and the other one":                                                  {pair, identity.NoRole, issuer, nil, rules, membership{identity.Viewer, account.Granted{partner: identity.Viewer}, true, []string{partner}}},
		"the last to take leaves nothing":                                    {own, identity.NoRole, issuer, nil, rules, item},
		"but what people gave":                                               {own, identity.Viewer, issuer, nil, rules, membership{Role: identity.Viewer}},
		"what rules gave that are gone goes with any token":                  {own, identity.NoRole, partner, nil, rules[1:2], item},
		"or shrinks to what they can still give":                             {own, identity.NoRole, partner, nil, []identity.ClaimRule{rule(issuer, "dev", "acme-slug", identity.Member)}, membership{Role: identity.Member, Granted: account.Granted{issuer: identity.Member}}},
		"a role with no known giver goes too":                                {membership{Role: identity.Admin, Operator: true}, identity.NoRole, partner, nil, rules, item},
		"a token does not raise anyone to what another issuer gave long ago": {membership{identity.Viewer, account.Granted{issuer: identity.Admin}, false, []string{issuer}}, identity.Viewer, partner, nil, rules, membership{Role: identity.Viewer}},
	} {
		t.Run(name, func(t *testing.T) {
			w, u := acme(), user("ann", "ann@example.com", true)
			if tt.is.Role != identity.NoRole {
				w.Members["ann"] = account.Member{User: "ann", Role: tt.is.Role, ByHand: tt.byHand,
					Granted: tt.is.Granted, Revision: 1}
				w.Owners++ // there is another owner
			}
			u.Operator, u.OperatorBy = tt.is.Operator, tt.is.By
			c := claims(func(c *account.Claims) {
				c.Issuer, c.Raw = tt.signs,
					map[string]any{"groups": anys(tt.groups)}
			})
			org := shared(identity.Issuer{}, tt.rules...)
			m := w.Members["ann"]
			p := account.Person{User: *u, IssuedAt: c.IssuedAt}
			if m.Role != identity.NoRole {
				p.Memberships = []account.Membership{{Workspace: *w, Role: m.Role, ByHand: m.ByHand,
					Granted: m.Granted}}
			}
			isSettled := p.Settled(c, org)
			s := account.SignIn{Claims: c, Org: org, Linked: u,
				Workspaces: map[string]*account.Workspace{"acme-slug": w}}
			require.NoError(t, s.Settle(signingIn))
			m = w.Members["ann"]
			got := membership{m.Role, m.Granted, u.Operator, u.OperatorBy}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if reports := slices.Concat(u.Recorded(), w.Recorded()); isSettled != (len(reports) == 0) {
				t.Errorf("settled %v, and told %+v", isSettled, reports)
			}
		})
	}
	t.Run("a role by hand ends what rules gave", func(t *testing.T) {
		w := byRules(acme(), "member", identity.NoRole)
		m, err := w.ChangeRole(person("admin"), nil, "member", identity.Viewer, false)
		if err != nil || m.Role != identity.Viewer || m.Granted != nil {
			t.Errorf("ChangeRole = %+v, %v", m, err)
		}
	})
}
