package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	callback  = "/api/auth/oidc/callback"
	loggedOut = "/api/auth/oidc/logout"
	asBrowser = "Accept: text/html,*/*;q=0.8"
)

// clientOf returns the settings of the client of a provider, as a value in YAML.
func clientOf(t *testing.T, p *fixture.Provider, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client-secret")
	require.NoError(t, os.WriteFile(file, []byte(p.Secret+"\n"), 0o600))
	return fmt.Sprintf("{id: %q, secret_file: %q, name: %q, title: The %s}", p.ClientID, file, name, name)
}

// atProvider is a browser that has begun to sign in, and what the provider sent it back with.
type atProvider struct {
	cookie string
	back   url.Values
}

// begin sends a browser to a provider and back, without the callback.
func (s *server) begin(t *testing.T, name, query string, headers ...string) *atProvider {
	t.Helper()
	startResponse := s.anonymous().do(t, "GET", "/api/auth/oidc/"+name+query, nil, headers...).is(t, 303)
	resp, err := stays.Get(startResponse.header.Get("Location"))
	require.NoError(t, err)
	defer resp.Body.Close()
	reply, err := resp.Location()
	if err != nil {
		t.Fatalf("the provider answered %d to %s", resp.StatusCode, startResponse.header.Get("Location"))
	}
	return &atProvider{cookieOf(t, startResponse), reply.Query()}
}

// stays is a browser that follows no redirect.
var stays = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// cookieOf returns the cookie that a response sets, with its name.
func cookieOf(t *testing.T, a *answer) string {
	t.Helper()
	c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatalf("%s sets no cookie: %v", a, err)
	}
	return c.Name + "=" + c.Value
}

// returns calls the callback as the browser. changed replaces parameters; an empty value removes one.
func (s *server) returns(t *testing.T, in *atProvider, changedValues url.Values, headers ...string) *answer {
	t.Helper()
	query := url.Values{}
	for _, values := range []url.Values{in.back, changedValues} {
		for name, v := range values {
			query[name] = v
		}
	}
	c := s.anonymous()
	c.cookie = in.cookie
	return c.do(t, "GET", callback+"?"+query.Encode(), nil, headers...)
}

// code returns the code with which a callback sends the browser on, and the cookie that belongs to it.
func code(t *testing.T, a *answer) (code, cookie string) {
	t.Helper()
	code, ok := strings.CutPrefix(a.is(t, 303).header.Get("Location"), "/console/sign-in#code=")
	if !ok {
		t.Fatalf("the browser is sent to %s", a.header.Get("Location"))
	}
	return code, cookieOf(t, a)
}

// signsInAt signs in at a provider, and returns a client with the session.
func (s *server) signsInAt(t *testing.T, name string, headers ...string) *client {
	t.Helper()
	text, cookie := code(t, s.returns(t, s.begin(t, name, "", headers...), nil, headers...))
	browser := s.anonymous()
	browser.cookie = cookie
	a := browser.create(t, openSessions, object{"token": text}, headers...)
	in := &client{server: s, proof: a.at("proof"), id: a.at("user.id"), email: a.at("user.email")}
	in.cookie = sessionCookieOf(t, a)
	return in
}

// sessionCookieOf returns the cookie of a session from a response that also removes that of the sign-in.
func sessionCookieOf(t *testing.T, a *answer) string {
	t.Helper()
	for _, line := range a.header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil && strings.Contains(c.Name, "session") {
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("%s sets no cookie of a session, but %q", a, a.header.Values("Set-Cookie"))
	return ""
}

func TestSignInAtAProvider(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		p, second := fixture.NewProvider(t), fixture.NewProvider(t)
		s := start(t, engine, configured(fmt.Sprintf(`
orgs:
  - slug: default
    sign_up: claims
    issuers:
      - {url: %q, audiences: [atrium], trust_email: true, client: %s}
      - {url: %q, audiences: [atrium], trust_email: false, require: [{claim: staff, value: "true"}], client: %s}
      - {url: "https://127.0.0.1:1", audiences: [atrium], trust_email: false, client: %s}
    email_domains: [{domain: Capture.example, workspace: default, role: member}]
`, p.URL, clientOf(t, p, "main"), second.URL, clientOf(t, second, "second"),
			clientOf(t, second, "absent"))))
		ann := s.user(t, "owner")
		p.SignIn(object{"email": ann.email, "sid": "laptop"})

		t.Run("the ways to sign in list the providers", func(t *testing.T) {
			s.anonymous().get(t, "/api/auth/methods").has(t, map[string]string{"oidc.0.key": "main",
				"oidc.0.title": "The main", "oidc.1.key": "second", "oidc.2.key": "absent", "oidc.3": ""})
		})
		t.Run("signing in opens a session of the account, for at most 24 hours", func(t *testing.T) {
			in := s.begin(t, "main", "?return_to=%2Fconsole%2Fw%2Fdefault%3Ftab%3D1")
			text, cookie := code(t, s.returns(t, in, nil))
			browser := s.anonymous()
			browser.cookie = cookie
			a := browser.create(t, openSessions, object{"token": text}, "User-Agent: Firefox").has(t, map[string]string{
				"user.id": ann.id, "session.source": "oidc", "session.current": "true",
				"return_to": "/console/w/default?tab=1"})
			if cookies := strings.Join(a.header.Values("Set-Cookie"), "\n"); !strings.Contains(cookies,
				"Max-Age=86400;") ||
				!strings.Contains(cookies, "atrium_sign_in_"+s.port()+"=; Path=/; Max-Age=0;") {
				t.Errorf("the cookies are %s", cookies)
			}
			signedClient := &client{server: s, cookie: sessionCookieOf(t, a), proof: a.at("proof")}
			signedClient.get(t, "/api/me").has(t, map[string]string{"user.id": ann.id, "role": "owner"})
			browser.do(t, "POST", openSessions, object{"token": text}).problem(t, 401, "sign_in_link_invalid")
			types := ann.get(t, "/api/events?limit=100").each(t, "type")
			for _, want := range []string{"session.started", "user.signed_in"} {
				if !slices.Contains(types, want) {
					t.Errorf("there is no event %s, but %v", want, types)
				}
			}
		})
		t.Run("the cookie of a sign-in is for its host, and lasts ten minutes", func(t *testing.T) {
			a := s.anonymous().do(t, "GET", "/api/auth/oidc/main", nil).is(t, 303)
			want := "Path=/; Max-Age=600; HttpOnly; SameSite=Lax"
			if c := a.header.Get("Set-Cookie"); !strings.HasPrefix(c, "atrium_sign_in_"+s.port()+"=") ||
				!strings.HasSuffix(c, want) || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("the cookie is %s", c)
			}
		})
		t.Run("another browser cannot use the code, which is used up then", func(t *testing.T) {
			in := s.begin(t, "main", "")
			text, cookie := code(t, s.returns(t, in, nil))
			_, others := code(t, s.returns(t, s.begin(t, "main", ""), nil))
			thief, victim := s.anonymous(), s.anonymous()
			thief.cookie, victim.cookie = others, cookie
			thief.do(t, "POST", openSessions, object{"token": text}).problem(t, 401, "sign_in_link_invalid")
			victim.do(t, "POST", openSessions, object{"token": text}).problem(t, 401, "sign_in_link_invalid")
			text, _ = code(t, s.returns(t, s.begin(t, "main", ""), nil))
			s.anonymous().do(t, "POST", openSessions, object{"token": text}).problem(t, 401, "sign_in_link_invalid")
		})
		for name, tt := range map[string]struct {
			changed url.Values
			cookie  string // empty: the browser's own; "none": none
			tamper  func(*fixture.Provider)
			status  int
			code    string
		}{
			"another state": {url.Values{"state": {"x"}}, "", nil, 400, "sign_in_state_invalid"},
			"no state":      {url.Values{"state": nil}, "", nil, 400, "sign_in_state_invalid"},
			"two states":    {url.Values{"state": {"x", "y"}}, "", nil, 400, "sign_in_state_invalid"},
			"a huge state": {url.Values{"state": {strings.Repeat("x", 5000)}}, "", nil, 400,
				"sign_in_state_invalid"},
			"no code": {url.Values{"code": nil}, "", nil, 400, "sign_in_state_invalid"},
			"a huge code": {url.Values{"code": {strings.Repeat("x", 5000)}}, "", nil, 400,
				"sign_in_state_invalid"},
			"another issuer": {url.Values{"iss": {"https://evil.example"}}, "", nil, 400,
				"sign_in_state_invalid"},
			"the second issuer":  {url.Values{"iss": {second.URL}}, "", nil, 400, "sign_in_state_invalid"},
			"no cookie":          {nil, "none", nil, 400, "sign_in_state_invalid"},
			"a cookie of nobody": {nil, "atrium_sign_in_" + s.port() + "=AAAA", nil, 400, "sign_in_state_invalid"},
			"a refusal": {
				url.Values{"error": {"access_denied"}, "error_description": {"<script>alert(1)"}}, "", nil, 403,
				"sign_in_refused"},
			"a code that is unknown": {url.Values{"code": {"x"}}, "", nil, 502, "provider_failed"},
			"another nonce": {nil, "", func(p *fixture.Provider) {
				p.Claims = func(c map[string]any) { c["nonce"] = "x" }
			}, 502, "provider_failed"},
			"a token endpoint that fails": {nil, "", func(p *fixture.Provider) { p.Swap = fixture.Failing }, 502,
				"provider_failed"},
		} {
			t.Run("refused: "+name, func(t *testing.T) {
				in := s.begin(t, "main", "")
				if tt.tamper != nil {
					p.Tamper(tt.tamper)
					defer p.Tamper(func(p *fixture.Provider) { p.Claims, p.Swap = nil, nil })
				}
				switch tt.cookie {
				case "":
				case "none":
					in.cookie = ""
				default:
					in.cookie = tt.cookie
				}
				s.returns(t, in, tt.changed).problem(t, tt.status, tt.code)
				page := s.returns(t, in, tt.changed, asBrowser).is(t, 303)
				if text := page.header.Get("Location"); text != "/console/sign-in#error="+tt.code || page.text != "" {
					t.Errorf("a browser gets %s, %q", text, page.text)
				}
			})
		}
		t.Run("the cookie of another sign-in does not fit", func(t *testing.T) {
			first, other := s.begin(t, "main", ""), s.begin(t, "main", "")
			first.cookie = other.cookie
			s.returns(t, first, nil).problem(t, 400, "sign_in_state_invalid")
		})
		t.Run("a provider's code counts once", func(t *testing.T) {
			in := s.begin(t, "main", "")
			code(t, s.returns(t, in, nil))
			s.returns(t, in, nil).problem(t, 502, "provider_failed")
		})
		t.Run("strangers, and people without a required claim", func(t *testing.T) {
			p.SignIn(object{"sub": "stranger", "email": "stranger@example.com"})
			defer p.SignIn(object{"email": ann.email, "sid": "laptop"})
			s.returns(t, s.begin(t, "main", ""), nil).problem(t, 403, "sign_up_closed")
			s.returns(t, s.begin(t, "second", ""), nil).problem(t, 403, "required_claim_missing")
		})
		t.Run("where a person can go afterwards", func(t *testing.T) {
			for path, ok := range map[string]bool{
				"/console/": true, "/console/w/a/prompts?x=%2e%2e&y=1": true, "/console/join": true, "/console/a.b/": true,
				"/consoles": false, "/": false, "//evil.example/console/": false, "https://evil.example/console/": false,
				"/console/../api": false, "/console/..": false, "/console/%2e%2e/api": false, "/console//evil": false,
				`/console/\evil`: false, "/console/#x": false, "/console/ x": false, "javascript:alert(1)": false,
				"/console/" + strings.Repeat("x", 600): false,
			} {
				a := s.anonymous().do(t, "GET", "/api/auth/oidc/main?return_to="+url.QueryEscape(path), nil)
				if want := map[bool]int{true: 303, false: 400}[ok]; a.status != want {
					t.Errorf("%s: %s", path, a)
				}
			}
			s.anonymous().do(t, "GET", "/api/auth/oidc/main?next=x", nil).problem(t, 400, "unknown_parameter")
		})
		t.Run("what cannot begin", func(t *testing.T) {
			s.anonymous().do(t, "GET", "/api/auth/oidc/other", nil).problem(t, 404, "provider_not_found")
			s.anonymous().do(t, "GET", "/api/auth/oidc/absent", nil).problem(t, 502, "provider_failed")
			s.anonymous().do(t, "GET", "/api/auth/oidc/main", nil, "Host: atrium.example.com").problem(t, 403,
				"https_required")
			s.anonymous().do(t, "GET", callback, nil, "Host: atrium.example.com").problem(t, 403, "https_required")
		})
		t.Run("a domain joins its workspace, once", func(t *testing.T) {
			p.SignIn(object{"sub": "carl", "email": "carl@capture.example"})
			defer p.SignIn(object{"email": ann.email, "sid": "laptop"})
			carl := s.signsInAt(t, "main")
			carl.get(t, "/api/me").has(t, map[string]string{"role": "member", "user.email": "carl@capture.example"})
			ann.recordsJoins(t)
			ann.do(t, "DELETE", "/api/workspaces/"+ann.workspace+"/members/"+carl.id, nil).is(t, 204)
			repeat := s.signsInAt(t, "main")
			repeat.get(t, "/api/workspaces").has(t, map[string]string{"data": "[]"})
			p.SignIn(object{"sub": "dora", "email": "dora@capture.example", "email_verified": false})
			s.returns(t, s.begin(t, "main", ""), nil).problem(t, 403, "sign_up_closed")
		})
		s.logsOutAtTheProvider(t, p)
		t.Run("a disabled account", func(t *testing.T) {
			s.must(t, "user", "disable", "--email", ann.email)
			for begin := time.Now(); ; { // a node remembers people for a second
				a := s.returns(t, s.begin(t, "main", ""), nil)
				if a.status == 401 {
					break
				}
				text, cookie := code(t, a)
				browser := s.anonymous()
				browser.cookie = cookie
				browser.do(t, "POST", openSessions, object{"token": text}).problem(t, 401, "sign_in_link_invalid")
				if time.Since(begin) > patience {
					t.Fatal(a)
				}
			}
		})
	})
}

// logsOutAtTheProvider tests back-channel logout.
func (s *server) logsOutAtTheProvider(t *testing.T, p *fixture.Provider) {
	form := func(token string, headers ...string) *answer {
		t.Helper()
		body := url.Values{"logout_token": {token}, "other": {"ignored"}}.Encode()
		return s.anonymous().do(t, "POST", loggedOut, body,
			append(headers, "Content-Type: application/x-www-form-urlencoded")...)
	}
	t.Run("a logout at the provider ends its sessions on every node, and their streams", func(t *testing.T) {
		other := s.another(t)
		laptop := s.signsInAt(t, "main")
		byLink, _ := s.opens(t, s.link(t, laptop.email))
		movedClient := laptop.at(other)
		_, value, _ := strings.Cut(laptop.cookie, "=")
		movedClient.cookie = "atrium_session_" + other.port() + "=" + value
		movedClient.get(t, "/api/me")
		stream := laptop.stream(t, "")
		stream.is("snapshot", nil)
		form(p.Token(p.LogoutToken(object{"sid": "phone"}))).is(t, 200)
		laptop.get(t, "/api/me")
		token := p.Token(p.LogoutToken(object{"sub": nil, "sid": "laptop"}))
		if a := form(token).is(t, 200); a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", a.header)
		}
		laptop.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		movedClient.refusedWithin(t, 1500*time.Millisecond)
		stream.ends(3 * time.Second)
		byLink.get(t, "/api/me")
		form(token).problem(t, 400, "logout_token_invalid")

		second := s.signsInAt(t, "main")
		waiting, cookie := code(t, s.returns(t, s.begin(t, "main", ""), nil))
		s.anonymous().do(t, "POST", loggedOut, object{"logout_token": p.Token(p.LogoutToken(nil))}).is(t, 200)
		second.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		browser := s.anonymous()
		browser.cookie = cookie
		browser.do(t, "POST", openSessions, object{"token": waiting}).problem(t, 401, "sign_in_link_invalid")
	})
	t.Run("what is no logout token", func(t *testing.T) {
		laptop := s.signsInAt(t, "main")
		for _, token := range []string{"x", p.Token(p.LogoutToken(object{"nonce": "n"})),
			p.Token(p.LogoutToken(object{"aud": "atrium"}))} {
			form(token).problem(t, 400, "logout_token_invalid")
		}
		form("").problem(t, 422, "invalid_fields")
		s.anonymous().do(t, "POST", loggedOut, "logout_token=x&logout_token=y",
			"Content-Type: application/x-www-form-urlencoded").problem(t, 422, "invalid_fields")
		s.anonymous().do(t, "POST", loggedOut, `{"logout_token"`).problem(t, 400, "malformed_json")
		laptop.get(t, "/api/me")
	})
}
