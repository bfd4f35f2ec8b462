package server

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAddress(t *testing.T) {
	const client, proxy = "203.0.113.9", "10.1.2.3:4444"
	for name, tt := range map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"directly":                              {client + ":5000", nil, client},
		"directly, and lying":                   {client + ":5000", []string{"192.0.2.1"}, client},
		"through a trusted proxy":               {proxy, []string{client}, client},
		"through two trusted proxies":           {proxy, []string{client + ", 10.9.9.9"}, client},
		"through two headers":                   {proxy, []string{client, "10.9.9.9"}, client},
		"the client's own claim does not count": {proxy, []string{"192.0.2.1, " + client}, client},
		"the client's own claim behind two proxies": {
			proxy, []string{"10.0.0.1, " + client + ", 10.9.9.9"}, client,
		},
		"a trusted proxy that says nothing":               {proxy, nil, "10.1.2.3"},
		"a trusted proxy that says something else":        {proxy, []string{"unknown"}, "10.1.2.3"},
		"nonsense before a trusted hop":                   {proxy, []string{"x, 10.9.9.9"}, "10.9.9.9"},
		"only trusted hops":                               {proxy, []string{"10.7.7.7, 10.8.8.8"}, "10.7.7.7"},
		"IPv6 through a trusted IPv6 proxy":               {"[fd00::1]:80", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv4 in IPv6 is IPv4":                            {proxy, []string{"::ffff:203.0.113.9"}, client},
		"a proxy that comes as IPv4 in IPv6":              {"[::ffff:10.1.2.3]:80", []string{client}, client},
		"with the client's port":                          {proxy, []string{client + ":77"}, client},
		"with the ports of two hops":                      {proxy, []string{client + ":77, 10.9.9.9:1"}, client},
		"IPv6 with a port":                                {proxy, []string{"[2001:db8::1]:77"}, "2001:db8::1"},
		"IPv6 in brackets":                                {proxy, []string{"[2001:db8::1]"}, "2001:db8::1"},
		"a remote address without a port, as in a socket": {"@", []string{client}, "@"},
	} {
		t.Run(name, func(t *testing.T) {
			h := behindProxies()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.remote
			r.Header["X-Forwarded-For"] = tt.forwarded
			assert.Equal(t, "address", h.address(r), tt.want)
		})
	}
	t.Run("without trusted proxies no forwarded header is used", func(t *testing.T) {
		h := &API{}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-Forwarded-For", client)
		assert.Equal(t, "address", h.address(r), "127.0.0.1")
	})
}

func TestHost(t *testing.T) {
	h := behindProxies()
	for remote, want := range map[string]string{"10.1.2.3:1": "forwarded.example.com",
		"203.0.113.9:1": "direct.example.com"} {
		r := httptest.NewRequest("GET", "http://direct.example.com/", nil)
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-Host", "forwarded.example.com")
		if got := h.Host(r); got != want {
			t.Errorf("from %s: host = %s, want %s", remote, got, want)
		}
	}
	if got := printableHost("a\x00\r\n<b>é" + strings.Repeat("x", 300)); len(got) != 255 ||
		!strings.HasPrefix(got, "a<b>x") {
		t.Errorf("printableHost = %q", got)
	}
}

func TestCORS(t *testing.T) {
	const ours = "https://app.example.com"
	org := &identity.Org{CORS: []string{ours}}
	for name, tt := range map[string]struct {
		org                     *identity.Org
		method, origin, request string // request is Access-Control-Request-Method
		allowed, done, vary     bool
	}{
		"a configured origin":                 {org, "GET", ours, "", true, false, true},
		"its preflight":                       {org, "OPTIONS", ours, "PATCH", true, true, true},
		"its OPTIONS that is no preflight":    {org, "OPTIONS", ours, "", true, false, true},
		"another origin":                      {org, "GET", "https://evil.example.com", "", false, false, true},
		"the preflight of another":            {org, "OPTIONS", "https://evil.example.com", "GET", false, false, true},
		"a longer host":                       {org, "GET", ours + ".evil.test", "", false, false, true},
		"another scheme":                      {org, "GET", "http://app.example.com", "", false, false, true},
		"null":                                {org, "GET", "null", "", false, false, true},
		"no origin":                           {org, "GET", "", "", false, false, true},
		"an org that configures none":         {&identity.Org{}, "GET", ours, "", false, false, false},
		"the preflight where none configured": {&identity.Org{}, "OPTIONS", ours, "GET", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := httptest.NewRecorder(), httptest.NewRequest(tt.method, "/api/me", nil)
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.request != "" {
				r.Header.Set("Access-Control-Request-Method", tt.request)
			}
			done := orgCORS(w, r, tt.org)
			h := w.Header()
			want := ""
			if tt.allowed {
				want = ours
			}
			if done != tt.done || h.Get("Access-Control-Allow-Origin") != want ||
				slices.Contains(h.Values("Vary"), "Origin") != tt.vary {
				t.Errorf("done %v, headers %v", done, h)
			}
			if (done && w.Code != http.StatusNoContent) || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%d %v", w.Code, h)
			}
		})
	}
}

// behindProxies is an API that trusts some proxies.
func behindProxies() *API {
	return &API{Config: Config{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
	}}}
}
