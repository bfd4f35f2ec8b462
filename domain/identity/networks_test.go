package identity_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func networks(t *testing.T, texts ...string) identity.Networks {
	t.Helper()
	n, ok := identity.NewNetworks(texts)
	if !ok {
		t.Fatalf("%q are not networks", texts)
	}
	return n
}

func TestNetworksContain(t *testing.T) {
	office := networks(t, "203.0.113.0/24", "198.51.100.7", "2001:db8::/32")
	for address, want := range map[string]bool{
		"203.0.113.0": true, "203.0.113.255": true, "203.0.114.0": false, "198.51.100.7": true, "198.51.100.8": false,
		"2001:db8:1::1": true, "2001:db9::1": false, "::ffff:203.0.113.9": true, "2001:db8::1%eth0": true,
		"": false, "unix": false, "203.0.113.9:443": false,
	} {
		t.Run(address, func(t *testing.T) {
			assert.Equal(t, "Contain", office.Contain(address), want)
			by := identity.Actor{Networks: office, Request: identity.Request{Address: address}}
			if err := by.CheckAddress(); want != (err == nil) ||
				(!want && !errors.Is(err, identity.ErrAddressNotAllowed)) {
				t.Errorf("CheckAddress = %v", err)
			}
			if !identity.Networks("").Contain(address) {
				t.Error("it is refused without a limit")
			}
		})
	}
}

func TestNewNetworks(t *testing.T) {
	got := networks(t, "203.0.113.9/24", "::ffff:10.0.0.1", "203.0.113.0/24", "::ffff:192.0.2.0/120", "2001:DB8::1")
	if want := identity.Networks("10.0.0.1/32 192.0.2.0/24 2001:db8::1/128 203.0.113.0/24"); got != want {
		t.Errorf("they are %q, want %q", got, want)
	}
	for _, problem := range []string{
		"", "example.com", "203.0.113.0/33", "203.0.113.0-203.0.113.9", "fe80::1%eth0", "::ffff:0.0.0.0/95",
		"10.0.0.1 10.0.0.2",
	} {
		if n, ok := identity.NewNetworks([]string{problem}); ok || n != "" {
			t.Errorf("%q is a network", problem)
		}
	}
}

func TestNetworksCover(t *testing.T) {
	for name, tt := range map[string]struct {
		has, other []string
		want       bool
	}{
		"everywhere covers a network":         {nil, []string{"10.0.0.0/8"}, true},
		"a network does not cover everywhere": {[]string{"10.0.0.0/8"}, nil, false},
		"a network covers a smaller one":      {[]string{"10.0.0.0/8"}, []string{"10.1.0.0/16", "10.2.3.4"}, true},
		"but not a larger one":                {[]string{"10.1.0.0/16"}, []string{"10.0.0.0/8"}, false},
		"all of the others have to be covered": {[]string{"10.0.0.0/8"}, []string{"10.1.0.0/16", "192.0.2.1"},
			false},
		"all of IPv4 does not cover any of IPv6":  {[]string{"0.0.0.0/0"}, []string{"2001:db8::/32"}, false},
		"all of IPv6 does not cover any of IPv4":  {[]string{"::/0"}, []string{"10.0.0.0/8"}, false},
		"networks of both cover networks of both": {[]string{"::/0", "0.0.0.0/0"}, []string{"::1", "127.0.0.1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "Cover", networks(t, tt.has...).Cover(networks(t, tt.other...)), tt.want)
		})
	}
}
