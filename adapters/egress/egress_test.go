package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMain(m *testing.M) { os.Exit(fixture.WithoutLeaks(m.Run())) }

func anyPort(uint16) bool { return true }

// loopbackRules allow the test's own servers on 127.0.0.1 and nothing else that is special.
func loopbackRules() Rules {
	return Rules{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Port: anyPort,
		Connect: proof.Patience, Deadline: time.Now().Add(proof.Patience), Bytes: 1 << 20,
	}
}

// resolves makes every name mean some addresses.
func resolves(addresses ...netip.Addr) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) { return addresses, nil }
}

// countConnections counts the connections that reach an address.
func countConnections(t *testing.T, address string, serve func(net.Conn)) (port uint16, acceptedCount *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	acceptedCount = new(atomic.Int32)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			acceptedCount.Add(1)
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort().Port(), acceptedCount
}

// lastAddress returns the highest address of a prefix.
func lastAddress(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestSpecialAddressesAreRefused(t *testing.T) {
	noRules := Rules{Port: anyPort, Connect: proof.Patience, Deadline: time.Now().Add(proof.Patience), Bytes: 1}
	for _, row := range special {
		for _, a := range []netip.Addr{row.prefix.Addr(), lastAddress(row.prefix)} {
			t.Run(fmt.Sprintf("%s of %s, %s", a, row.prefix, row.why), func(t *testing.T) {
				r := noRules
				r.Resolve = resolves(a)
				d := New(r)
				d.dialed = func(a netip.AddrPort) { t.Errorf("%s was let pass", a) }
				if _, err := d.Lookup(t.Context(), "db.example.com", 5432); !errors.Is(err,
					connection.NetworkNotAllowed) {
					t.Errorf("Lookup: %v", err)
				}
				// What Lookup lets pass is checked again by the hook: here it is all that checks.
				if _, err := d.Dial(t.Context(), []netip.AddrPort{netip.AddrPortFrom(a, 5432)}); !errors.Is(err,
					connection.NetworkNotAllowed) {
					t.Errorf("Dial: %v", err)
				}
				if a.Is4() {
					mapping := netip.AddrFrom16(a.As16())
					if _, err := d.Dial(t.Context(), []netip.AddrPort{netip.AddrPortFrom(mapping, 5432)}); !errors.Is(
						err, connection.NetworkNotAllowed) {
						t.Errorf("Dial of %s: %v", mapping, err)
					}
				}
				if _, err := d.DialContext(t.Context(), "tcp", netip.AddrPortFrom(a, 5432).String()); !errors.Is(err,
					connection.NetworkNotAllowed) {
					t.Errorf("DialContext: %v", err)
				}
				response, err := d.Client(nil).Get("https://db.example.com/")
				assert.ErrorIs(t, err, connection.NetworkNotAllowed)
				if response != nil {
					response.Body.Close()
				}
			})
		}
	}
}

// TestKnownAddressesAreRefused does not depend on the table: a row that is lost shows here.
func TestKnownAddressesAreRefused(t *testing.T) {
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
		"168.63.129.16", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1",
		"192.168.0.1", "192.175.48.1", "198.18.0.1",
		"198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b:1::1", "100::1", "100:0:0:1::1",
		"2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2620:4f:8000::1",
		"3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1", "1::1", "4000::1", "8000::1", "fe00::1",
		"2606:4700::1%eth0",
	} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestPublicAddressesAreNotSpecial(t *testing.T) {
	for _, a := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.0", "168.63.129.15", "168.63.129.17",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255",
		"198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
		"2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2606:4700:4700::1111", "2a00:1450:4001::1",
		"3ffe:ffff::1", "2620:4f:7fff::1",
	} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
}

func TestLookup(t *testing.T) {
	public, private := netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("10.0.0.1")
	lookup := func(t *testing.T, change func(*Rules), name string, port uint16) ([]netip.AddrPort, error) {
		t.Helper()
		r := Rules{Port: anyPort, Connect: proof.Patience, Deadline: time.Now().Add(proof.Patience),
			Resolve: resolves(public)}
		if change != nil {
			change(&r)
		}
		return New(r).Lookup(t.Context(), name, port)
	}
	allows := func(r *Rules) { r.Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }

	for _, name := range []string{"db.example.com", "DB.Example.COM.", "_x.y-z.example.com", "xn--bcher-kva.example",
		"127.0.0.1.nip.example.com", "1.example.com", "a.b.c.d.e.f"} {
		t.Run(name+" is looked up", func(t *testing.T) {
			if got, err := lookup(t, nil, name, 5432); err != nil || len(got) != 1 ||
				got[0] != netip.AddrPortFrom(public, 5432) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}

	for _, name := range []string{
		"", ".", "..", "a..b", "localhost", "db", "db.localhost", "db.local", "db.internal", "a.home.arpa", "x.onion",
		"x.test", "x.invalid", "x.lan", "x.corp",
		"1.2.3.4", "2606:4700:4700::1111", "[2606:4700:4700::1111]", "1.2.3.4.", "1.2.3.0x4", "0x1.example.0x2",
		"127.1", "2130706433", "0x7f000001", "0177.0.0.1",
		"-a.example.com", "a-.example.com", "a b.example.com", "a.example.com:80", "a.example.com,b.example.com",
		"u@a.example.com", "a.example.com/x",
		"a.example.com\x00", "a.example.com\n", "/tmp", "@x", "bücher.example", "example.\u212aom", "example.com%00",
		strings.Repeat("a", 64) + ".example.com",
		strings.Repeat("a.", 130) + "com", "::ffff:1.2.3.4", "fe80::1%lo",
	} {
		t.Run(fmt.Sprintf("%q is refused before anything is looked up", name), func(t *testing.T) {
			isAsked := false
			_, err := lookup(t, func(r *Rules) {
				r.Resolve = func(context.Context, string) ([]netip.Addr, error) {
					isAsked = true
					return []netip.Addr{public}, nil
				}
			}, name, 5432)
			if !errors.Is(err, connection.NetworkNotAllowed) || isAsked {
				t.Errorf("error = %v, asked %v", err, isAsked)
			}
		})
	}

	t.Run("a name is looked up as it is, without the machine's search list", func(t *testing.T) {
		var query string
		_, _ = lookup(t, func(r *Rules) {
			r.Resolve = func(_ context.Context, name string) ([]netip.Addr, error) { query = name; return nil, nil }
		}, "db.example.com", 5432)
		assert.Equal(t, "asked for", query, "db.example.com.")
	})

	t.Run("what is not there is told for public names", func(t *testing.T) {
		_, err := lookup(t, func(r *Rules) {
			r.Resolve = func(context.Context, string) ([]netip.Addr, error) {
				return nil,
					&net.DNSError{IsNotFound: true}
			}
		}, "db.example.com", 5432)
		if _, ok := errors.AsType[*net.DNSError](err); !ok {
			t.Errorf("error = %v", err)
		}
	})

	t.Run("of a name's addresses the forbidden ones are left out", func(t *testing.T) {
		got, err := lookup(t, func(r *Rules) {
			r.Resolve = resolves(private, public, netip.MustParseAddr("::ffff:127.0.0.1"))
		}, "db.example.com", 1)
		if err != nil || len(got) != 1 || got[0].Addr() != public {
			t.Errorf("%v, %v", got, err)
		}
	})

	t.Run("no more than four addresses are tried, IPv4 first", func(t *testing.T) {
		got, err := lookup(t, func(r *Rules) {
			r.Resolve = resolves(netip.MustParseAddr("2606:4700::1"), public, public, public, public, public)
		}, "db.example.com", 1)
		if err != nil || len(got) != 4 || !got[0].Addr().Is4() {
			t.Errorf("%v, %v", got, err)
		}
	})

	t.Run("a port that the kind does not use is refused", func(t *testing.T) {
		if _, err := lookup(t, func(r *Rules) { r.Port = func(p uint16) bool { return p == 5432 } }, "db.example.com",
			25); !errors.Is(err, connection.NetworkNotAllowed) {
			t.Errorf("error = %v", err)
		}
	})

	t.Run("an org with networks of its own", func(t *testing.T) {
		ownOne := func(change func(*Rules)) func(*Rules) { return func(r *Rules) { allows(r); change(r) } }
		nothing := func(*Rules) {}
		for name, tt := range map[string]struct {
			name   string
			change func(*Rules)
			ok     bool
		}{
			"may name an address of them":        {"10.1.2.3", nothing, true},
			"may not name one of other networks": {"192.168.1.1", nothing, false},
			"may not name a public address":      {"1.2.3.4", nothing, false},
			"may use an internal name that leads to them": {"db.internal",
				func(r *Rules) { r.Resolve = resolves(private) },
				true},
			"may use a single label that leads to them": {"db", func(r *Rules) { r.Resolve = resolves(private) },
				true},
			"may not use an internal name that leads elsewhere": {"db.internal",
				func(r *Rules) { r.Resolve = resolves(netip.MustParseAddr("127.0.0.1")) }, false},
			"may not use an internal name for a public address": {"db.internal", nothing, false},
			"is not told that an internal name does not exist": {"db.internal", func(r *Rules) {
				r.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{} }
			}, false},
			"may use a public name that leads to them": {"db.example.com",
				func(r *Rules) { r.Resolve = resolves(private) }, true},
			"may use other public names":                      {"db.example.com", nothing, true},
			"may not spell an address of them in another way": {"0x0a010203", nothing, false},
			"may not use a public name that leads to other such": {"db.example.com",
				func(r *Rules) { r.Resolve = resolves(netip.MustParseAddr("192.168.1.1")) }, false},
		} {
			t.Run(name, func(t *testing.T) {
				if _, err := lookup(t, ownOne(tt.change), tt.name, 5432); (err == nil) != tt.ok ||
					(err != nil && !errors.Is(err, connection.NetworkNotAllowed)) {
					t.Errorf("error = %v", err)
				}
			})
		}
	})
}
