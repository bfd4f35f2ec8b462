package identity

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Org is one customer of a deployment, or its only one. Orgs are configured, and selected by a request's host.
type Org struct {
	ID        OrgID
	Slug      string
	Name      string
	Hosts     []string // exact host names, lower case, without a port
	BaseURL   string   // canonical and absolute, for links that Atrium generates; never taken from a request
	CORS      []string // origins that browsers may call from, exact
	OwnSpaces bool     // whether a new user gets a workspace

	Issuers    []Issuer // issuers whose tokens are accepted; without one, no one can sign in
	SCIM       *SCIM    // the directory that manages its people; nil if none does
	ClaimRules []ClaimRule
	GroupClaim GroupClaim
	SignUp     SignUp
	Captures   []Capture
	AcceptURL  string // where a person accepts an invitation; {token} is replaced by its token

	WorkspacesBy    WorkspacesBy
	Keys            KeyPolicy     // restricts its API keys
	Sessions        SessionPolicy // restricts sessions of browsers
	NoSecurityMails bool          // whether people get no mail about changes of their accounts

	ConnectionKinds []string // kinds of warehouse that its workspaces can connect to
	Egress          Egress   // networks that these connections can reach
}

// Capture makes people with a verified address of a domain members of a workspace, once.
type Capture struct {
	Domain    string // in lower case; subdomains are not included
	Workspace string // slug
	Role      Role
}

// CapturesOf returns the captures of a verified address's domain.
func (o *Org) CapturesOf(email string) (all []Capture) {
	for _, c := range o.Captures {
		if inDomains(email, []string{c.Domain}) {
			all = append(all, c)
		}
	}
	return all
}

// maxRuled is the number of workspaces that RuledBy returns at most.
const maxRuled = 20

// RuledBy returns the slugs of workspaces that the rules for an issuer name, sorted: at most maxRuled.
func (o *Org) RuledBy(issuer string) (slugs []string) {
	for _, r := range o.ClaimRules {
		if r.Issuer == issuer && r.Workspace != "" {
			slugs = append(slugs, r.Workspace)
		}
	}
	slices.Sort(slugs)
	slugs = slices.Compact(slugs)
	return slugs[:min(len(slugs), maxRuled)]
}

// Provider returns the issuer of a client's name.
func (o *Org) Provider(name string) (Issuer, bool) {
	for _, i := range o.Issuers {
		if i.Client != nil && i.Client.Name == name {
			return i, true
		}
	}
	return Issuer{}, false
}

// Directory finds a host's org. It is immutable: a reload creates a new one.
type Directory struct {
	byHost map[string]*Org
	bySlug map[string]*Org
	base   string
	orgs   []Org
}

// NewDirectory returns the directory of orgs. Unless baseDomain is empty, {slug}.{baseDomain} also
// selects an org.
func NewDirectory(orgs []Org, baseDomain string) *Directory {
	d := &Directory{byHost: map[string]*Org{}, bySlug: map[string]*Org{}, base: baseDomain, orgs: orgs}
	for i := range orgs {
		o := &orgs[i]
		d.bySlug[o.Slug] = o
		for _, h := range o.Hosts {
			d.byHost[h] = o
		}
	}
	return d
}

// All returns every org, in the order of the configuration.
func (d *Directory) All() []Org { return d.orgs }

// ByID returns the org with an identifier.
func (d *Directory) ByID(id OrgID) (*Org, bool) {
	for i := range d.orgs { // there are only a few orgs
		if d.orgs[i].ID == id {
			return &d.orgs[i], true
		}
	}
	return nil, false
}

// BySlug returns the org with a slug.
func (d *Directory) BySlug(slug string) (*Org, bool) {
	o, ok := d.bySlug[slug]
	return o, ok
}

// ByHost returns the org for a request's Host: the one that lists it, else the one whose slug is its
// first label under the base domain, else the only org if that lists no hosts.
func (d *Directory) ByHost(host string) (*Org, error) {
	if len(d.orgs) == 1 && len(d.orgs[0].Hosts) == 0 {
		return &d.orgs[0], nil
	}
	name := hostName(host)
	if o, ok := d.byHost[name]; ok {
		return o, nil
	}
	if slug, ok := strings.CutSuffix(name, "."+d.base); ok && d.base != "" {
		if o, ok := d.bySlug[slug]; ok {
			return o, nil
		}
	}
	return nil, ErrUnknownHost
}

// hostName lower-cases a Host header and removes its port and a trailing dot. An IPv6 address is
// written in its canonical form.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		host = a.String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
