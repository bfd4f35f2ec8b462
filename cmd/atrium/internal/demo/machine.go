package demo

import (
	"net"
	"net/netip"
	"slices"

	"github.com/atrium-hq/atrium/configs"
)

// ReachThisMachine lets connections reach loopback addresses, if only programs on this machine can reach the server.
// So a developer can try their own database, and a program that answers chats, without any configuration.
func ReachThisMachine(c *configs.Config) {
	if !reachesThisMachine(*c) {
		return
	}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for i := range c.Orgs {
		c.Orgs[i].Egress.Allow = slices.Concat(c.Orgs[i].Egress.Allow, loopback)
	}
}

// reachesThisMachine reports whether only programs on this machine can reach the server.
func reachesThisMachine(c configs.Config) bool {
	host, _, err := net.SplitHostPort(c.Server.Addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
