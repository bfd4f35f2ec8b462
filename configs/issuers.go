package configs

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Issuer is identity.Issuer as it is configured.
type Issuer struct {
	URL          string
	Audiences    []string
	TrustEmail   *bool    // nil: true if EmailDomains are listed, or if the issuer is the org's first
	EmailDomains []string // for which the issuer may vouch; empty: for all, if TrustEmail
	Require      []RequiredClaim
	SecondFactor []RequiredClaim // each proves a second factor
	Client       IssuerClient
}

// IssuerClient is identity.Client as it is configured. Without an ID there is none.
type IssuerClient struct {
	ID         string
	SecretFile string   // a file with the secret; empty: a public client
	Scopes     []string // empty: openid, email and profile
	Name       string   // empty: the host of the issuer
	Title      string   // empty: the name
	MaxAge     time.Duration
	ACRValues  []string
}

// client returns c with its defaults filled in, for the issuer at a URL, or nil.
func (c IssuerClient) client(issuer string) *identity.Client {
	if c.ID == "" {
		return nil
	}
	out := &identity.Client{Name: c.Name, ID: c.ID, Scopes: c.Scopes, MaxAge: c.MaxAge, ACRValues: c.ACRValues}
	if u, err := url.Parse(issuer); err == nil && out.Name == "" {
		out.Name = strings.ToLower(u.Hostname())
	}
	if out.Title = c.Title; out.Title == "" {
		out.Title = out.Name
	}
	if len(out.Scopes) == 0 {
		out.Scopes = []string{"openid", "email", "profile"}
	}
	out.Secret, _ = c.secret() // Load has validated it
	return out
}

// secret reads the secret of c. Its error does not quote the file.
func (c IssuerClient) secret() (secret.String, error) {
	if c.SecretFile == "" {
		return secret.String{}, nil
	}
	return SecretRef("file:" + c.SecretFile).Resolve()
}

var providerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// validate checks the client of the issuer at a URL, whose key is key.
func (c IssuerClient) validate(found *problems, key, issuer string, names map[string]string) {
	if c.ID == "" {
		if c.SecretFile != "" || c.Name != "" || c.Title != "" || len(c.Scopes) > 0 || c.MaxAge != 0 ||
			len(c.ACRValues) > 0 {
			found.add(key+".id", "must be the id that the provider gave to Atrium")
		}
		return
	}
	if _, err := c.secret(); err != nil {
		found.add(key+".secret_file", "%w", err)
	}
	if len(c.Scopes) > 0 && !slices.Contains(c.Scopes, "openid") {
		found.add(key+".scopes", "must list openid")
	}
	for i, scope := range c.Scopes {
		if !scopeForm.MatchString(scope) {
			found.add(fmt.Sprintf("%s.scopes[%d]", key, i), "must be one scope: visible ASCII without quotes, "+
				"backslashes and spaces")
		}
	}
	for i, value := range c.ACRValues {
		if !scopeForm.MatchString(value) {
			found.add(fmt.Sprintf("%s.acr_values[%d]", key, i), "must be one value: visible ASCII without quotes, "+
				"backslashes and spaces")
		}
	}
	if c.MaxAge != 0 {
		inRange(found, key+".max_age", c.MaxAge, time.Minute, 7*day, "1m to 7d, or 0s for no limit")
	}
	if len([]rune(c.Title)) > maxName {
		found.add(key+".title", "must have at most %d characters", maxName)
	}
	name := c.client(issuer).Name
	switch {
	case !providerName.MatchString(name) || len(name) > maxHost:
		found.add(key+".name", "must be lower-case letters, digits, dots and hyphens, as in a host name")
	case name == "callback" || name == "logout":
		found.add(key+".name", "must not be callback or logout, which are addresses of their own")
	default:
		noteTaken(found, names, name, key+".name")
	}
}

// scopeForm is a scope-token (RFC 6749, section 3.3).
var scopeForm = regexp.MustCompile(`^[!#-\[\]-~]+$`)

// RequiredClaim is a claim and the value that it must have.
type RequiredClaim struct{ Claim, Value string }

// statesTrust reports whether the settings of i say for which addresses it vouches.
func (i Issuer) statesTrust() bool { return i.TrustEmail != nil || len(i.EmailDomains) > 0 }

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
		issuer := identity.Issuer{URL: i.URL, Audiences: i.Audiences, TrustEmail: i.trusted(n),
			EmailDomains: i.EmailDomains, Client: i.Client.client(i.URL)}
		for _, r := range i.Require {
			issuer.Require = append(issuer.Require, identity.ClaimValue(r))
		}
		for _, r := range i.SecondFactor {
			issuer.SecondFactor = append(issuer.SecondFactor, identity.ClaimValue(r))
		}
		all = append(all, issuer)
	}
	return all
}

// claimRules returns o's rules, each with its issuer: the only one where a rule names none.
func (o Org) claimRules() []identity.ClaimRule {
	var all []identity.ClaimRule
	for _, r := range o.ClaimRules {
		all = append(all, identity.ClaimRule{
			Issuer: o.ruleIssuer(r.Issuer), Claim: r.Claim, Value: r.Value, Operator: r.Operator,
			Workspace: r.Workspace, Role: identity.ParseRole(r.Role),
		})
	}
	return all
}

// groupClaim returns the claim that lists groups, with its issuer.
func (o Org) groupClaim() identity.GroupClaim {
	if o.GroupClaim.Claim == "" {
		return identity.GroupClaim{}
	}
	return identity.GroupClaim{Issuer: o.ruleIssuer(o.GroupClaim.Issuer), Claim: o.GroupClaim.Claim}
}

// ruleIssuer returns the issuer that a rule names, or the only one if it names none.
func (o Org) ruleIssuer(name string) string {
	if name == "" && len(o.Issuers) == 1 {
		return o.Issuers[0].URL
	}
	return name
}

// captures returns o's rules about the domains of addresses.
func (o Org) captures() []identity.Capture {
	var all []identity.Capture
	for _, d := range o.EmailDomains {
		all = append(all, identity.Capture{
			Domain: d.Domain, Workspace: d.Workspace, Role: identity.ParseRole(d.Role),
		})
	}
	return all
}

// completeSignIn fills in what follows from other settings for an org's sign-in.
func (o *Org) completeSignIn() {
	for i := range o.Issuers {
		for j, domain := range o.Issuers[i].EmailDomains {
			o.Issuers[i].EmailDomains[j] = strings.ToLower(domain)
		}
	}
	for i := range o.EmailDomains {
		o.EmailDomains[i].Domain = strings.ToLower(o.EmailDomains[i].Domain)
	}
	if o.SignUp == "" {
		o.SignUp = string(identity.SignUpInvited)
		if len(o.ClaimRules) > 0 || len(o.EmailDomains) > 0 {
			o.SignUp = string(identity.SignUpClaims)
		}
	}
	if o.WorkspacesBy == "" {
		o.WorkspacesBy = string(identity.WorkspacesByAnyone)
	}
}

// validateIssuers checks the settings for an org's issuers.
func (o Org) validateIssuers(found *problems, key string) {
	urls, names := map[string]string{}, map[string]string{}
	for i, issuer := range o.Issuers {
		key := fmt.Sprintf("%s.issuers[%d]", key, i)
		if !isIssuer(issuer.URL) {
			found.add(key+".url", "must be an https URL without user, query and fragment; http is for loopback only")
		}
		noteTaken(found, urls, issuer.URL, key+".url")
		if len(issuer.Audiences) == 0 || slices.Contains(issuer.Audiences, "") {
			found.add(key+".audiences", "must list at least one, and none that is empty: tokens for others are not "+
				"for Atrium")
		}
		for j, domain := range issuer.EmailDomains {
			if !isDomain(domain) {
				found.add(fmt.Sprintf("%s.email_domains[%d]", key, j),
					"must be a domain, as it stands after the @ of addresses")
			}
		}
		if len(issuer.EmailDomains) > 0 && !issuer.trusted(i) {
			found.add(key+".trust_email", "must not be false where email_domains are listed")
		}
		issuer.Client.validate(found, key+".client", issuer.URL, names)
		checkClaims(found, key+".require", issuer.Require)
		checkClaims(found, key+".second_factor", issuer.SecondFactor)
	}
	for j := 1; j < len(o.Issuers); j++ {
		if o.Issuers[j].trusted(j) && !o.Issuers[0].statesTrust() {
			found.add(key+".issuers[0].trust_email",
				"must be set, or email_domains be listed: issuers[%d] vouches for addresses too, and either could "+
					"take over accounts of the other", j)
		}
	}
}

// checkClaims checks that each claim has a name and a value.
func checkClaims(found *problems, key string, claims []RequiredClaim) {
	for i, r := range claims {
		if r.Claim == "" || r.Value == "" {
			found.add(fmt.Sprintf("%s[%d]", key, i), "must name a claim and a value")
		}
	}
}

// validateRuleIssuer checks that a rule says to whose tokens it applies.
func (o Org) validateRuleIssuer(found *problems, key, issuer string) {
	switch matches := func(i Issuer) bool { return i.URL == issuer }; {
	case issuer == "" && len(o.Issuers) > 1:
		found.add(key+".issuer", "must be set where an org has several issuers: each of them could sign the claim")
	case issuer == identity.SCIMIssuer && len(o.SCIM.Tokens) > 0:
	case issuer != "" && !slices.ContainsFunc(o.Issuers, matches):
		found.add(key+".issuer", "must be the url of one of the org's issuers, to the letter, or scim where "+
			"scim.tokens are set")
	}
}

// validateEntry checks who may sign up, and who may create workspaces.
func (o Org) validateEntry(found *problems, key string) {
	oneOf(found, key+".sign_up", o.SignUp, string(identity.SignUpOpen), string(identity.SignUpInvited),
		string(identity.SignUpClaims))
	if o.SignUp == string(identity.SignUpClaims) && len(o.ClaimRules) == 0 && len(o.EmailDomains) == 0 {
		found.add(key+".sign_up", "must be open or invited where there are no claim_rules and no email_domains")
	}
	oneOf(found, key+".workspaces_by", o.WorkspacesBy, string(identity.WorkspacesByAnyone),
		string(identity.WorkspacesByOperators))
}
