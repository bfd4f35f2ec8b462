package configs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

// inOrg loads an org with these settings, each a line of YAML.
func inOrg(t *testing.T, settings ...string) (*identity.Org, error) {
	t.Helper()
	c, err := configs.Load(configs.Source{
		File: inFile(t, "orgs:\n  - slug: a\n    "+strings.Join(settings, "\n    ")+"\n")})
	if err != nil {
		return nil, err
	}
	org, _ := c.Directory(func(string) identity.OrgID { return "org_1" }).BySlug("a")
	return org, nil
}

// issuersWith configures one issuer for each of some further settings: https://1.test, https://2.test …
func issuersWith(extra ...string) string {
	var all []string
	for i, m := range extra {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("{url: 'https://%d.test', audiences: [x], %s", i+1, m), ", ")+
			"}")
	}
	return "issuers: [" + strings.Join(all, ", ") + "]"
}

func TestWhoVouchesForAddresses(t *testing.T) {
	const corp, partner = "a@corp.test", "a@partner.test"
	for name, tt := range map[string]struct {
		issuers []string
		vouch   []string // for corp, partner, both or none
	}{
		"the only issuer vouches for all": {[]string{""}, []string{"both"}},
		"unless it is not trusted":        {[]string{"trust_email: false"}, []string{"none"}},
		"or lists domains":                {[]string{"email_domains: [Corp.Test]"}, []string{"corp"}},
		"of several the first does, and no other one": {[]string{"", "", "trust_email: false"},
			[]string{"both", "none", "none"}},
		"a second one that lists its own": {
			[]string{"email_domains: [corp.test]", "email_domains: [partner.test]"}, []string{"corp", "partner"}},
		"or is trusted beside one that says so": {[]string{"trust_email: true", "trust_email: true"},
			[]string{"both", "both"}},
		"or takes its place": {[]string{"trust_email: false", "trust_email: true"}, []string{"none", "both"}},
	} {
		t.Run(name, func(t *testing.T) {
			org, err := inOrg(t, issuersWith(tt.issuers...))
			require.NoError(t, err)
			for i, want := range tt.vouch {
				issuer := org.Issuers[i]
				if issuer.VouchesFor(corp) != (want == "corp" || want == "both") ||
					issuer.VouchesFor(partner) != (want == "partner" || want == "both") {
					t.Errorf("issuers[%d] is %+v, want it to vouch for %s", i, issuer, want)
				}
			}
		})
	}
}

func TestWhatIsLeftOpenBetweenIssuersIsRefused(t *testing.T) {
	const rule = "claim_rules: [{claim: g, value: v, operator: true}]"
	for name, tt := range map[string]struct {
		settings []string
		want     string // empty: nothing is wrong
	}{
		"a rule of the only issuer":        {[]string{issuersWith(""), rule}, ""},
		"a rule before there is an issuer": {[]string{rule}, ""},
		"a rule that names one of two": {
			[]string{issuersWith("", ""), "claim_rules: [{issuer: 'https://2.test', claim: g, value: v, operator: " +
				"true}]"}, ""},
		"a rule that names none of two": {[]string{issuersWith("", ""), rule},
			"orgs[0].claim_rules[0].issuer: must be set where an org has several issuers"},
		"a rule of another issuer": {
			[]string{issuersWith(""), "claim_rules: [{issuer: 'https://1.test/', claim: g, value: v, operator: true}]"},
			"orgs[0].claim_rules[0].issuer: must be the url of one"},
		"groups of the only issuer": {[]string{issuersWith(""), "group_claim: {claim: groups}"}, ""},
		"groups of one of two": {
			[]string{issuersWith("trust_email: true", ""), "group_claim: {issuer: 'https://2.test', claim: groups}"}, ""},
		"groups of none of two": {
			[]string{issuersWith("trust_email: true", ""), "group_claim: {claim: groups}"},
			"orgs[0].group_claim.issuer: must be set where an org has several issuers"},
		"groups of no issuer at all": {[]string{"group_claim: {claim: groups}"},
			"orgs[0].group_claim.issuer: must be set: there is no issuer"},
		"groups of a directory that is not there": {[]string{"group_claim: {issuer: scim, claim: groups}"},
			"orgs[0].group_claim.issuer: must be the url of one"},
		"groups without a claim": {[]string{issuersWith(""), "group_claim: {issuer: 'https://1.test'}"},
			"orgs[0].group_claim.claim: must name a claim"},
		"a first issuer that leaves it open": {[]string{issuersWith("", "email_domains: [partner.test]")},
			"orgs[0].issuers[0].trust_email: must be set, or email_domains be listed: issuers[1]"},
		"though the other one is trusted with all": {[]string{issuersWith("", "", "trust_email: true")},
			"orgs[0].issuers[0].trust_email: must be set, or email_domains be listed: issuers[2]"},
		"domains of an issuer that is not trusted": {
			[]string{issuersWith("trust_email: false, email_domains: [a.test]")},
			"orgs[0].issuers[0].trust_email: must not be false"},
		"a domain that is an address": {[]string{issuersWith("email_domains: ['@a.test']")},
			"orgs[0].issuers[0].email_domains[0]: must be a domain"},
		"a domain with a wildcard": {[]string{issuersWith("email_domains: [a.test, '*.a.test']")},
			"orgs[0].issuers[0].email_domains[1]: must be a domain"},
		"a requirement without a value": {[]string{issuersWith("require: [{claim: hd}]")},
			"orgs[0].issuers[0].require[0]: must name a claim and a value"},
		"trust in words": {[]string{issuersWith("trust_email: 'yes'")},
			"orgs[0].issuers[0].trust_email: must be true or false"},
		"an unknown way to sign up": {[]string{"sign_up: closed"},
			"orgs[0].sign_up: must be open or invited or claims"},
		"claims without rules": {[]string{"sign_up: claims"}, "orgs[0].sign_up: must be open or invited"},
		"unknown makers of workspaces": {[]string{"workspaces_by: owners"},
			"orgs[0].workspaces_by: must be anyone or operators"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inOrg(t, tt.settings...)
			if (tt.want == "" && err != nil) || (tt.want != "" && (err == nil || !strings.Contains(err.Error(),
				tt.want) ||
				strings.Contains(err.Error(), "\n"))) {
				t.Errorf("error = %v\nwant … %s …, and nothing else", err, tt.want)
			}
		})
	}
}

func TestWhoComesIn(t *testing.T) {
	const rule = "claim_rules: [{claim: g, value: v, operator: true}]"
	for name, tt := range map[string]struct {
		settings []string
		signUp   identity.SignUp
		makers   identity.WorkspacesBy
	}{
		"people who were invited": {[]string{"name: A"}, identity.SignUpInvited, identity.WorkspacesByAnyone},
		"and people with a grant": {[]string{rule}, identity.SignUpClaims, identity.WorkspacesByAnyone},
		"unless it is said otherwise": {[]string{rule, "sign_up: invited", "workspaces_by: operators"},
			identity.SignUpInvited, identity.WorkspacesByOperators},
		"everyone, if that is said": {[]string{"sign_up: open", "workspaces_by: anyone"}, identity.SignUpOpen,
			identity.WorkspacesByAnyone},
		"an empty text is the default": {[]string{rule, "sign_up: ''", "workspaces_by: ''"}, identity.SignUpClaims,
			identity.WorkspacesByAnyone},
	} {
		t.Run(name, func(t *testing.T) {
			org, err := inOrg(t, tt.settings...)
			if err != nil || org.SignUp != tt.signUp || org.WorkspacesBy != tt.makers {
				t.Errorf("org %+v, %v", org, err)
			}
		})
	}
}
