package e2e

import (
	"testing"
)

func TestEmbedLimits(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, set("server.rate_limit.unauthenticated_per_minute", "5"),
			configured("server: {trusted_proxies: [127.0.0.0/8]}\n"))
		e := s.user(t, "admin").embeds(t, object{"rate_limit": object{"per_minute": 3}})
		from := func(address string) string { return "X-Forwarded-For: " + address }
		t.Run("the visitors of an address have six times the calls of one", func(t *testing.T) {
			// refused repeats a call until the limit of 18 refuses it. One call comes back every 3.3 seconds.
			refuses := func(call func() *answer) *answer {
				for n := 0; ; n++ {
					if a := call(); a.status != 200 || n == 30 {
						if n < 18 || n == 30 {
							t.Errorf("%d calls were answered", n)
						}
						return a
					}
				}
			}
			a := refuses(func() *answer { return e.visit(t, fromShop, from("192.0.2.1")) })
			a.problem(t, 429, "rate_limited")
			wait := a.header.Get("Retry-After")
			if wait < "1" || wait > "4" || a.header.Get("RateLimit-Policy") != `"default";q=18;w=60` ||
				a.header.Get("Access-Control-Allow-Origin") != shop {
				t.Errorf("%v", a.header)
			}
			// pages are counted apart
			refuses(func() *answer { return e.page(t, "Referer: "+shop, from("192.0.2.1")) }).is(t, 429)
		})
		t.Run("colleagues behind one address have calls of their own, counted by kind", func(t *testing.T) {
			calls := func(session, method, path string) *answer {
				return s.anonymous().do(t, method, path, nil, "Authorization: Bearer "+session, fromShop,
					from("192.0.2.2"))
			}
			for range 4 {
				session := e.visit(t, fromShop, from("192.0.2.2")).is(t, 200).at("session")
				for range 3 {
					calls(session, "GET", view).is(t, 200)
					session = calls(session, "POST", sessions+"/renew").is(t, 200).at("session")
				}
				a := calls(session, "GET", view).problem(t, 429, "rate_limited")
				if a.header.Get("RateLimit-Policy") != `"default";q=3;w=60` {
					t.Errorf("%v", a.header)
				}
				calls(session, "POST", sessions+"/renew").problem(t, 429, "rate_limited")
			}
		})
		t.Run("ratings are rate limited", func(t *testing.T) {
			session := e.visit(t, fromShop, from("192.0.2.6")).is(t, 200).at("session")
			for range 30 {
				a := s.anonymous().do(t, "POST", ratings, object{"answer": "atr_x", "helpful": true}, fromShop,
					"Authorization: Bearer "+session, from("192.0.2.6"))
				if a.status == 429 {
					a.problem(t, 429, "rate_limited")
					return
				}
				a.problem(t, 404, "embed_answer_not_found")
			}
			t.Error("nothing stopped them")
		})
		t.Run("preflight requests are rate limited", func(t *testing.T) {
			preflight := func(address string) *answer {
				return s.anonymous().do(t, "OPTIONS", sessions, nil, fromShop, "Access-Control-Request-Method: POST",
					"X-Forwarded-For: "+address)
			}
			for i := range 5000 { // ten a second come back
				if preflight("192.0.2.4").status == 429 {
					if i < 600 {
						t.Errorf("stopped after %d", i)
					}
					preflight("192.0.2.5").is(t, 204)
					return
				}
			}
			t.Error("nobody stopped it")
		})
		t.Run("guesses of tokens are rate limited", func(t *testing.T) {
			guess := &embeddedChat{manager: e.manager, secret: "ate_x"}
			for range 5 {
				guess.visit(t, fromShop, "X-Forwarded-For: 192.0.2.3").problem(t, 401, "embed_token_invalid")
			}
			guess.visit(t, fromShop, "X-Forwarded-For: 192.0.2.3").problem(t, 429, "rate_limited")
			guess.page(t, "X-Forwarded-For: 192.0.2.3").is(t, 429)
			e.visit(t, fromShop, "X-Forwarded-For: 192.0.2.3").is(t, 200)
		})
	})
}
