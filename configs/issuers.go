package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Issuer is identity.Issuer as it is configured.
type Issuer struct {
	URL          string
	Audiences    []string
	TrustEmail   *bool    // nil: true if EmailDomains are listed, or if the issuer is the org's first
	EmailDomains []string // for which the issuer may vouch; empty: for all, if TrustEmail
	Require      []RequiredClaim
}

// RequiredClaim is a claim and the value that it must have.
type RequiredClaim struct{ Claim, Value string }

// stated reports whether i says itself for which addresses it vouches.
func (i Issuer) stated() bool { return i.TrustEmail != nil || len(i.EmailDomains) > 0 }

// trusted reports whether i, the nth issuer of its org, vouches for any address.
func (i Issuer) trusted(n int) bool {
	if i.TrustEmail != nil {
		return *i.TrustEmail
	}
	return n == 0 || len(i.EmailDomains) > 0
}

// issuers returns o's issuers with their defaults filled in.
func (o Org) issuers() []identity.Issuer {
	var all []identity.Issuer
	for n, i := range o.Issuers {
		issuer := identity.Issuer{URL: i.URL, Audiences: i.Audiences, TrustEmail: i.trusted(n), EmailDomains: i.EmailDomains}
		for _, r := range i.Require {
			issuer.Require = append(issuer.Require, identity.ClaimValue(r))
		}
		all = append(all, issuer)
	}
	return all
}

// claimRules returns o's rules, each with its issuer: the only one where a rule names none.
func (o Org) claimRules() []identity.ClaimRule {
	var all []identity.ClaimRule
	for _, r := range o.ClaimRules {
		issuer := r.Issuer
		if issuer == "" && len(o.Issuers) == 1 {
			issuer = o.Issuers[0].URL
		}
		all = append(all, identity.ClaimRule{
			Issuer: issuer, Claim: r.Claim, Value: r.Value, Operator: r.Operator, Workspace: r.Workspace, Role: identity.ParseRole(r.Role),
		})
	}
	return all
}

// completeSignIn fills in what follows from other settings of an org's sign-in.
func (o *Org) completeSignIn() {
	for i := range o.Issuers {
		for j, domain := range o.Issuers[i].EmailDomains {
			o.Issuers[i].EmailDomains[j] = strings.ToLower(domain)
		}
	}
	if o.SignUp == "" {
		o.SignUp = string(identity.SignUpInvited)
		if len(o.ClaimRules) > 0 {
			o.SignUp = string(identity.SignUpClaims)
		}
	}
	if o.WorkspacesBy == "" {
		o.WorkspacesBy = string(identity.WorkspacesByAnyone)
	}
}

// validateIssuers checks whose tokens an org accepts, and what it believes of them.
func (o Org) validateIssuers(found *problems, key string) {
	urls := map[string]string{}
	for i, issuer := range o.Issuers {
		key := fmt.Sprintf("%s.issuers[%d]", key, i)
		if !isIssuer(issuer.URL) {
			found.add(key+".url", "must be an https URL without user, query and fragment; http is for loopback only")
		}
		taken(found, urls, issuer.URL, key+".url")
		if len(issuer.Audiences) == 0 || slices.Contains(issuer.Audiences, "") {
			found.add(key+".audiences", "must list at least one, and none that is empty: tokens for others are not for Atrium")
		}
		for j, domain := range issuer.EmailDomains {
			if !isDomain(domain) {
				found.add(fmt.Sprintf("%s.email_domains[%d]", key, j), "must be a domain, as it stands after the @ of addresses")
			}
		}
		if len(issuer.EmailDomains) > 0 && !issuer.trusted(i) {
			found.add(key+".trust_email", "must not be false where email_domains are listed")
		}
		for j, r := range issuer.Require {
			if r.Claim == "" || r.Value == "" {
				found.add(fmt.Sprintf("%s.require[%d]", key, j), "must name a claim and a value")
			}
		}
	}
	for j := 1; j < len(o.Issuers); j++ {
		if o.Issuers[j].trusted(j) && !o.Issuers[0].stated() {
			found.add(key+".issuers[0].trust_email", "must be set, or email_domains be listed: issuers[%d] vouches for addresses too, and either could take over accounts of the other", j)
		}
	}
}

// validateRuleIssuer checks that a rule says to whose tokens it applies.
func (o Org) validateRuleIssuer(found *problems, key, issuer string) {
	switch named := func(i Issuer) bool { return i.URL == issuer }; {
	case issuer == "" && len(o.Issuers) > 1:
		found.add(key+".issuer", "must be set where an org has several issuers: each of them could sign the claim")
	case issuer != "" && !slices.ContainsFunc(o.Issuers, named):
		found.add(key+".issuer", "must be the url of one of the org's issuers, to the letter")
	}
}

// validateEntry checks who may come in, and what they may make.
func (o Org) validateEntry(found *problems, key string) {
	oneOf(found, key+".sign_up", o.SignUp, string(identity.SignUpOpen), string(identity.SignUpInvited), string(identity.SignUpClaims))
	if o.SignUp == string(identity.SignUpClaims) && len(o.ClaimRules) == 0 {
		found.add(key+".sign_up", "must be open or invited where there are no claim_rules")
	}
	oneOf(found, key+".workspaces_by", o.WorkspacesBy, string(identity.WorkspacesByAnyone), string(identity.WorkspacesByOperators))
}
