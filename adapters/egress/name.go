package egress

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// internal lists the suffixes of names outside of the public internet: those reserved by standards
// (RFC 6761, 6762, 7686, 8375, 9476; ICANN's .internal), and those that networks use.
var internal = []string{
	"localhost", "local", "internal", "home.arpa", "test", "invalid", "onion", "alt",
	"localdomain", "intranet", "private", "corp", "home", "lan",
}

// host is a name or a literal address, parsed and checked before anything is looked up.
type host struct {
	name     string     // in lower case, without a dot at its end
	literal  netip.Addr // valid if it was one
	internal bool       // by its name it is not on the public internet
}

// parseHost reads what a tenant gave as a host. It takes names as the DNS has them, and addresses in
// their one canonical form. Everything else is connection.NetworkNotAllowed: other spellings of
// addresses (127.1, 0x7f000001, 0177.0.0.1, 2130706433), which some resolvers understand; zones;
// lists; paths; ports; everything that is not ASCII.
func parseHost(s string) (host, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" || a.Is4In6() || a.String() != s {
			return host{}, connection.NetworkNotAllowed
		}
		return host{name: s, literal: a}, nil
	}
	if slices.ContainsFunc([]byte(s), func(b byte) bool { return b >= 0x80 }) { // ToLower turns some into ASCII
		return host{}, connection.NetworkNotAllowed
	}
	name := strings.ToLower(strings.TrimSuffix(s, "."))
	labels := strings.Split(name, ".")
	if len(name) > 253 || !slices.ContainsFunc([]byte(labels[len(labels)-1]), isLetter) || !allValid(labels) {
		return host{}, connection.NetworkNotAllowed
	}
	if last := labels[len(labels)-1]; strings.HasPrefix(last, "0x") { // a number in hexadecimal
		return host{}, connection.NetworkNotAllowed
	}
	return host{name: name, internal: len(labels) == 1 || hasInternalSuffix(name)}, nil
}

func hasInternalSuffix(name string) bool {
	return slices.ContainsFunc(internal, func(suffix string) bool {
		return name == suffix || strings.HasSuffix(name, "."+suffix)
	})
}

func allValid(labels []string) bool {
	return !slices.ContainsFunc(labels, func(label string) bool { return !validLabel(label) })
}

// validLabel reports whether a label consists of letters, digits, inner hyphens (RFC 1123), and underscores, which
// occur in names of databases.
func validLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !slices.ContainsFunc([]byte(label), func(b byte) bool {
		return !isLetter(b) && (b < '0' || b > '9') && b != '-' && b != '_'
	})
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }
