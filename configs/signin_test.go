package configs_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestIssuers(t *testing.T) {
	for issuer, ok := range map[string]bool{
		"https://login.example.com": true, "https://login.example.com/": true,
		"https://Login.example.com/realms/Acme": true,
		"https://login.example.com:8443":        true, "https://192.0.2.1": true,
		"http://localhost:8080/realms/a": true, "http://127.0.0.2": true, "http://[::1]:8080": true,
		"http://login.example.com": false, "http://localhost.evil.test": false, "https://": false,
		"https:///realms": false, "": false,
		"login.example.com": false, "https://u:p@login.example.com": false, "https://login.example.com?x=1": false,
		"https://login.example.com?":  false,
		"https://login.example.com#x": false, "https://login.example.com#": false, "https://login.example.com:": false,
		"ftp://login.example.com": false,
	} {
		name := issuer + " is refused"
		if ok {
			name = issuer + " is accepted"
		}
		t.Run(name, func(t *testing.T) {
			_, err := configs.Load(configs.Source{
				File: inFile(t, "orgs: [{slug: a, issuers: [{url: '"+issuer+"', audiences: [atrium]}]}]")})
			if ok != (err == nil) ||
				(err != nil && !strings.Contains(err.Error(), "orgs[0].issuers[0].url: must be an https URL")) {
				t.Errorf("error = %v", err)
			}
		})
	}

	t.Run("two orgs may share one", func(t *testing.T) {
		const issuers = "issuers: [{url: 'https://login.example.com', audiences: [atrium]}]"
		parse(t, configs.Source{
			File: inFile(t, "orgs: [{slug: a, hosts: [a.test], "+issuers+
				"}, {slug: b, hosts: [b.test], "+issuers+"}]")})
	})

	t.Run("no audience is empty", func(t *testing.T) {
		_, err := configs.Load(configs.Source{
			File: inFile(t, "orgs: [{slug: a, issuers: [{url: 'https://login.example.com', "+
				"audiences: [atrium, '']}]}]")})
		if err == nil || !strings.Contains(err.Error(), "orgs[0].issuers[0].audiences: must list at least one") {
			t.Errorf("error = %v", err)
		}
	})
}

func TestClaimRules(t *testing.T) {
	const workspace, role = "orgs[0].claim_rules[0].workspace: must be a slug",
		"orgs[0].claim_rules[0].role: must be viewer"
	for grant, want := range map[string]string{
		"operator: true":                                             "",
		"workspace: research, role: owner":                           "",
		"operator: true, workspace: research, role: viewer":          "",
		"operator: false":                                            "orgs[0].claim_rules[0].workspace: must be set",
		"workspace: research":                                        role,
		"operator: true, workspace: research":                        role,
		"workspace: research, role: Owner":                           role,
		"workspace: research, role: operator":                        role,
		"role: viewer":                                               workspace,
		"operator: true, role: viewer":                               workspace,
		"workspace: Research, role: viewer":                          workspace,
		"workspace: a" + strings.Repeat("-a", 32) + ", role: viewer": workspace,
	} {
		name := grant + " is refused"
		if want == "" {
			name = grant + " is accepted"
		}
		t.Run(name, func(t *testing.T) {
			_, err := configs.Load(configs.Source{
				File: inFile(t, "orgs: [{slug: a, claim_rules: [{claim: groups, value: x, "+grant+"}]}]")})
			if (want == "" && err != nil) || (want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "\n"))) {
				t.Errorf("error = %v\nwant … %s …, and no other line", err, want)
			}
		})
	}
}

func TestAcceptURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://app.example.com/invitations/{token}": true, "https://App.example.com/?invitation={token}": true,
		"https://app.example.com/#/join/{token}": true,
		"http://localhost:3000/{token}":          true, "http://intranet.example/{token}": true,
		"https://app.example.com/invitations": false, "https://app.example.com/{Token}": false,
		"https://app.example.com/{token}/{token}": false,
		"/invitations/{token}":                    false, "app.example.com/{token}": false, "https://{token}/": false,
		"https://{token}.example.com/": false,
		"https://app{token}":           false, "https://{token}@app.example.com/": false, "https://:443/{token}": false,
		"javascript:alert('{token}')": false,
	} {
		name := url + " is refused"
		if ok {
			name = url + " is accepted"
		}
		t.Run(name, func(t *testing.T) {
			_, err := configs.Load(configs.Source{File: inFile(t, `orgs: [{slug: a, accept_url: "`+url+`"}]`)})
			if ok != (err == nil) ||
				(err != nil && !strings.Contains(err.Error(), "orgs[0].accept_url: must be an absolute")) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestSignInReachesTheDirectory(t *testing.T) {
	c := parse(t, configs.Source{File: inFile(t, `
orgs:
  - slug: acme
    issuers:
      - {url: "https://login.example.com/", audiences: [atrium, "https://api.example.com"], trust_email: true}
      - {url: "http://localhost:8080", audiences: [atrium], email_domains: [Partner.example], require: [{claim: hd, value: partner.example}]}
      - {url: "http://localhost:8081", audiences: [atrium]}
    claim_rules:
      - {issuer: "https://login.example.com/", claim: realm_access.roles, value: staff, workspace: research, role: admin}
      - {issuer: "http://localhost:8080", claim: email_verified, value: "true", operator: true}
    workspaces_by: operators
    accept_url: https://app.example.com/invitations/{token}
    connection_kinds: [postgres]
    api_keys: {max_lifetime: 90d, personal: false}
`)})
	o, found := c.Directory(func(string) identity.OrgID { return "org_1" }).BySlug("acme")
	if !found {
		t.Fatal("acme is not found")
	}
	want := identity.Org{
		ID: "org_1", Slug: "acme", Name: "acme", BaseURL: "http://127.0.0.1:8080",
		Issuers: []identity.Issuer{
			{URL: "https://login.example.com/", Audiences: []string{"atrium", "https://api.example.com"},
				TrustEmail: true},
			{
				URL: "http://localhost:8080", Audiences: []string{"atrium"}, TrustEmail: true,
				EmailDomains: []string{"partner.example"},
				Require:      []identity.ClaimValue{{Claim: "hd", Value: "partner.example"}},
			},
			{URL: "http://localhost:8081", Audiences: []string{"atrium"}},
		},
		ClaimRules: []identity.ClaimRule{
			{Issuer: "https://login.example.com/", Claim: "realm_access.roles", Value: "staff", Workspace: "research",
				Role: identity.Admin},
			{Issuer: "http://localhost:8080", Claim: "email_verified", Value: "true", Operator: true},
		},
		SignUp: identity.SignUpClaims, WorkspacesBy: identity.WorkspacesByOperators,
		AcceptURL: "https://app.example.com/invitations/{token}", ConnectionKinds: []string{"postgres"},
		Keys: identity.KeyPolicy{MaxLifetime: 90 * 24 * time.Hour, NoPersonal: true},
	}
	assert.NoDiff(t, "what is returned", cmp.Diff(want, *o))
}

func TestWhatAnOrgRequiresOfSessions(t *testing.T) {
	c := parse(t, configs.Source{File: inFile(t, `
orgs:
  - slug: acme
    hosts: [acme.example]
    issuers:
      - url: https://login.example.com
        audiences: [atrium]
        second_factor: [{claim: amr, value: mfa}, {claim: acr, value: high}]
        client: {id: atrium, max_age: 8h, acr_values: [high, higher]}
    sessions: {idle: 15m, lifetime: 8h, require_passkey: admin}
  - {slug: bare, hosts: [bare.example]}
  - slug: addressed
    hosts: [192.0.2.1]
    issuers: [{url: "https://login.example.com", audiences: [atrium], second_factor: [{claim: amr, value: mfa}]}]
    sessions: {require_passkey: viewer}
`)})
	directory := c.Directory(func(slug string) identity.OrgID { return identity.OrgID(slug) })
	for slug, want := range map[string]identity.SessionPolicy{
		"acme":      {Idle: 15 * time.Minute, Life: 8 * time.Hour, SecondFactorFrom: identity.Admin},
		"bare":      {},
		"addressed": {SecondFactorFrom: identity.Viewer}, // which the issuer can meet
	} {
		o, _ := directory.BySlug(slug)
		assert.Equal(t, slug, o.Sessions, want)
	}
	o, _ := directory.BySlug("acme")
	issuer := o.Issuers[0]
	assert.NoDiff(t, "proofs of a second factor", cmp.Diff([]identity.ClaimValue{{Claim: "amr", Value: "mfa"},
		{Claim: "acr", Value: "high"}}, issuer.SecondFactor))
	assert.Equal(t, "the maximum age", issuer.Client.MaxAge, 8*time.Hour)
	assert.NoDiff(t, "the contexts", cmp.Diff([]string{"high", "higher"}, issuer.Client.ACRValues))
}

func TestMail(t *testing.T) {
	const settings = "mail:\n  smtp: {addr: 'smtp.example.com:587', user: atrium, from: 'Atrium " +
		"<atrium@example.com>'}\norgs: [{slug: a, base_url: 'https://a.test'}]\n"

	t.Run("its password may lie in a file of its own", func(t *testing.T) {
		c := parse(t, configs.Source{File: inFile(t, settings),
			Environ: []string{"ATRIUM_MAIL_SMTP_PASSWORD_FILE=" + inFile(t, canary+"\n")}})
		if s := c.Mail.SMTP; s.Password.Reveal() != canary || s.Addr != "smtp.example.com:587" || s.User != "atrium" ||
			s.From != "Atrium <atrium@example.com>" || s.TLS != "starttls" {
			t.Errorf("got %+v", s)
		}
		if _, err := mail.New(c.Mail, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("what was loaded is refused: %v", err)
		}
	})

	t.Run("or come from a variable, which is found where it is wrong", func(t *testing.T) {
		_, err := configs.Load(configs.Source{Environ: []string{"ATRIUM_MAIL_SMTP_PASSWORD=" + canary,
			"ATRIUM_MAIL_SMTP_TLS=none"}})
		if err == nil || !strings.Contains(err.Error(), "mail.smtp.addr: must be set") ||
			strings.Contains(err.Error(), canary) {
			t.Errorf("error = %v", err)
		}
	})
}
