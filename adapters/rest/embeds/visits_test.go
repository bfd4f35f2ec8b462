package embeds

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// visits is the area of an org.
type visits struct {
	*handlers
	reach func(r *http.Request, address string) *http.Request // lets a request pass the core, from an address
}

func newVisits(t *testing.T, base string) visits {
	t.Helper()
	var reach *http.Request
	directory := identity.NewDirectory([]identity.Org{{ID: "org_1", Slug: "default", BaseURL: base}}, "")
	api := server.New(new(openapi.Contract), server.Config{}, server.Deps{
		Orgs:    func() *identity.Directory { return directory },
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	page := server.NewRoute("", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reach = r }))
	require.NoError(t, api.Register(server.Area{Below: []server.Route{page}}))
	return visits{newHandlers(api), func(r *http.Request, address string) *http.Request {
		r.RemoteAddr = net.JoinHostPort(address, "1024")
		api.ServeHTTP(httptest.NewRecorder(), r)
		return reach
	}}
}

func TestVisitsAreCountedByTokenAndAddress(t *testing.T) {
	const shop = "https://shop.example"
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	token := func(id embed.TokenID, perMinute int) *embed.Token {
		return &embed.Token{ID: id, Settings: embed.Settings{PerMinute: perMinute,
			Origins: []embed.OriginPattern{shop}}}
	}
	visit := func(h visits, token *embed.Token, address, origin, name string) (*httptest.ResponseRecorder, bool) {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Origin", origin)
		limit := h.visitLimit(w.Header(), h.reach(r, address), embed.Origin(origin), now, name)
		err := limit(token, embed.Counted{})
		return w, err == nil
	}
	t.Run("an address has its own share of a token, and of what it asks for", func(t *testing.T) {
		h := newVisits(t, "")
		a, b := token("a", 1), token("b", 1)
		asks := func(times int, token *embed.Token, address, name string, want bool) {
			t.Helper()
			for i := range times {
				if _, got := visit(h, token, address, shop, name); got != want {
					t.Errorf("call %d of %s: %v", i, address, got)
				}
			}
		}
		asks(6, a, "192.0.2.1", "POST", true)
		asks(1, a, "192.0.2.1", "POST", false)
		asks(1, a, "192.0.2.2", "POST", true)
		asks(1, b, "192.0.2.1", "POST", true)
		asks(1, a, "192.0.2.1", "page", true)
		asks(3, a, "2001:db8::1", "POST", true)
		asks(3, a, "2001:db8::2", "POST", true) // of the same network
		asks(1, a, "2001:db8::3", "POST", false)
	})
	t.Run("the tokens of a workspace have 3,000 calls together", func(t *testing.T) {
		h := newVisits(t, "")
		visits := func(workspace identity.WorkspaceID, tokens int) (limit int) {
			for i := range tokens {
				embedToken := token(embed.TokenID(fmt.Sprint(workspace, i)), 100)
				embedToken.Workspace = workspace
				for range 600 {
					if _, ok := visit(h, embedToken, fmt.Sprint("192.0.2.", i), shop, "POST"); ok {
						limit++
					}
				}
			}
			return limit
		}
		if n := visits("attacker", 10); n != 3000 {
			t.Errorf("ten tokens have %d calls", n)
		}
		if n := visits("victim", 1); n != 600 {
			t.Errorf("a token of another workspace has %d calls", n)
		}
	})
	t.Run("visitors behind one address have shares of their own", func(t *testing.T) {
		h, embedToken := newVisits(t, ""), token("a", 1)
		limit := h.visitLimit(
			http.Header{}, h.reach(httptest.NewRequest("POST", "/", nil), "192.0.2.1"), shop, now, "POST",
		)
		sign, session := func(name string) embed.Counted { return embed.Counted{Visitor: name} },
			func(id string) embed.Counted { return embed.Counted{Session: id} }
		for i, tt := range []struct {
			of   embed.Counted
			want bool
		}{
			{sign("ann"), true}, {sign("joe"), true}, {sign("ann"), false}, {sign("192.0.2.1"), true},
			{session("1"), true}, {session("1"), false}, {session("2"), true}, {session("ann"), true},
			{embed.Counted{}, true}, {session("4"), true}, {session("5"), true},
			// the address has had its six; signed visitors are counted apart
			{session("6"), false}, {embed.Counted{}, false}, {sign("eve"), true},
		} {
			if got := limit(embedToken, tt.of) == nil; got != tt.want {
				t.Errorf("call %d of %+v: %v", i, tt.of, got)
			}
		}
	})
	t.Run("a change of the limit counts at once", func(t *testing.T) {
		h := newVisits(t, "")
		for range 6 {
			visit(h, token("a", 1), "192.0.2.1", shop, "POST")
		}
		if _, ok := visit(h, token("a", 1), "192.0.2.1", shop, "POST"); ok {
			t.Error("the old limit does not hold")
		}
		if _, ok := visit(h, token("a", 2), "192.0.2.1", shop, "POST"); !ok {
			t.Error("the new limit does not hold")
		}
	})
	t.Run("all addresses together have 600 calls a minute, and one that asks too much takes none of them",
		func(t *testing.T) {
			h := newVisits(t, "")
			a := token("a", 1)
			for range 1000 {
				visit(h, a, "192.0.2.1", shop, "POST")
			}
			for i := range 594 {
				if _, ok := visit(h, a, fmt.Sprintf("198.51.%d.%d", i/250, i%250), shop, "POST"); !ok {
					t.Fatalf("call %d is refused", i+7)
				}
			}
			w, ok := visit(h, a, "203.0.113.1", shop, "POST")
			if ok || w.Header().Get("Retry-After") != "1" ||
				w.Header().Get("Ratelimit-Policy") != `"default";q=600;w=60` {
				t.Errorf("the 601st: %v, %v", ok, w.Header())
			}
		})
	t.Run("only scripts of listed sites can read the answer, refused or not", func(t *testing.T) {
		h := newVisits(t, "")
		for range 7 {
			w, _ := visit(h, token("a", 1), "192.0.2.1", shop, "POST")
			assert.Equal(t, "CORS", w.Header().Get("Access-Control-Allow-Origin"), shop)
		}
		for _, origin := range []string{"https://evil.example", "null", ""} {
			w, _ := visit(h, token("a", 1), "192.0.2.9", origin, "POST")
			assert.Equal(t, origin+": CORS", w.Header().Get("Access-Control-Allow-Origin"), "")
		}
	})
}

func TestOurOwnPagesAreKnownByTheirOrigin(t *testing.T) {
	for _, tt := range []struct {
		base, host, origin string
		ours               bool
	}{
		{"https://atrium.example", "10.0.0.1:8080", "https://atrium.example", true},
		{"https://atrium.example/app/", "10.0.0.1:8080", "https://atrium.example:443", true},
		{"", "atrium.example", "https://atrium.example", true},
		{"", "atrium.example:8080", "http://atrium.example:8080", true},
		{"", "127.0.0.1:8080", "http://127.0.0.1:8080", true},
		{"https://atrium.example", "atrium.example", "https://atrium.example.evil.test", false},
		{"https://atrium.example", "atrium.example", "https://atrium.example:444", false},
		{"https://atrium.example", "atrium.example", "http://other.example", false},
		{"", "", "null", false},
		{"", "", "", false},
		{"not a url", "also not", "garbage", false},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		h := newVisits(t, tt.base)
		if got := h.newVisit(h.reach(r, "192.0.2.1")).Ours; got != tt.ours {
			t.Errorf("%+v: ours = %v", tt, got)
		}
	}
}
