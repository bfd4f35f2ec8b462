package identity

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// MaxNetworks is the maximum number of networks that an API key can be limited to.
const MaxNetworks = 50

// ErrAddressNotAllowed is returned to an API key that is used from an address outside of its networks.
var ErrAddressNotAllowed = &fault.Error{Kind: fault.Forbidden, Code: "address_not_allowed",
	Detail: "This credential cannot be used from this network address."}

// Networks limits the addresses that an API key can be used from. It holds networks in CIDR notation (RFC 4632), sorted
// and separated by spaces. Empty Networks set no limit.
type Networks string

// NewNetworks returns the Networks of some texts: networks in CIDR notation, or single addresses. ok is false if one
// of them is neither. An IPv4 address in the form of IPv6 counts as IPv4.
func NewNetworks(texts []string) (_ Networks, ok bool) {
	all := make([]string, 0, len(texts))
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil || a.Zone() != "" {
				return "", false
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if p.Addr().Is4In6() {
			if p.Bits() < 96 {
				return "", false
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		all = append(all, p.Masked().String())
	}
	slices.Sort(all)
	return Networks(strings.Join(slices.Compact(all), " ")), true
}

// List returns the networks in CIDR notation; none if n sets no limit.
func (n Networks) List() []string { return strings.Fields(string(n)) }

// Contain reports whether a key with n can be used from an address. A text that is no address is in no network.
func (n Networks) Contain(address string) bool {
	if n == "" {
		return true
	}
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	return n.contain(netip.PrefixFrom(a.Unmap().WithZone(""), a.Unmap().BitLen()))
}

// contain reports whether one of the networks contains all of p.
func (n Networks) contain(p netip.Prefix) bool {
	for text := range strings.FieldsSeq(string(n)) {
		prefix, err := netip.ParsePrefix(text)
		if err == nil && prefix.Bits() <= p.Bits() && prefix.Contains(p.Addr()) {
			return true
		}
	}
	return false
}

// Cover reports whether n allows every address that other allows.
func (n Networks) Cover(other Networks) bool {
	if n == "" || n == other {
		return true
	}
	for _, text := range other.List() {
		p, err := netip.ParsePrefix(text)
		if err != nil || !n.contain(p) {
			return false
		}
	}
	return other != ""
}

// CheckAddress returns ErrAddressNotAllowed if the API key of a cannot be used from the address of the request.
func (a Actor) CheckAddress() error {
	if !a.Networks.Contain(a.Request.Address) {
		return ErrAddressNotAllowed
	}
	return nil
}

// AddressGroup returns what limits count an address as: the addresses of one IPv6 /64 network are one caller, because a
// client that has one of them usually has them all (RFC 6177).
func AddressGroup(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.Is6() || ip.Is4In6() {
		return address
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}
