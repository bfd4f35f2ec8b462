package identity

import "net/netip"

// Egress says where an org's tenants may make Atrium connect to. The zero Egress is the public
// internet alone; what is special or private (RFC 6890 and its kin) must be listed.
type Egress struct {
	Allow []netip.Prefix // networks beyond the public ones, such as the org's own
}
