package identity

import "net/netip"

// Egress is where Atrium may connect on behalf of an org's tenants. The zero Egress permits only the public internet;
// special and private networks (RFC 6890 and similar) must be listed.
type Egress struct {
	Allow []netip.Prefix // networks beyond the public ones, such as the org's own
}
