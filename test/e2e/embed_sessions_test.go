package e2e

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// sessionsContinue tests how sessions go on, and how others than their page learn of them.
func sessionsContinue(t *testing.T, s *server, admin *client, e *embeddedChat) {
	t.Helper()
	t.Run("a session is renewed for the same visitor and site", func(t *testing.T) {
		first := s.anonymous().do(t, "POST", sessions, object{"token": e.secret, "visitor": "customer-42"},
			fromShop).is(t, 200).at("session")
		renew := func(session string, headers ...string) *answer {
			return s.anonymous().do(t, "POST", sessions+"/renew", nil,
				append(headers, "Authorization: Bearer "+session)...)
		}
		a := renew(first, fromShop).is(t, 200).has(t, map[string]string{"template.name": "Support",
			"expires_in_seconds": "600"})
		if a.at("session") == first || a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Access-Control-Allow-Origin") != shop {
			t.Errorf("%s %v", a, a.header)
		}
		e.resume(t, a.at("session"), fromShop).is(t, 200).has(t, map[string]string{"visitor": "customer-42"})
		e.resume(t, first, fromShop).is(t, 200)
		renew(first, "Origin: https://evil.example").problem(t, 403, "origin_not_allowed")
		renew("ats_x", fromShop).problem(t, 401, "embed_session_invalid")
		draft := admin.embeds(t, nil)
		session := draft.visit(t, fromShop).is(t, 200).at("session")
		admin.do(t, "PATCH", draft.template, object{"status": "draft"}).is(t, 200)
		renew(session, fromShop).problem(t, 409, "template_not_published")
		admin.do(t, "DELETE", draft.path, nil).is(t, 204)
		renew(session, fromShop).problem(t, 401, "embed_token_invalid")
	})
	t.Run("a backend verifies a session with a key of the workspace", func(t *testing.T) {
		one := admin.embeds(t, nil)
		response := s.anonymous().do(t, "POST", sessions, object{"token": one.secret, "visitor": "customer-42"},
			fromShop).is(t, 200)
		verify := func(c *client, session string) *answer {
			return c.do(t, "POST", sessions+"/verify", object{"session": session})
		}
		verify(s.user(t, "viewer"), response.at("session")).is(t, 200).has(t, map[string]string{
			"chat_template_id": one.template[strings.LastIndex(one.template, "/")+1:],
			"embed_token_id":   one.path[strings.LastIndex(one.path, "/")+1:],
			"origin":           shop, "visitor": "customer-42", "expires_at": response.at("expires_at"),
		})
		verify(admin, "ats_x").problem(t, 404, "embed_session_not_found")
		elsewhere := s.user(t, "owner", "--workspace", "elsewhere")
		verify(elsewhere, response.at("session")).problem(t, 404, "embed_session_not_found")
		admin.do(t, "PATCH", one.path, object{"allowed_origins": []string{"https://other.example"}}).is(t, 200)
		verify(admin, response.at("session")).problem(t, 404, "embed_session_not_found")
		admin.do(t, "DELETE", one.path, nil).is(t, 204)
		verify(admin, response.at("session")).problem(t, 404, "embed_session_not_found")
	})
	t.Run("enabling a token again does not bring its sessions back", func(t *testing.T) {
		one := admin.embeds(t, nil)
		session := one.visit(t, fromShop).at("session")
		admin.do(t, "PATCH", one.path, object{"enabled": false}).is(t, 200)
		admin.do(t, "PATCH", one.path, object{"enabled": true}).is(t, 200)
		one.resume(t, session, fromShop).problem(t, 401, "embed_session_invalid")
		one.resume(t, one.visit(t, fromShop).at("session"), fromShop).is(t, 200)
	})
	t.Run("scripts of sites on a list can read why they are refused", func(t *testing.T) {
		unknown := &embeddedChat{manager: admin, secret: "ate_x"}
		for origin, want := range map[string]string{shop: shop, "https://evil.example": ""} {
			a := unknown.visit(t, "Origin: "+origin).problem(t, 401, "embed_token_invalid")
			assert.Equal(t, origin+": CORS", a.header.Get("Access-Control-Allow-Origin"), want)
		}
	})
}
