package identity

import (
	"net/netip"
	"strconv"
	"strings"
)

// Egress is where Atrium may connect on behalf of an org's tenants. The zero Egress permits only the public internet;
// special and private networks (RFC 6890 and similar) must be listed.
type Egress struct {
	Allow []netip.Prefix // networks beyond the public ones, such as the org's own

	// Addresses are those from which Atrium connects, for the allow lists of firewalls. Only people read them.
	Addresses []netip.Prefix
}

// AddressTexts returns Addresses as people write them: a single address without the length of its prefix.
func (e Egress) AddressTexts() []string {
	texts := make([]string, len(e.Addresses))
	for i, p := range e.Addresses {
		texts[i] = strings.TrimSuffix(p.String(), "/"+strconv.Itoa(p.Addr().BitLen()))
	}
	return texts
}
