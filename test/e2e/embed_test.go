package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	sessions = "/api/embed/sessions"
	view     = "/api/embed/template"
	shop     = "https://www.shop.example"
	fromShop = "Origin: " + shop
)

// embeddedChat is an embed token of a published chat template.
type embeddedChat struct {
	manager        *client
	template, path string // of the template and the token
	secret         string
	visitorSecret  string
	replies        *replies // who answers; nil: no one
}

// embeds creates a chat that the shop can embed. settings are those of the token.
func (c *client) embeds(t *testing.T, settings object, headers ...string) *embeddedChat {
	t.Helper()
	template := chats + "/" + c.create(t, chats, object{
		"name": "Support", "status": "published", "instructions": "inner-thoughts", "greeting": "Hello <b>you</b>",
		"conversation_starters": []string{"Where is it?", `"><script>alert(1)</script>`}, "description": "for-staff",
		"metadata": object{"team": "inner-team"},
	}, headers...).at("id")
	body := object{"name": "Shop", "allowed_origins": []string{shop, "https://*.stores.example"},
		"rate_limit": object{"per_minute": 600}}
	for key, value := range settings {
		body[key] = value
	}
	response := c.create(t, template+"/embed-tokens", body, headers...)
	return &embeddedChat{manager: c, template: template, path: template + "/embed-tokens/" + response.at("id"),
		secret: response.at("token"), visitorSecret: response.at("visitor_secret")}
}

// visit requests a session as a visitor's page does.
func (e *embeddedChat) visit(t *testing.T, headers ...string) *answer {
	t.Helper()
	return e.manager.server.anonymous().do(t, "POST", sessions, object{"token": e.secret}, headers...)
}

// resume uses a session.
func (e *embeddedChat) resume(t *testing.T, session string, headers ...string) *answer {
	t.Helper()
	return e.manager.server.anonymous().do(t, "GET", view, nil, append(headers, "Authorization: Bearer "+session)...)
}

// page gets the page for frames.
func (e *embeddedChat) page(t *testing.T, headers ...string) *answer {
	t.Helper()
	return e.manager.server.anonymous().do(t, "GET", "/embed/"+e.secret, nil, headers...)
}

func TestEmbedTokens(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		admin := s.user(t, "admin")
		e := admin.embeds(t, nil)
		tokens := e.template + "/embed-tokens"

		t.Run("the secret is shown once, and only its last characters afterwards", func(t *testing.T) {
			a := admin.get(t, e.path).has(t, map[string]string{
				"name": "Shop", "status": "active", "enabled": "true", "allow_no_origin": "false",
				"session_ttl_seconds": "600", "rate_limit.per_minute": "600",
				"allowed_origins": `["` + shop + `","https://*.stores.example"]`, "hint": e.secret[len(e.secret)-4:],
				"last_used_at": "null", "expires_at": "null", "token": "",
			})
			if l := admin.get(t, tokens); strings.Contains(a.text+l.text, e.secret) || len(l.items(t)) != 1 {
				t.Error(l)
			}
		})
		t.Run("an embed token is changed field by field", func(t *testing.T) {
			tag := admin.get(t, e.path).header.Get("ETag")
			a := admin.do(t, "PATCH", e.path,
				object{"name": "Other", "allowed_origins": []string{"HTTPS://BÜCHER.example:443"},
					"expires_at": "2999-01-01T00:00:00Z"}, "If-Match: "+tag).is(t, 200)
			a.has(t, map[string]string{"name": "Other", "allowed_origins": `["https://xn--bcher-kva.example"]`,
				"expires_at": "2999-01-01T00:00:00.000Z", "enabled": "true", "revision": "2"})
			admin.do(t, "PATCH", e.path, object{"name": "Late"}, "If-Match: "+tag).problem(t, 412, "revision_mismatch")
			admin.do(t, "PATCH", e.path, object{"expires_at": nil, "enabled": false}).is(t, 200).has(t,
				map[string]string{"expires_at": "null", "status": "disabled"})
			admin.do(t, "PATCH", e.path, object{"enabled": true, "allowed_origins": []string{shop}}).is(t, 200)
		})
		t.Run("a repeated call shows the secret again until it is rotated", func(t *testing.T) {
			body := object{"name": "Twice", "allowed_origins": []string{shop}}
			first := admin.create(t, tokens, body, "Idempotency-Key: embed")
			second := admin.create(t, tokens, body, "Idempotency-Key: embed")
			if first.at("token") == "" || first.text != second.text || first.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s\n%s", first, second)
			}
			rotate := first.header.Get("Location") + "/rotate"
			rotation := admin.do(t, "POST", rotate, nil, "Idempotency-Key: rotate").is(t, 200)
			if replay := admin.do(t, "POST", rotate, nil, "Idempotency-Key: rotate").is(t,
				200); rotation.at("token") == first.at("token") || replay.text != rotation.text {
				t.Errorf("%s\n%s", rotation, replay)
			}
			admin.do(t, "POST", tokens, body, "Idempotency-Key: embed").problem(t, 409, "idempotency_answer_erased")
			admin.do(t, "DELETE", first.header.Get("Location"), nil).is(t, 204)
			admin.do(t, "POST", rotate, nil, "Idempotency-Key: rotate").problem(t, 409, "idempotency_answer_erased")
			admin.do(t, "GET", first.header.Get("Location"), nil).problem(t, 404, "embed_token_not_found")
		})
		t.Run("the audit trail records every change without secrets", func(t *testing.T) {
			a := admin.get(t, "/api/events?limit=100")
			var kinds []string
			for _, kind := range a.each(t, "type") {
				if strings.HasPrefix(kind, "embed_token.") {
					kinds = append(kinds, strings.TrimPrefix(kind, "embed_token."))
				}
			}
			if want := []string{"deleted", "rotated", "created", "updated", "updated", "updated",
				"created"}; !slices.Equal(kinds, want) {
				t.Errorf("%v, want %v", kinds, want)
			}
			if anyToken.MatchString(a.text) {
				t.Error("an event holds a secret")
			}
		})
		t.Run("bad input gets its documented answer", func(t *testing.T) {
			multiple := make([]string, 51)
			for i := range multiple {
				multiple[i] = fmt.Sprintf("https://h%d.example", i)
			}
			for name, tt := range map[string]struct {
				body any
				want []string
			}{
				"nothing": {object{}, []string{"/allowed_origins required", "/name required"}},
				"an origin with a path": {object{"name": "n", "allowed_origins": []string{shop, shop + "/"}},
					[]string{"/allowed_origins/1 invalid_origin"}},
				"one with credentials": {
					object{"name": "n", "allowed_origins": []string{"https://a:b@shop.example"}},
					[]string{"/allowed_origins/0 invalid_origin"}},
				"null": {object{"name": "n", "allowed_origins": []string{"null"}},
					[]string{"/allowed_origins/0 invalid_origin"}},
				"a wildcard in the middle": {
					object{"name": "n", "allowed_origins": []string{"https://a.*.example"}},
					[]string{"/allowed_origins/0 invalid_wildcard"}},
				"a wildcard alone": {object{"name": "n", "allowed_origins": []string{"*"}},
					[]string{"/allowed_origins/0 invalid_wildcard"}},
				"a wildcard above everybody": {
					object{"name": "n", "allowed_origins": []string{"https://*.co.uk", "https://*.github.io"}},
					[]string{"/allowed_origins/0 public_suffix", "/allowed_origins/1 public_suffix"}},
				"http on a public host": {
					object{"name": "n", "allowed_origins": []string{"http://shop.example"}},
					[]string{"/allowed_origins/0 insecure_origin"}},
				"51 origins": {object{"name": "n", "allowed_origins": multiple},
					[]string{"/allowed_origins too_many_items"}},
				"no origins": {object{"name": "n", "allowed_origins": []string{}},
					[]string{"/allowed_origins too_few_items"}},
				"the same twice, written in ways": {
					object{"name": "n", "allowed_origins": []string{shop, strings.ToUpper(shop) + ".:443"}},
					[]string{"/allowed_origins/1 duplicate_item"}},
				"an end in the past": {object{"name": "n", "allowed_origins": []string{shop},
					"expires_at": "2020-01-01T00:00:00Z"}, []string{"/expires_at in_the_past"}},
				"a session of a second": {object{"name": "n", "allowed_origins": []string{shop},
					"session_ttl_seconds": 1}, []string{"/session_ttl_seconds out_of_range"}},
				"no calls a minute": {object{"name": "n", "allowed_origins": []string{shop},
					"rate_limit": object{"per_minute": 0}}, []string{"/rate_limit/per_minute out_of_range"}},
				"a token of one's own choice": {object{"name": "n", "allowed_origins": []string{shop},
					"token": "ate_x"}, []string{"/token unknown_field"}},
				"all of it is told at once": {object{"name": "", "allowed_origins": []any{1, shop},
					"enabled": "yes"}, []string{"/allowed_origins/0 wrong_type", "/enabled wrong_type",
					"/name too_short"}},
				"null for what cannot be cleared": {object{"name": nil, "allowed_origins": nil},
					[]string{"/allowed_origins wrong_type", "/name wrong_type"}},
				"an origin longer than a host can": {
					object{"name": "n", "allowed_origins": []string{"https://" + strings.Repeat("a.", 127) + "com"}},
					[]string{"/allowed_origins/0 invalid_origin"}},
			} {
				if a := admin.do(t, "POST", tokens, tt.body).problem(t, 422, "invalid_fields"); !slices.Equal(a.wrong(),
					tt.want) {
					t.Errorf("%s: %v, want %v", name, a.wrong(), tt.want)
				}
			}
			admin.do(t, "POST", e.path+"/rotate", object{"grace_seconds": 86401}).problem(t, 422, "invalid_fields")
			admin.do(t, "POST", chats+"/ctpl_x/embed-tokens",
				object{"name": "n", "allowed_origins": []string{shop}}).problem(t, 404, "chat_template_not_found")
		})
		t.Run("concurrent calls cannot exceed 20 embed tokens", func(t *testing.T) {
			var wg sync.WaitGroup
			statuses := make([]int, 24)
			for i := range statuses {
				wg.Go(func() {
					if a, err := admin.try(t, "POST", tokens,
						object{"name": "n", "allowed_origins": []string{shop}}); err == nil {
						statuses[i] = a.status
					}
				})
			}
			wg.Wait()
			slices.Sort(statuses)
			if got := len(admin.get(t, tokens+"?limit=100").items(t)); got != 20 || statuses[18] != 201 ||
				statuses[19] != 409 || statuses[23] != 409 {
				t.Errorf("%d tokens, %v", got, statuses)
			}
			admin.do(t, "POST", tokens, object{"name": "n", "allowed_origins": []string{shop}}).problem(t, 409,
				"quota_exceeded")
		})
	})
}

func TestEmbedSessions(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		admin := s.user(t, "admin")
		e := admin.embeds(t, nil)

		t.Run("a page of a listed site opens a session, and gets the visitors' fields", func(t *testing.T) {
			a := s.anonymous().do(t, "POST", sessions, object{"token": e.secret, "visitor": "customer-42"},
				fromShop).is(t, 200)
			if a.header.Get("Access-Control-Allow-Origin") != shop || a.header.Get("Vary") != "Origin" ||
				a.header.Get("Access-Control-Allow-Credentials") != "" || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", a.header)
			}
			b := e.resume(t, a.at("session"), fromShop).is(t, 200).has(t,
				map[string]string{"visitor": "customer-42", "template.name": "Support",
					"expires_at": a.at("expires_at")})
			if a.at("template") != b.at("template") {
				t.Errorf("%s\n%s", a, b)
			}
			for _, inner := range []string{"inner-thoughts", "inner-team", "for-staff", "ctpl_", "etok_",
				"usr_", "wsp_"} {
				if strings.Contains(a.at("template")+b.text, inner) {
					t.Errorf("visitors see %s", inner)
				}
			}
			admin.get(t, e.path).has(t, map[string]string{"last_used_origin": shop})
		})
		t.Run("only listed origins open a session, in any spelling", func(t *testing.T) {
			for origin, want := range map[string]int{
				shop: 200, "https://www.SHOP.example": 200, shop + ".": 200, shop + ":443": 200,
				"https://one.stores.example": 200,
				"https://shop.example":       403, "http://www.shop.example": 403, shop + ":444": 403,
				shop + ".evil.example": 403, "https://a.one.stores.example": 403, "https://stores.example": 403,
				"null": 403, shop + "/": 403, shop + "@evil.example": 403, "https://evil.example": 403,
				"https://*.stores.example": 403, "*": 403, s.url: 403,
			} {
				a := e.visit(t, "Origin: "+origin)
				if cors := a.header.Get("Access-Control-Allow-Origin"); a.status != want ||
					(want == 200 && cors != origin) || (want != 200 && cors != "") {
					t.Errorf("%s: %s, CORS %q", origin, a, cors)
				}
			}
			e.visit(t).problem(t, 403, "origin_not_allowed")
			e.visit(t, fromShop, "Origin: https://evil.example").problem(t, 403, "origin_not_allowed")
			open := admin.embeds(t, object{"allow_no_origin": true})
			open.visit(t).is(t, 200)
			open.visit(t, "Origin: null").is(t, 200)
			open.visit(t, "Origin: https://evil.example").problem(t, 403, "origin_not_allowed")
		})
		t.Run("a session stays with the site that opened it", func(t *testing.T) {
			session := e.visit(t, fromShop).at("session")
			for _, origin := range []string{"", "Origin: https://one.stores.example", "Origin: https://evil.example",
				"Origin: null", "Origin: " + s.url} {
				e.resume(t, session, origin).problem(t, 403, "origin_not_allowed")
			}
			e.resume(t, session[:len(session)-2], fromShop).problem(t, 401, "embed_session_invalid")
			e.resume(t, "", fromShop).problem(t, 401, "embed_session_invalid")
			e.resume(t, admin.token, fromShop).problem(t, 401, "embed_session_invalid")
			(&client{server: s, token: session}).do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		})
		t.Run("all invalid tokens get the same response", func(t *testing.T) {
			disabledChat, chat, item, rotatedChat := admin.embeds(t, nil), admin.embeds(t, nil), admin.embeds(t, nil),
				admin.embeds(t, nil)
			goneChat := admin.embeds(t, nil)
			admin.do(t, "PATCH", disabledChat.path, object{"enabled": false}).is(t, 200)
			s.sql(t, `UPDATE chat_embed_tokens SET expires_at = 1 WHERE id = '`+
				chat.path[strings.LastIndex(chat.path, "/")+1:]+`'`)
			admin.get(t, chat.path).has(t, map[string]string{"status": "expired"})
			admin.do(t, "DELETE", item.path, nil).is(t, 204)
			admin.do(t, "POST", rotatedChat.path+"/rotate", nil).is(t, 200)
			admin.do(t, "DELETE", goneChat.template, nil).is(t, 204)
			unknown := &embeddedChat{manager: admin, secret: e.secret[:len(e.secret)-1] + "!"}
			want := unknown.visit(t, fromShop, "Request-Id: same").problem(t, 401, "embed_token_invalid")
			for name, one := range map[string]*embeddedChat{"disabled": disabledChat, "expired": chat,
				"deleted": item, "rotated": rotatedChat, "of a deleted template": goneChat} {
				same(t, name, want, one.visit(t, fromShop, "Request-Id: same"))
			}
		})
		t.Run("sessions end with their token", func(t *testing.T) {
			for name, end := range map[string]func(*embeddedChat){
				"disabled": func(e *embeddedChat) { admin.do(t, "PATCH", e.path, object{"enabled": false}).is(t, 200) },
				"deleted":  func(e *embeddedChat) { admin.do(t, "DELETE", e.path, nil).is(t, 204) },
				"rotated":  func(e *embeddedChat) { admin.do(t, "POST", e.path+"/rotate", nil).is(t, 200) },
				"expired": func(e *embeddedChat) {
					s.sql(t, `UPDATE chat_embed_tokens SET expires_at = 1 WHERE id = '`+
						e.path[strings.LastIndex(e.path, "/")+1:]+`'`)
				},
				"of a deleted template": func(e *embeddedChat) { admin.do(t, "DELETE", e.template, nil).is(t, 204) },
			} {
				one := admin.embeds(t, nil)
				session := one.visit(t, fromShop).is(t, 200).at("session")
				one.resume(t, session, fromShop).is(t, 200)
				end(one)
				if a := one.resume(t, session, fromShop); a.status != 401 || a.at("code") != "embed_token_invalid" {
					t.Errorf("%s: %s", name, a)
				}
			}
			one := admin.embeds(t, nil)
			session := one.visit(t, fromShop).at("session")
			admin.do(t, "PATCH", one.path, object{"allowed_origins": []string{"https://other.example"}}).is(t, 200)
			one.resume(t, session, fromShop).problem(t, 403, "origin_not_allowed")
			admin.do(t, "PATCH", one.path, object{"allowed_origins": []string{shop}}).is(t, 200)
			admin.do(t, "PATCH", one.template, object{"status": "disabled"}).is(t, 200)
			one.resume(t, session, fromShop).problem(t, 409, "template_not_published")
			one.visit(t, fromShop).problem(t, 409, "template_not_published")
			one.visit(t, "Origin: https://evil.example").problem(t, 403, "origin_not_allowed")
		})
		sessionsContinue(t, s, admin, e)
		t.Run("a rotated secret and its sessions work for the grace period", func(t *testing.T) {
			one := admin.embeds(t, nil)
			session := one.visit(t, fromShop).at("session")
			fresh := *one
			fresh.secret = admin.do(t, "POST", one.path+"/rotate", object{"grace_seconds": 3600}).is(t, 200).at("token")
			for _, e := range []*embeddedChat{one, &fresh} {
				e.visit(t, fromShop).is(t, 200)
			}
			one.resume(t, session, fromShop).is(t, 200)
			s.sql(t, `UPDATE chat_embed_tokens SET previous_until = 1 WHERE id = '`+
				one.path[strings.LastIndex(one.path, "/")+1:]+`'`)
			one.visit(t, fromShop).problem(t, 401, "embed_token_invalid")
			one.resume(t, session, fromShop).problem(t, 401, "embed_token_invalid")
			fresh.visit(t, fromShop).is(t, 200)
		})
		t.Run("bad input gets its documented answer", func(t *testing.T) {
			ask := func(body any, headers ...string) *answer {
				return s.anonymous().do(t, "POST", sessions, body, append(headers, fromShop)...)
			}
			ask(object{}).problem(t, 422, "invalid_fields")
			ask(object{"token": e.secret, "visitor": strings.Repeat("x", 129)}).problem(t, 422, "invalid_fields")
			ask(object{"token": e.secret, "origin": shop}).problem(t, 422, "invalid_fields")
			ask(`{"token"`).problem(t, 400, "malformed_json")
			ask(object{"token": e.secret}, "Content-Type: text/plain").problem(t, 415, "unsupported_media_type")
			ask(object{"token": "ate_" + strings.Repeat("0", 49)}).problem(t, 401, "embed_token_invalid")
			ask(object{"token": admin.token}).problem(t, 401, "embed_token_invalid")
			ask(object{"token": strings.Repeat("x", 70_000)}).problem(t, 413, "body_too_large")
			s.anonymous().do(t, "POST", sessions+"?x=1", object{"token": e.secret}, fromShop).problem(t, 400,
				"unknown_parameter")
			s.anonymous().do(t, "GET", sessions, nil).problem(t, 405, "method_not_allowed")
		})
	})
}

var pageData = regexp.MustCompile(`data-ticket="(att_[^"]+)"`)
