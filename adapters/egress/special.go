package egress

import "net/netip"

// special is every range of addresses that is not the public internet, and why. Go's own predicates (IsPrivate and its
// like) know about half of them. The first rows are from the IANA registries of special-purpose addresses (RFC
// 6890), and the addresses of services inside clouds.
var special = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by carriers (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("168.63.129.16/32"), "Azure's platform, on a public address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927), where clouds keep their metadata"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112 (RFC 7535)"},
	{netip.MustParsePrefix("192.52.193.0/24"), "multicast relays (RFC 7450)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 1112)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved (RFC 1112), broadcast (RFC 919) in it"},

	{netip.MustParsePrefix("::/128"), "unspecified (RFC 4291)"},
	{netip.MustParsePrefix("::1/128"), "loopback (RFC 4291)"},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible (RFC 4291)"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4-translated (RFC 2765)"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64 (RFC 6052): an IPv4 address is inside"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local NAT64 (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), "discard (RFC 6666)"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "dummy (RFC 9780)"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments (RFC 2928): Teredo, ORCHID, benchmarks"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "6to4 (RFC 3056): an IPv4 address is inside"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112 (RFC 7534)"},
	{netip.MustParsePrefix("3fff::/20"), "documentation (RFC 9637)"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing (RFC 9602)"},
	{netip.MustParsePrefix("fc00::/7"), "unique local (RFC 4193)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "site-local (RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "multicast (RFC 4291)"},

	// IPv6 addresses outside of 2000::/3 are not global unicast (RFC 4291, section 2.4).
	{netip.MustParsePrefix("::/3"), "not global unicast"},
	{netip.MustParsePrefix("4000::/2"), "not global unicast"},
	{netip.MustParsePrefix("8000::/1"), "not global unicast"},
}

// isPublic reports whether a belongs to the public internet. An address with a zone never does, nor an IPv4 address
// within an IPv6 one (::ffff:a.b.c.d): Lookup unwraps those first.
func isPublic(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	for _, s := range special {
		if s.prefix.Contains(a) {
			return false
		}
	}
	return true
}
