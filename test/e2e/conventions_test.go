package e2e

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestConventions(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "member")
		template := ann.template(t, "conventions")

		t.Run("a Request-Id is kept if it is safe to log, and replaced otherwise", func(t *testing.T) {
			for input, isKept := range map[string]bool{"": false, "mine-1": true, "with space": true,
				strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "é": false, "tab\there": false} {
				got := ann.get(t, "/api/me", "Request-Id: "+input).header.Get("Request-Id")
				if (got == input) != isKept || got == "" {
					t.Errorf("%q became %q", input, got)
				}
			}
			seen := ann.do(t, "GET", templates+"/x", nil, "Request-Id: find-me").at("request_id")
			assert.Equal(t, "the problem says", seen, "find-me")
			s.stderr.await(t, s, regexp.MustCompile(`"request_id":"find-me"`))
		})
		t.Run("an unchanged response is not sent again", func(t *testing.T) {
			tag := ann.get(t, template).header.Get("Etag")
			if !strings.HasPrefix(tag, `"1-`) {
				t.Errorf("the ETag of revision 1 is %s", tag)
			}
			for condition, status := range map[string]int{tag: 304, "W/" + tag: 304, "*": 304, `"x", ` + tag: 304,
				`"1-other"`: 200, `"x"`: 200} {
				a := ann.do(t, "GET", template, nil, "If-None-Match: "+condition).is(t, status)
				if status == 304 && (a.text != "" || a.header.Get("Etag") != tag) {
					t.Errorf("304 with body %q and ETag %q", a.text, a.header.Get("Etag"))
				}
			}
			ann.do(t, "PATCH", template, object{"description": "new"}, "If-Match: "+tag).is(t, 200)
			if change := ann.get(t, template, "If-None-Match: "+tag).header.Get("Etag"); !strings.HasPrefix(change,
				`"2-`) {
				t.Errorf("the ETag of revision 2 is %s", change)
			}
		})
		t.Run("a 304 does not hide that the caller's role has changed", func(t *testing.T) {
			bob := s.user(t, "member")
			ann.create(t, template+"/shares", object{"user_id": bob.id, "role": "viewer"})
			tag := bob.get(t, template).header.Get("Etag")
			ann.do(t, "PATCH", template+"/shares/"+bob.id, object{"role": "editor"}).is(t, 200)
			bob.get(t, template, "If-None-Match: "+tag).has(t, map[string]string{"my_role": "editor"})
		})
		t.Run("HEAD gets the same response as GET, without the body", func(t *testing.T) {
			for _, path := range []string{template, templates, "/api/me", "/api/health/live", "/api/openapi.json",
				"/api/docs", "/problems/name_taken"} {
				get, head := ann.get(t, path, "Accept-Encoding: identity"),
					ann.do(t, "HEAD", path, nil, "Accept-Encoding: identity").is(t, 200)
				if head.text != "" || head.header.Get("Content-Type") != get.header.Get("Content-Type") ||
					head.header.Get("Etag") != get.header.Get("Etag") {
					t.Errorf("%s: HEAD answers %v and %q, GET %v", path, head.header, head.text, get.header)
				}
			}
			if head := ann.do(t, "HEAD", templates+"/x", nil).is(t, 404); head.text != "" {
				t.Errorf("a body: %q", head.text)
			}
		})
		t.Run("the workspace of the key is returned, and another one refused", func(t *testing.T) {
			for _, name := range []string{"", ann.workspace, "default"} {
				if got := ann.get(t, templates,
					"Workspace-Id: "+name).header.Get("Workspace-Id"); got != ann.workspace {
					t.Errorf("named %q: echoed %q", name, got)
				}
			}
			other := s.user(t, "owner", "--workspace", "other")
			absent := ann.do(t, "GET", templates, nil, "Workspace-Id: absent", "Request-Id: same").problem(t, 400,
				"workspace_mismatch")
			for _, name := range []string{other.workspace, "other"} {
				same(t, name, ann.do(t, "GET", templates, nil, "Workspace-Id: "+name, "Request-Id: same"), absent)
			}
		})
		t.Run("/api/me returns the caller and their permissions", func(t *testing.T) {
			ann.get(t, "/api/me").has(t, map[string]string{
				"user.id": ann.id, "user.email": ann.email, "role": "member", "workspace.id": ann.workspace,
				"workspaces.0.slug": "default", "workspaces.1": "",
				"permissions": `["prompt_templates.read","prompt_templates.create","chat_templates.read",` +
					`"chat_templates.create","connections.read","connections.create","sources.read","sources.create",` +
					`"payments.read","presence.read","presence.report","api_keys.create","members.read"]`,
			})
			ann.do(t, "PATCH", "/api/me", object{"name": "Ann", "default_workspace_id": ann.workspace}).is(t,
				200).has(t, map[string]string{"user.name": "Ann", "user.default_workspace_id": ann.workspace})
			ann.do(t, "PATCH", "/api/me", object{"default_workspace_id": nil}).is(t, 200).has(t,
				map[string]string{"user.name": "Ann", "user.default_workspace_id": "null"})
			ann.get(t, "/api/workspaces").has(t,
				map[string]string{"data.0.id": ann.workspace, "data.0.my_role": "member", "next_cursor": "null"})
			ann.get(t, "/api/workspaces/"+ann.workspace).has(t, map[string]string{"slug": "default"})
		})
		t.Run("every error code has a page", func(t *testing.T) {
			problems, _ := s.anonymous().get(t, "/api/openapi.json").value("x-problems")
			for code, declaration := range problems.(object) {
				page := s.anonymous().get(t, "/problems/"+code)
				if !strings.Contains(page.text, code) ||
					!strings.Contains(page.text, declaration.(object)["title"].(string)) ||
					!strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
					t.Errorf("%s: the page reads\n%s", code, page.text)
				}
			}
			s.anonymous().do(t, "GET", "/problems/unheard_of", nil).problem(t, 404, "not_found")
		})
		t.Run("the contract is served, and cached", func(t *testing.T) {
			item := s.anonymous().get(t, "/api/openapi.json").has(t,
				map[string]string{"openapi": "3.1.0", "info.title": "Atrium"})
			s.anonymous().do(t, "GET", "/api/openapi.json", nil, "If-None-Match: "+item.header.Get("Etag")).is(t, 304)
			if printedText := s.must(t, "openapi"); printedText != item.text {
				t.Error("atrium openapi prints another document")
			}
		})
		t.Run("the root path redirects to the console", func(t *testing.T) {
			resp, err := new(http.Transport).RoundTrip(must(http.NewRequestWithContext(t.Context(), http.MethodGet,
				s.url+"/", nil)))
			require.NoError(t, err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "./console/" {
				t.Errorf("it answers %d, %q", resp.StatusCode, resp.Header.Get("Location"))
			}
		})
		t.Run("every response ends with a newline", func(t *testing.T) {
			for _, path := range []string{"/api/me", "/api/openapi.json", "/api/health/live"} {
				for _, c := range []*client{ann, s.anonymous()} {
					if a := c.do(t, "GET", path, nil); !strings.HasSuffix(a.text, "}\n") {
						t.Errorf("%s ends in %q", a.call, a.text[max(0, len(a.text)-5):])
					}
				}
			}
		})
		t.Run("health needs no credential", func(t *testing.T) {
			for _, path := range []string{"/api/health/live", "/api/health/ready"} {
				s.anonymous().get(t, path).has(t, map[string]string{"status": "ok"})
			}
		})
		t.Run("responses to one caller are not cached for others", func(t *testing.T) {
			assert.Contains(t, "Cache-Control", ann.get(t, template).header.Get("Cache-Control"), "private")
			if got := ann.do(t, "GET", templates+"/x", nil).header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control of a problem is %q", got)
			}
		})
	})
}

// outside finds the resources that a page would load from another origin.
var outside = regexp.MustCompile(
	`(?i)(?:src|href|action|data-[a-z]+)\s*=\s*["']?\s*(?:https?:)?//|@import|url\(\s*["']?\s*(?:https?:)?//|fetch\(\s*["'](?:https?:)?//|\bimport\(?\s*["'](?:https?:)?//`)

func TestDocsMakeNoOutsideRequest(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	page := s.anonymous().get(t, "/api/docs")
	assets := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.text, -1)
	if len(assets) < 3 {
		t.Fatalf("the page loads %v", assets)
	}
	texts := map[string]string{"the page": page.text}
	for _, a := range assets {
		resp, err := http.Get(s.url + a[1])
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %s, %v", a[1], resp.Status, err)
		}
		if strings.HasSuffix(a[1], "/start.js") && !strings.Contains(string(text), "validatorUrl: null") {
			t.Error("Swagger UI would send the document to validator.swagger.io")
		}
		if !strings.HasSuffix(a[1], ".js") { // strings in scripts hold markup that is never loaded
			texts[a[1]] = string(text)
		}
	}
	for name, text := range texts {
		assert.Equal(t, name+": holds", outside.FindString(text), "")
	}
}

func TestUnknownPathsBelowTheDocs(t *testing.T) {
	t.Parallel()
	c := start(t, sqlite).anonymous()
	for _, path := range []string{"/api/docs/", "/api/docs/unknown.js", "/api/docs/swagger-ui.css.gz",
		"/api/docs/swagger-ui.css/x"} {
		c.do(t, "GET", path, nil).problem(t, 404, "not_found")
	}
	if a := c.do(t, "POST", "/api/docs/swagger-ui.css", nil).problem(t, 405,
		"method_not_allowed"); a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow: %s", a.header.Get("Allow"))
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured(`
orgs:
  - {slug: default, cors_origins: ["https://app.example.com", "http://localhost:3000"]}
`))
	ann := s.user(t, "member")
	preflight := []string{"Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type,idempotency-key"}

	t.Run("a configured origin can read responses, problems too", func(t *testing.T) {
		for _, path := range []string{templates, templates + "/x", "/api/nothing"} {
			h := ann.do(t, "GET", path, nil, "Origin: https://app.example.com").header
			if h.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
				!slices.Contains(h.Values("Vary"), "Origin") {
				t.Errorf("%s: %v", path, h)
			}
			for _, exposedText := range []string{"ETag", "Location", "Request-Id", "Retry-After", "RateLimit",
				"Workspace-Id"} {
				if !strings.Contains(h.Get("Access-Control-Expose-Headers"), exposedText) {
					t.Errorf("%s is not exposed", exposedText)
				}
			}
			if h.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("credentials are allowed")
			}
		}
	})
	t.Run("a configured origin's preflight needs no credential", func(t *testing.T) {
		a := s.anonymous().do(t, "OPTIONS", templates, nil, append(preflight, "Origin: http://localhost:3000")...).is(t,
			204)
		if a.header.Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "PATCH") ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
			t.Errorf("%v", a.header)
		}
	})
	t.Run("any other origin gets no CORS headers", func(t *testing.T) {
		for _, origin := range []string{"https://evil.example.com", "https://app.example.com.evil.test",
			"http://app.example.com", "https://APP.example.com", "null", "*", "https://app.example.com:8443"} {
			for _, a := range []*answer{
				ann.do(t, "GET", templates, nil, "Origin: "+origin),
				s.anonymous().do(t, "OPTIONS", templates, nil, append(preflight, "Origin: "+origin)...),
			} {
				for name := range a.header {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("%s to %s: %s", a.call, origin, name)
					}
				}
				if !slices.Contains(a.header.Values("Vary"), "Origin") {
					t.Errorf("%s to %s does not vary by Origin", a.call, origin)
				}
			}
		}
	})
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.rate_limit.per_minute", "6"), set("server.rate_limit.burst", "3"),
		set("server.rate_limit.unauthenticated_per_minute", "2"))
	ann, bob := s.user(t, "member"), s.user(t, "member")

	t.Run("beyond its burst a key gets 429 with Retry-After", func(t *testing.T) {
		var rest []string
		for range 3 {
			a := ann.get(t, "/api/me")
			rest = append(rest, a.header.Get("Ratelimit"))
			assert.Equal(t, "the policy", a.header.Get("Ratelimit-Policy"), `"default";q=6;w=60`)
		}
		for i, l := range rest {
			if !strings.HasPrefix(l, `"default";r=`+strconv.Itoa(2-i)+`;t=`) {
				t.Errorf("after request %d: %q", i+1, l)
			}
		}
		refusal := ann.do(t, "POST", templates, object{"name": "x"}).problem(t, 429, "rate_limited")
		wait, err := strconv.Atoi(refusal.header.Get("Retry-After"))
		if err != nil || wait < 1 || wait > 10 {
			t.Fatalf("Retry-After is %q, want 1 to 10", refusal.header.Get("Retry-After"))
		}
		bob.get(t, "/api/me") // bob has a limit of his own
		pause(t.Context(), time.Duration(wait)*time.Second)
		ann.get(t, "/api/me")
	})
	t.Run("requests without a credential are limited by address", func(t *testing.T) {
		nobody := s.anonymous()
		for range 2 {
			nobody.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		}
		refusal := nobody.do(t, "GET", "/api/me", nil, "X-Forwarded-For: 203.0.113.9").problem(t, 429, "rate_limited")
		if refusal.header.Get("Retry-After") == "" || refusal.header.Get("Ratelimit") == "" {
			t.Errorf("%v", refusal.header)
		}
		bob.get(t, "/api/me")
		nobody.get(t, "/api/health/live")
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
