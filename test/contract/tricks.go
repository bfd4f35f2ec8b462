package contract

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
)

// forbiddenNetworks are networks that no tenant's host may lead to. HostTrick chooses from them.
var forbiddenNetworks = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("169.254.169.254/32"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("224.0.0.0/4"),
}

// ForbiddenAddress returns an address that no tenant's host may lead to, half of the time loopback.
func ForbiddenAddress(r *rand.Rand) netip.Addr {
	p := forbiddenNetworks[0]
	if r.IntN(2) == 0 {
		p = forbiddenNetworks[r.IntN(len(forbiddenNetworks))]
	} else if r.IntN(2) == 0 {
		return netip.MustParseAddr("127.0.0.1")
	}
	a := p.Addr().As4()
	host := r.Uint32() & (1<<(32-p.Bits()) - 1)
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(a[:])|host)))
}

// HostTrick returns a host that leads to a forbidden address, spelled such that a check may miss it. A listener waits
// at port.
func HostTrick(r *rand.Rand, port uint16) string {
	a := ForbiddenAddress(r)
	v4 := a.As4()
	n := binary.BigEndian.Uint32(v4[:])
	dotted := a.String()
	mapped := netip.AddrFrom16(a.As16()).String()
	spellings := []string{
		dotted, dotted + ".", fmt.Sprint(n), fmt.Sprintf("%#x", n), fmt.Sprintf("0%o", n), fmt.Sprintf("%#o", n),
		fmt.Sprintf("0X%X", n), fmt.Sprintf("%#x.%#x.%#x.%#x", v4[0], v4[1], v4[2], v4[3]),
		fmt.Sprintf("%04o.%04o.%04o.%04o", v4[0], v4[1], v4[2], v4[3]),
		fmt.Sprintf("%d.%d", v4[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", v4[0], v4[1], n&0xffff),
		fmt.Sprintf("%03d.%03d.%03d.%03d", v4[0], v4[1], v4[2], v4[3]),
		mapped, "[" + mapped + "]", "::ffff:" + dotted, "::" + dotted, "64:ff9b::" + dotted, "64:ff9b:1::" + dotted,
		fmt.Sprintf("2002:%02x%02x:%02x%02x::1", v4[0], v4[1], v4[2], v4[3]),
		"::1", "[::1]", "0:0:0:0:0:0:0:1", "::", "fe80::1%lo", "::1%lo", "::1%25lo", "::ffff:7f00:1", "fec0::1",
		"fc00::1", "ff02::1",
		"localhost", "LOCALHOST", "localhost.", "LocalHost.", "db.localhost", "localhost.localdomain", "ip6-localhost",
		"ip6-loopback", "localdomain", "vm",
		"metadata.google.internal", "db.internal", "printer.local", "router.lan", "router.home.arpa", "db", "db.",
		"intranet.corp",
		dotted + ".nip.example.com", strings.ReplaceAll(dotted, ".", "-") + ".sslip.example.com",
		"example.com@" + dotted, dotted + "@example.com", "user:pass@" + dotted, "example.com#@" + dotted,
		"example.com?@" + dotted, "example.com/@" + dotted,
		"example.com," + dotted, dotted + ",example.com", dotted + " example.com", "example.com;" + dotted,
		fmt.Sprintf("%s:%d", dotted, port), fmt.Sprintf("example.com:%d", port),
		dotted + "\n", "\n" + dotted, "example.com\r\n" + dotted, dotted + "\x00", dotted + "\x00.example.com",
		" " + dotted, "\t" + dotted,
		"/var/run/postgresql", "@abstract", "unix:///tmp/s", "file:///etc/passwd", "tcp://" + dotted, "//" + dotted,
		`\\` + dotted,
		"１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "locaⅼhost", "xn--localhost-.xn--", "xn--0.xn--0",
		"ＬＯＣＡＬＨＯＳＴ", "loc\u00adalhost", "loca\u212ahost",
		"127.1", "127.0.1", "0", "0.0.0.0", "0x7f.1", "0177.1", "017700000001", "4294967295", "4294967296", "1e9", "-1",
		"+127.0.0.1", "127.0.0.1e0",
		"%6c%6f%63alhost", "127%2e0%2e0%2e1", "..", ".", "", "*", "$(hostname)", "`hostname`", "host.docker.internal",
		"kubernetes.default.svc",
	}
	s := spellings[r.IntN(len(spellings))]
	switch r.IntN(8) { // and some noise
	case 0:
		s = strings.ToUpper(s)
	case 1:
		s += "."
	case 2:
		if len(s) > 1 {
			i := r.IntN(len(s))
			s = s[:i] + string(rune(r.IntN(0x250))) + s[i:]
		}
	}
	return s
}
