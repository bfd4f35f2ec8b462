package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestLimitsCountPeopleAndWorkspaces sends requests with several keys of one user, and from several users of one
// workspace.
func TestLimitsCountPeopleAndWorkspaces(t *testing.T) {
	t.Parallel()
	// answered sends requests from the callers in turn until one is refused.
	answers := func(t *testing.T, path string, callers ...*client) (n int, refusal *answer) {
		t.Helper()
		for n = 0; n < 100; n++ {
			if a := callers[n%len(callers)].do(t, "GET", path, nil); a.status != 200 {
				return n, a.problem(t, 429, "rate_limited")
			}
		}
		t.Fatal("nothing was refused")
		return 0, nil
	}
	t.Run("one user with three keys has one limit", func(t *testing.T) {
		s := start(t, sqlite, set("server.rate_limit.per_minute", "1"), set("server.rate_limit.burst", "10"),
			set("server.rate_limit.user_per_minute", "1"), set("server.rate_limit.user_burst", "12"))
		ann, bob := s.user(t, "member"), s.user(t, "member")
		callers := []*client{ann}
		for i := range 2 {
			by := *ann
			by.token = ann.create(t, "/api/api-keys", object{"name": fmt.Sprint(i)}).at("token")
			callers = append(callers, &by)
		}
		n, refusal := answers(t, "/api/me", callers...)
		if n != 10 { // and the two that created keys
			t.Errorf("%d requests were answered, want 10", n)
		}
		if policy := refusal.header.Get("Ratelimit-Policy"); policy != `"user";q=1;w=60` ||
			refusal.header.Get("Retry-After") == "" {
			t.Errorf("the policy is %q, Retry-After %q", policy, refusal.header.Get("Retry-After"))
		}
		bob.get(t, "/api/me")
	})
	t.Run("two users of one workspace share its limit", func(t *testing.T) {
		s := start(t, sqlite, set("server.rate_limit.workspace_per_minute", "1"),
			set("server.rate_limit.workspace_burst", "7"))
		ann, bob := s.user(t, "member"), s.user(t, "member")
		n, refusal := answers(t, templates, ann, bob)
		if policy := refusal.header.Get("Ratelimit-Policy"); n != 7 || policy != `"workspace";q=1;w=60` {
			t.Errorf("%d requests were answered, and the policy is %q", n, policy)
		}
		s.user(t, "owner", "--workspace", "elsewhere").get(t, templates)
	})
}

// TestStreamsOfAWorkspaceAreLimited opens streams by several users, each below the limit of a user.
func TestStreamsOfAWorkspaceAreLimited(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"workspace": "server.streams.per_workspace",
		"address": "server.streams.per_address"} {
		t.Run("of one "+name, func(t *testing.T) {
			s := start(t, sqlite, set(setting, "2"))
			ann, bob := s.user(t, "member"), s.user(t, "member")
			for _, c := range []*client{ann, bob} {
				c.stream(t, "").next()
			}
			refusal := s.user(t, "member").do(t, "GET", presences+"/stream", nil,
				"Accept: text/event-stream").problem(t, 409, "stream_limit_reached")
			assert.Contains(t, "the detail", refusal.at("detail"), name)
			for _, path := range []string{eventsStream, sources + "/" + id.New("src") + "/validation"} {
				s.user(t, "admin").do(t, "GET", path, nil,
					"Accept: text/event-stream").problem(t, 409, "stream_limit_reached")
			}
		})
	}
}

// TestGuessesReachNoDatabase cuts off the database, so that a key that is looked up gets 503.
func TestGuessesReachNoDatabase(t *testing.T) {
	t.Parallel()
	var proxy *fixture.Proxy
	d := deployMigrated(t, postgres, set("server.rate_limit.unauthenticated_per_minute", "3"))
	behind(t, &proxy)(d)
	s := d.start(t)
	ann := s.user(t, "member")
	ann.get(t, "/api/me")
	guess := func() *answer {
		t.Helper()
		by := *ann
		by.token = account.NewToken().Reveal()
		return by.do(t, "GET", "/api/me", nil)
	}
	for range 3 {
		guess().problem(t, 401, "unauthenticated")
	}
	ann.get(t, "/api/me") // which was valid before
	proxy.Cut()
	defer proxy.Restore()
	for range 5 {
		guess().problem(t, 429, "rate_limited")
	}
}

// TestRefusedShapesCount sends session requests with invalid bodies.
func TestRefusedShapesCount(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.rate_limit.unauthenticated_per_minute", "2"))
	nobody := s.anonymous()
	nobody.do(t, "POST", "/api/embed/sessions", object{"no_such_field": 1}).is(t, 422)
	nobody.do(t, "POST", "/api/embed/sessions?no_such_parameter=1", object{}).is(t, 400)
	nobody.do(t, "POST", "/api/embed/sessions", object{"no_such_field": 1}).problem(t, 429, "rate_limited")
}

// downloads are the paths that everyone can load.
var downloads = []string{"/api/openapi.json", "/embed.js", "/api/docs/swagger-ui-bundle.js", "/api/docs/swagger-ui.css"}

func TestDownloads(t *testing.T) {
	t.Parallel()
	t.Run("downloads are compressed if the client accepts that", func(t *testing.T) {
		s := start(t, sqlite)
		for _, path := range downloads {
			tags := map[string]bool{}
			var plain string
			for _, accept := range []string{"identity", "gzip", "br, gzip;q=0.5", "gzip;q=0, *;q=0"} {
				resp := fetch(t, s, path, "Accept-Encoding", accept)
				body := io.Reader(resp.Body)
				isZipped := strings.Contains(accept, "gzip") && !strings.Contains(accept, "q=0,")
				if got := resp.Header.Get("Content-Encoding"); (got == "gzip") != isZipped ||
					!strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Encoding") {
					t.Errorf("%s with Accept-Encoding %s: %v", path, accept, resp.Header)
				}
				if isZipped {
					unzippedReader, err := gzip.NewReader(resp.Body)
					require.NoError(t, err)
					body = unzippedReader
				}
				text, err := io.ReadAll(body)
				if err != nil || len(text) == 0 || (plain != "" && string(text) != plain) {
					t.Errorf("%s with Accept-Encoding %s: %d bytes that differ, %v", path, accept, len(text), err)
				}
				plain = string(text)
				tag := resp.Header.Get("Etag")
				tags[tag] = true
				second := fetch(t, s, path, "Accept-Encoding", accept, "If-None-Match", tag)
				if second.StatusCode != 304 || second.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s with its own tag: %d %v", path, second.StatusCode, second.Header)
				}
			}
			if len(tags) != 2 {
				t.Errorf("%s: the tags are %v, want one of each form", path, tags)
			}
		}
	})
	t.Run("downloads are limited by address and size", func(t *testing.T) {
		s := start(t, sqlite, set("server.rate_limit.downloads_per_minute", "15"))
		// What a browser loads for the documentation.
		for _, path := range []string{"/api/docs", "/api/docs/swagger-ui.css", "/api/docs/swagger-ui-bundle.js",
			"/api/docs/swagger-ui-standalone-preset.js", "/api/docs/favicon-32x32.png", "/api/openapi.json"} {
			if resp := fetch(t, s, path, "Accept-Encoding", "gzip"); resp.StatusCode != 200 {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
		nobody := s.anonymous()
		for range 2 {
			nobody.do(t, "GET", "/api/health/live", nil).is(t, 200)
		}
		fetch(t, s, "/api/docs/swagger-ui-bundle.js", "Accept-Encoding", "gzip")
		for _, path := range []string{"/api/docs", "/api/openapi.json", "/embed.js"} {
			var a *answer
			for range 40 { // the limit refills while a slow machine serves
				if a = nobody.do(t, "GET", path, nil); a.status != 200 {
					break
				}
			}
			if a.problem(t, 429, "rate_limited"); a.header.Get("Retry-After") == "" ||
				a.header.Get("Content-Encoding") != "" {
				t.Errorf("%s: %v", path, a.header)
			}
		}
		s.user(t, "member").get(t, "/api/me")
	})
}

// fetch gets a path without decoding its content encoding.
func fetch(t *testing.T, s *server, path string, headers ...string) *http.Response {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
