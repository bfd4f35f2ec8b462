package account

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mozillazg/go-unidecode"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// slugPattern matches the slugs of workspaces and orgs: DNS labels.
var slugPattern = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)

var notInSlug = regexp.MustCompile(`[^a-z0-9]+`)

// reserved lists slugs that are parts of addresses that a user interface needs.
var reserved = []string{
	"account", "admin", "api", "app", "auth", "billing", "docs", "embed", "health", "help", "invitations",
	"login", "logout",
	"me", "metrics", "new", "problems", "settings", "static", "status", "support", "system", "workspaces", "www",
}

// reservedByRules reports whether by may not use a slug because the org's claim rules or captures name it. Only the
// system may. Otherwise the users that the rules name would become members of whichever workspace took the slug
// first.
func reservedByRules(by identity.Actor, org *identity.Org, slug string) bool {
	return by.User != "" && org != nil &&
		(slices.ContainsFunc(org.ClaimRules, func(r identity.ClaimRule) bool { return r.Workspace == slug }) ||
			slices.ContainsFunc(org.Captures, func(c identity.Capture) bool { return c.Workspace == slug }))
}

// SlugOf returns the nth candidate slug for a name: research-2 if research is taken, and a random one
// from the fifth on.
func SlugOf(name string, n int) string {
	suffix := fmt.Sprintf("-%d", n)
	if n > 4 {
		random := id.New(identity.WorkspacePrefix)
		suffix = "-" + random[len(random)-8:]
	}
	slug := slugOf(name)
	return strings.TrimRight(slug[:min(len(slug), 63-len(suffix))], "-") + suffix
}

// slugOf turns a name into a slug. Letters of other alphabets become Latin ones, and other characters hyphens.
func slugOf(name string) string {
	slug := strings.Trim(notInSlug.ReplaceAllString(strings.ToLower(unidecode.Unidecode(name)), "-"), "-")
	slug = strings.Trim(slug[:min(len(slug), 63)], "-")
	if slug == "" || slices.Contains(reserved, slug) {
		slug = strings.Trim("workspace-"+slug, "-")
	}
	return slug
}
