package e2e

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
)

func TestEmbedPreflights(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		admin := s.user(t, "admin")
		admin.embeds(t, nil)
		switchedOff := admin.embeds(t, object{"allowed_origins": []string{"https://off.example"}})
		admin.do(t, "PATCH", switchedOff.path, object{"enabled": false}).is(t, 200)
		preflight := func(path, origin string) http.Header {
			t.Helper()
			return s.anonymous().do(t, "OPTIONS", path, nil, "Origin: "+origin, "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: content-type").is(t, 204).header
		}
		for _, path := range []string{sessions, view} {
			for origin, want := range map[string]bool{shop: true, "https://two.stores.example": true,
				"https://evil.example": false, "https://off.example": true, "null": false, "garbage": false} {
				h := preflight(path, origin)
				got := h.Get("Access-Control-Allow-Origin")
				if want != (got == origin) || (!want && got+h.Get("Access-Control-Allow-Headers") != "") ||
					h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s from %s: %v", path, origin, h)
				}
			}
		}
		if h := s.anonymous().do(t, "OPTIONS", "/api/me", nil, fromShop,
			"Access-Control-Request-Method: GET").header; h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the rest of the API is open to it too: %v", h)
		}
	})
}

func TestEmbedPages(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		admin := s.user(t, "admin")
		e := admin.embeds(t, nil)
		ancestors := func(a *answer) string {
			_, next, _ := strings.Cut(a.header.Get("Content-Security-Policy"), "frame-ancestors ")
			return next
		}
		t.Run("the site of the referer can frame the page if it is listed", func(t *testing.T) {
			for referer, want := range map[string]string{
				shop: shop, shop + "/": shop, shop + "/cart?x=https://evil.example#y": shop,
				"https://user:pw@www.shop.example/": shop, "https://a.stores.example/": "https://a.stores.example",
				"https://evil.example/": "", "": "", "null": "", "about:blank": "", "/www.shop.example": "",
				"https://evil.example/#" + shop: "", shop + ".evil.example/": "", "https://x;y.stores.example/": "",
				"%": "", s.url + "/": "",
			} {
				a := e.page(t, "Referer: "+referer)
				if want == "" {
					if a.status != 403 || ancestors(a) != "'none'" || strings.Contains(a.text, "Support") ||
						pageData.MatchString(a.text) {
						t.Errorf("%q: %s %v", referer, a, a.header)
					}
				} else if a.status != 200 || ancestors(a) != want || !pageData.MatchString(a.text) {
					t.Errorf("%q: %s %v", referer, a, a.header)
				}
				if h := a.header; h.Get("Cache-Control") != "no-store" ||
					h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
					strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
					t.Errorf("%q: %v", referer, h)
				}
			}
		})
		t.Run("the page shows the visitors' fields, and escapes them", func(t *testing.T) {
			a := e.page(t, "Referer: "+shop)
			for _, want := range []string{"<h2 id=\"atrium-name\">Support</h2>", "Hello &lt;b&gt;you&lt;/b&gt;",
				"Where is it?"} {
				if !strings.Contains(a.text, want) {
					t.Errorf("%s is not in %s", want, a)
				}
			}
			for _, absent := range []string{"<script>alert", "inner-thoughts", "ctpl_", "etok_", "onclick="} {
				if strings.Contains(a.text, absent) {
					t.Errorf("%s is in %s", absent, a)
				}
			}
		})
		t.Run("a page's ticket opens one session, only from Atrium's own page", func(t *testing.T) {
			ticket := pageData.FindStringSubmatch(e.page(t, "Referer: "+shop).text)[1]
			ask := func(e *embeddedChat, ticket string, headers ...string) *answer {
				return s.anonymous().do(t, "POST", sessions, object{"token": e.secret, "ticket": ticket}, headers...)
			}
			ours := "Origin: " + s.url
			session := ask(e, ticket, ours).is(t, 200).at("session")
			e.resume(t, session).is(t, 200)
			e.resume(t, session, ours).is(t, 200)
			e.resume(t, session, fromShop).problem(t, 403, "origin_not_allowed")
			for _, origin := range []string{"", fromShop, "Origin: null", "Origin: https://evil.example"} {
				ask(e, ticket, origin).problem(t, 403, "origin_not_allowed")
			}
			ask(admin.embeds(t, nil), ticket, ours).problem(t, 401, "embed_ticket_invalid")
			ask(e, session, ours).problem(t, 401, "embed_ticket_invalid")
			ask(e, "att_"+strings.TrimPrefix(session, "ats_"), ours).problem(t, 401, "embed_ticket_invalid")
			e.resume(t, "ats_"+strings.TrimPrefix(ticket, "att_")).problem(t, 401, "embed_session_invalid")
			ask(e, ticket+"A", ours).problem(t, 401, "embed_ticket_invalid")
			e.resume(t, ticket).problem(t, 401, "embed_session_invalid")
			admin.do(t, "PATCH", e.path, object{"allowed_origins": []string{"https://other.example"}}).is(t, 200)
			ask(e, ticket, ours).problem(t, 403, "origin_not_allowed")
			e.resume(t, session).problem(t, 403, "origin_not_allowed")
			admin.do(t, "PATCH", e.path, object{"allowed_origins": []string{shop}}).is(t, 200)
		})
		t.Run("only a listed site can frame the page that says why there is no chat", func(t *testing.T) {
			draft := admin.embeds(t, nil)
			admin.do(t, "PATCH", draft.template, object{"status": "draft"}).is(t, 200)
			unknown := &embeddedChat{manager: admin, secret: "ate_x"}
			for code, refusedChat := range map[string]*embeddedChat{
				"template_not_published": draft, "embed_token_invalid": unknown,
			} {
				const none = "'none'"
				for referer, want := range map[string]string{shop: shop, "https://evil.example": none, "": none} {
					a := refusedChat.page(t, "Referer: "+referer)
					isReported := strings.Contains(a.text, `data-code="`+code+`"`)
					if a.status == 200 || ancestors(a) != want || isReported != (want == shop) ||
						!strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
						t.Errorf("%s from %q: %s %v", code, referer, a, a.header)
					}
				}
			}
		})
		t.Run("the script is small, and is not sent twice", func(t *testing.T) {
			a := s.anonymous().get(t, "/embed.js")
			var zippedBuffer bytes.Buffer
			z := gzip.NewWriter(&zippedBuffer)
			_, _ = z.Write([]byte(a.text))
			_ = z.Close()
			if zippedBuffer.Len() >= 35_000 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/javascript") ||
				strings.Contains(a.text, "/*style*/") || a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%d bytes, %v", zippedBuffer.Len(), a.header)
			}
			s.anonymous().do(t, "GET", "/embed.js", nil, "If-None-Match: "+a.header.Get("ETag")).is(t, 304)
		})
	})
}
