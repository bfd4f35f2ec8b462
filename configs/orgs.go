package configs

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
)

var (
	slugForm   = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)
	labelForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	numberForm = regexp.MustCompile(`^[0-9]+$`)
)

const (
	maxSlug = 63  // a slug is a label of a host name (RFC 1035)
	maxName = 120 // characters
	maxHost = 253 // a whole host name's characters
)

// validateOrgs checks that the names of the orgs are unique, and that no host belongs to two orgs.
func (c *Config) validateOrgs(found *problems) {
	if c.BaseDomain != "" && !isDomain(c.BaseDomain) {
		found.add("base_domain", "must be a domain, without a scheme or a port")
	}
	slugs, hosts := map[string]string{}, map[string]string{}
	for i, o := range c.Orgs {
		key := fmt.Sprintf("orgs[%d]", i)
		if !slugForm.MatchString(o.Slug) || len(o.Slug) > maxSlug {
			found.add(key+".slug", "must be 1 to %d lower-case letters and digits, with single hyphens between them",
				maxSlug)
		}
		noteTaken(found, slugs, o.Slug, key+".slug")
		if c.BaseDomain != "" {
			noteTaken(found, hosts, o.Slug+"."+c.BaseDomain, key+".slug")
		}
		if len([]rune(o.Name)) > maxName {
			found.add(key+".name", "must have at most %d characters", maxName)
		}
		if len(o.Hosts) == 0 && c.BaseDomain == "" && len(c.Orgs) > 1 {
			found.add(key+".hosts", "must list a host, or base_domain be set: with several orgs nothing else leads "+
				"to this one")
		}
		for j, origin := range o.CORSOrigins {
			if !isOrigin(origin) {
				found.add(fmt.Sprintf("%s.cors_origins[%d]", key, j),
					"must be exactly what a browser sends: https://host or https://host:port in lower case, http "+
						"only for localhost, no path, no default port")
			}
		}
		checkRows(o.Rows, key+".rows", found)
		checkTimeouts(o.WarehouseTimeouts, key+".warehouse_timeouts", found)
		if o.SheetLocale != "" && !slices.Contains(source.Locales(), o.SheetLocale) {
			found.add(key+".sheet_locale", "must be one of %s", strings.Join(source.Locales(), ", "))
		}
		for _, q := range []struct {
			key string
			n   int64
		}{
			{"prompt_templates", o.Quotas.PromptTemplates},
			{"prompt_versions", o.Quotas.PromptVersions},
			{"chat_templates", o.Quotas.ChatTemplates},
			{"storage_bytes", o.Quotas.StorageBytes},
		} {
			if q.n < 1 || q.n > 1<<50 {
				found.add(key+".quotas."+q.key, "must be 1 to 1125899906842624")
			}
		}
		for _, q := range []struct {
			key string
			n   int64
		}{
			{"members", o.Quotas.Members},
			{"connections", o.Quotas.Connections},
			{"sources", o.Quotas.Sources},
			{"streams", o.Quotas.Streams},
		} {
			if q.n != quota.Unlimited && (q.n < 1 || q.n > 1<<50) {
				found.add(key+".quotas."+q.key, "must be 0 to 1125899906842624; 0 is no limit")
			}
		}
		o.Registry.validate(found, key+".registry")
		o.validateSourceTypes(found, key)
		o.validateGoogleConsent(found, key)
		o.validateSignIn(found, key)
		o.validateAPIKeys(found, key)
		c.validateSessions(found, key, o)
		if o.BaseURL != "" && !isBaseURL(o.BaseURL) {
			found.add(key+".base_url", "must be an absolute http or https URL without user, query and fragment")
		}
	}
	for i, o := range c.Orgs { // after all slugs, so that a listed host never shadows one of them
		for j, h := range o.Hosts {
			key := fmt.Sprintf("orgs[%d].hosts[%d]", i, j)
			if _, err := netip.ParseAddr(h); err != nil && !isDomain(h) {
				found.add(key, "must be a host name or an IP address, without a scheme or a port")
			}
			if hosts[h] != fmt.Sprintf("orgs[%d].slug", i) { // an org may list the host that its slug gives it
				noteTaken(found, hosts, h, key)
			}
		}
	}
}

// baseURL returns the base for an org's links: its base_url; else https and the first host of its own, assuming a TLS
// proxy in front; else, as in the embedded default, server.addr itself. It is always absolute, and a request cannot
// influence it.
func (c *Config) baseURL(o Org) string {
	switch {
	case o.BaseURL != "":
		return o.BaseURL
	case len(o.Hosts) > 0:
		host := o.Hosts[0]
		if strings.Contains(host, ":") { // an IPv6 address
			host = "[" + host + "]"
		}
		return "https://" + host
	case c.BaseDomain != "":
		return "https://" + o.Slug + "." + c.BaseDomain
	}
	host, port, _ := net.SplitHostPort(c.Server.Addr) // it was validated
	if a, err := netip.ParseAddr(host); host == "" || (err == nil && a.IsUnspecified()) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// noteTaken notes that the value of key is in use by another key, or from now on by this one.
func noteTaken(found *problems, by map[string]string, value, key string) {
	if other, ok := by[value]; ok {
		found.add(key, "is the same as %s", other)
		return
	}
	by[value] = key
}

// canonicalHost brings a host into the form in which a request's is compared.
func canonicalHost(h string) string {
	if a, err := netip.ParseAddr(h); err == nil {
		return a.String()
	}
	return strings.ToLower(h)
}

// isDomain reports whether s is a host name in lower case. A name whose last label is a number is not one: some
// resolvers treat it as an address.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if len(l) > maxSlug || !labelForm.MatchString(l) {
			return false
		}
	}
	return len(s) <= maxHost && !numberForm.MatchString(labels[len(labels)-1])
}

// isOrigin reports whether a browser could send s as an Origin that Atrium may trust: over TLS,
// or from the machine of the developer.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || s != u.Scheme+"://"+u.Host || !isHost(u) {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Port() != "443"
	case "http":
		host := u.Hostname()
		return u.Port() != "80" && (host == "localhost" || host == "127.0.0.1" || host == "::1")
	}
	return false
}

func isBaseURL(s string) bool {
	u, err := url.Parse(strings.ToLower(s))
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && !strings.Contains(s, "#") && isHost(u)
}

// isHost reports whether a URL's host, and its port if it has one, can be reached.
func isHost(u *url.URL) bool {
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && !isDomain(u.Hostname()) {
		return false
	}
	return !strings.HasSuffix(u.Host, ":")
}
