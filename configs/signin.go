package configs

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// tokenPlace is the placeholder for an invitation's token in Org.AcceptURL.
const tokenPlace = "{token}"

// validateSignIn checks an org's sign-in settings: issuers, audiences, sign-up and links.
func (o Org) validateSignIn(found *problems, key string) {
	o.validateIssuers(found, key)
	o.SCIM.validate(found, key+".scim")
	o.validateEntry(found, key)
	for i, r := range o.ClaimRules {
		rule := fmt.Sprintf("%s.claim_rules[%d]", key, i)
		r.validate(found, rule)
		o.validateRuleIssuer(found, rule, r.Issuer)
	}
	if claim := o.GroupClaim; claim.Claim != "" {
		o.validateRuleIssuer(found, key+".group_claim", claim.Issuer)
		if o.ruleIssuer(claim.Issuer) == "" {
			found.add(key+".group_claim.issuer", "must be set: there is no issuer and no directory")
		}
	} else if claim.Issuer != "" {
		found.add(key+".group_claim.claim", "must name a claim")
	}
	o.validateCaptures(found, key)
	o.boundRules(found, key)
	if o.AcceptURL != "" && !isAcceptURL(o.AcceptURL) {
		found.add(key+".accept_url", "must be an absolute http or https URL without user, and hold %s once after the "+
			"host", tokenPlace)
	}
}

// maxRuledWorkspaces is how many workspaces an org's claim rules can name. A sign-in records an event in each of them
// that it changes.
const maxRuledWorkspaces = 100

// boundRules checks that the rules name at most maxRuledWorkspaces workspaces.
func (o Org) boundRules(found *problems, key string) {
	names := map[string]bool{}
	for _, r := range o.ClaimRules {
		names[r.Workspace] = true
	}
	for _, d := range o.EmailDomains {
		names[d.Workspace] = true
	}
	if delete(names, ""); len(names) > maxRuledWorkspaces {
		found.add(key+".claim_rules", "must name at most %d workspaces, together with email_domains",
			maxRuledWorkspaces)
	}
}

// validateCaptures checks the rules about the domains of addresses.
func (o Org) validateCaptures(found *problems, key string) {
	for i, d := range o.EmailDomains {
		key := fmt.Sprintf("%s.email_domains[%d]", key, i)
		if !isDomain(d.Domain) {
			found.add(key+".domain", "must be a domain, as it stands after the @ of addresses")
		}
		if !slugForm.MatchString(d.Workspace) || len(d.Workspace) > maxSlug {
			found.add(key+".workspace", slugProblem, maxSlug)
		}
		oneOf(found, key+".role", d.Role, "viewer", "member", "admin")
	}
	if len(o.EmailDomains) > 0 && len(o.Issuers) == 0 {
		found.add(key+".email_domains", "must be empty where no issuer is configured: no one verifies addresses")
	}
}

const slugProblem = "must be a slug: 1 to %d lower-case letters and digits, with single hyphens between them"

// validateAPIKeys checks what an org allows of API keys.
func (o Org) validateAPIKeys(found *problems, key string) {
	if o.APIKeys.MaxLifetime != 0 {
		inRange(found, key+".api_keys.max_lifetime", o.APIKeys.MaxLifetime, time.Hour, 3650*day,
			"1h to 3650d, or 0s for no limit")
	}
	if usual, longest := o.APIKeys.DefaultLifetime, o.APIKeys.MaxLifetime; usual != 0 {
		inRange(found, key+".api_keys.default_lifetime", usual, time.Hour, 3650*day, "1h to 3650d, or 0s for none")
		if longest != 0 && usual > longest {
			found.add(key+".api_keys.default_lifetime", "must not be longer than max_lifetime")
		}
	}
	if o.APIKeys.policy().NoPersonal && len(o.Issuers) == 0 {
		found.add(key+".api_keys.personal", "must be true where no issuer is configured: people could not come in at "+
			"all")
	}
}

// validate reports a rule that matches nothing or grants nothing.
func (r ClaimRule) validate(found *problems, key string) {
	if r.Claim == "" {
		found.add(key+".claim", "must name a claim")
	}
	if r.Value == "" {
		found.add(key+".value", "must not be empty: nothing matches it")
	}
	switch {
	case r.Workspace == "" && r.Role == "" && !r.Operator:
		found.add(key+".workspace", "must be set, with a role, or operator be true: the rule grants nothing")
	case r.Workspace == "" && r.Role == "":
	case !slugForm.MatchString(r.Workspace) || len(r.Workspace) > maxSlug:
		found.add(key+".workspace", slugProblem, maxSlug)
	case identity.ParseRole(r.Role) == identity.NoRole:
		found.add(key+".role", "must be viewer, member, admin or owner")
	}
}

// isIssuer reports whether s can be an issuer (OpenID Connect Discovery 1.0, section 2), and
// whether its responses are authentic: over TLS, or from this machine.
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || strings.ContainsAny(s, "?#") || !isHost(lowerHost(u)) {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || (err == nil && a.IsLoopback())
	return u.Scheme == "https" || (u.Scheme == "http" && loopback)
}

// isAcceptURL reports whether s is a URL with a placeholder for the token. A host has no braces, so the token is after
// it.
func isAcceptURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil && isHost(lowerHost(u)) &&
		strings.Count(s, tokenPlace) == 1
}

// lowerHost is u with its host in the letters that isHost knows.
func lowerHost(u *url.URL) *url.URL { return &url.URL{Host: strings.ToLower(u.Host)} }
