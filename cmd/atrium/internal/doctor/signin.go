package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// checkEntry reports who can sign in to each org. It warns if everyone can sign up, and if two issuers
// may vouch for the same addresses.
func checkEntry(c configs.Config) Finding {
	var notes []string
	warning := false
	for _, org := range c.Directory(func(string) identity.OrgID { return "" }).All() {
		if len(org.Issuers) == 0 {
			notes = append(notes, org.Slug+": no issuer, API keys only")
			continue
		}
		var lines []string
		for _, issuer := range org.Issuers {
			lines = append(lines, issuer.URL+" "+describeVouching(issuer))
		}
		lines = append(lines, "sign_up "+string(org.SignUp))
		if org.SignUp == identity.SignUpOpen {
			warning = true
			lines = append(lines, "everyone with a valid token gets an account")
		}
		for _, pair := range overlappingIssuers(org.Issuers) {
			warning = true
			lines = append(lines, fmt.Sprintf("%s and %s may vouch for the same addresses: either can sign in as a "+
				"person of the other", pair[0], pair[1]))
		}
		notes = append(notes, org.Slug+": "+strings.Join(lines, ", "))
	}
	return Finding{Check: "sign-in", OK: true, Warning: warning, Note: strings.Join(notes, "; ")}
}

// describeVouching describes the e-mail addresses for which an issuer may vouch.
func describeVouching(i identity.Issuer) string {
	switch {
	case !i.TrustEmail:
		return "vouches for no address"
	case len(i.EmailDomains) == 0:
		return "vouches for every address"
	}
	return "vouches for " + strings.Join(i.EmailDomains, " and ")
}

// overlappingIssuers returns the URLs of each pair of issuers that may vouch for the same address.
func overlappingIssuers(issuers []identity.Issuer) (pairs [][2]string) {
	for n, a := range issuers {
		for _, b := range issuers[n+1:] {
			overlap := len(a.EmailDomains) == 0 || len(b.EmailDomains) == 0 ||
				slices.ContainsFunc(a.EmailDomains,
					func(domain string) bool { return slices.Contains(b.EmailDomains, domain) })
			if a.TrustEmail && b.TrustEmail && overlap {
				pairs = append(pairs, [2]string{a.URL, b.URL})
			}
		}
	}
	return pairs
}

// describeLogin describes the account and roles that a token gives its bearer. It returns an error if the token is
// refused.
func describeLogin(org *identity.Org, c *account.Claims) (string, error) {
	if missing := c.Missing(org); len(missing) > 0 {
		var names []string
		for _, m := range missing {
			names = append(names, fmt.Sprintf("%s=%s", m.Claim, m.Value))
		}
		return "", fmt.Errorf("refused with %s: it lacks %s", account.ErrClaimMissing.Code, strings.Join(names, ", "))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "subject %s of %s", c.Subject, c.Issuer)
	switch {
	case c.EmailFor(org) != "":
		fmt.Fprintf(&out, ", verified e-mail %s", c.Email)
	case c.EmailVerified:
		out.WriteString(", e-mail not used: the issuer may not vouch for it")
	case c.Email != "":
		out.WriteString(", e-mail not verified and therefore not used")
	}
	grants := c.Grants(org.ClaimRules)
	signsUp := org.SignUp == identity.SignUpOpen || (org.SignUp == identity.SignUpClaims && !grants.None())
	if grants.Operator {
		out.WriteString(", operator")
	}
	for _, rule := range org.ClaimRules {
		if role, ok := grants.Roles[rule.Workspace]; ok {
			fmt.Fprintf(&out, ", %s of %s", role, rule.Workspace)
			delete(grants.Roles, rule.Workspace)
		}
	}
	if !signsUp {
		fmt.Fprintf(&out, "; without an account or an invitation refused with %s", account.ErrSignUpClosed.Code)
	}
	return out.String(), nil
}

// Token reports which account and roles a genuine token gives its bearer.
func Token(org *identity.Org, c *account.Claims) Finding {
	note, err := describeLogin(org, c)
	if err != nil {
		return Failed("token", err)
	}
	return Passed("token", "%s", note)
}
