package e2e

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// port returns the port of a server.
func (s *server) port() string { return s.url[strings.LastIndexByte(s.url, ':')+1:] }

func TestSessions(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "owner")
		events := func(subject string) []string {
			t.Helper()
			return ann.get(t, "/api/events?subject="+subject).each(t, "type")
		}

		t.Run("a link opens one session, whose cookie is only for its host", func(t *testing.T) {
			token := s.link(t, ann.email)
			a := s.anonymous().create(t, openSessions, object{"token": token}, "User-Agent: Firefox")
			a.has(t, map[string]string{"user.id": ann.id, "user.email": ann.email, "session.source": "link",
				"session.current": "true", "session.user_agent": "Firefox", "session.api_key_id": "null"})
			want := regexp.MustCompile(`^atrium_session_` + s.port() +
				`=atb_\w{49}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict$`)
			if cookie := a.header.Get("Set-Cookie"); !want.MatchString(cookie) {
				t.Errorf("the cookie is %q", cookie)
			}
			assert.Equal(t, "Cache-Control", a.header.Get("Cache-Control"), "no-store")
			s.anonymous().do(t, "POST", openSessions, object{"token": token}).problem(t, 401, "sign_in_link_invalid")
			assert.EqualSlice(t, "events", events(a.at("session.id")), []string{"session.started"})
		})
		t.Run("a session does what its user can in each workspace, and events name it", func(t *testing.T) {
			in, id := s.opens(t, s.link(t, ann.email))
			in.get(t, "/api/me").has(t, map[string]string{"user.id": ann.id, "role": "owner"})
			second := in.create(t, "/api/workspaces", object{"name": "Second"}).at("id")
			in.do(t, "POST", templates, object{"name": "x"}).problem(t, 400, "workspace_required")
			in.create(t, templates, object{"name": "by a session"}, "Workspace-Id: "+second)
			in.get(t, "/api/events?type=prompt_template.created", "Workspace-Id: "+second).
				has(t, map[string]string{"data.0.session_id": id, "data.0.actor": ann.id, "data.0.api_key_id": "null"})
		})
		t.Run("a session of a key has its limits, and ends with it", func(t *testing.T) {
			key, keyID := ann.key(t, "--role", "viewer")
			in, id := s.opens(t, key.token)
			in.get(t, mySessions+"/"+id).has(t, map[string]string{"source": "api_key", "api_key_id": keyID})
			in.do(t, "POST", templates, object{"name": "x"}).problem(t, 403, "forbidden")
			in.do(t, "GET", "/api/me", nil, "Workspace-Id: second").problem(t, 400, "workspace_mismatch")
			assert.EqualSlice(t, "it sees", in.get(t, mySessions).each(t, "id"), []string{id})
			ann.do(t, "DELETE", apiKeys+"/"+keyID, nil).is(t, 204)
			in.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		})
		t.Run("Authorization takes precedence over a cookie", func(t *testing.T) {
			in, _ := s.opens(t, ann.token)
			bob := s.user(t, "member")
			pair := *in
			pair.token = bob.token
			pair.get(t, "/api/me").has(t, map[string]string{"user.id": bob.id})
			pair.token = "garbage"
			pair.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			pair.do(t, "DELETE", "/api/auth/session", nil, "Authorization: Bearer "+bob.token).
				problem(t, 409, "no_session")
		})
		t.Run("signing out ends the session and removes its cookie", func(t *testing.T) {
			in, id := s.opens(t, ann.token)
			out := in.do(t, "DELETE", "/api/auth/session", nil).is(t, 204)
			assert.Contains(t, "the cookie", out.header.Get("Set-Cookie"), "=; Path=/; Max-Age=0;")
			in.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			assert.EqualSlice(t, "events", events(id),
				[]string{"session.ended", "session.device_added", "session.started"})
		})
		t.Run("people list and end their own sessions, not those of others", func(t *testing.T) {
			bob := s.user(t, "member")
			laptop, laptopID := s.opens(t, s.link(t, bob.email))
			phone, phoneID := s.opens(t, s.link(t, bob.email))
			list := laptop.get(t, mySessions)
			assert.EqualSlice(t, "sessions", list.each(t, "id"), []string{phoneID, laptopID})
			assert.EqualSlice(t, "current", list.each(t, "current"), []string{"false", "true"})
			for _, method := range []string{"GET", "DELETE"} {
				ann.do(t, method, mySessions+"/"+phoneID, nil).problem(t, 404, "session_not_found")
			}
			laptop.do(t, "DELETE", mySessions+"/"+phoneID, nil).is(t, 204)
			phone.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			laptop.do(t, "DELETE", mySessions+"/"+phoneID, nil).problem(t, 404, "session_not_found")
			laptop.do(t, "DELETE", mySessions, nil).is(t, 204)
			laptop.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		})
		t.Run("a disabled account has no session, and opens none", func(t *testing.T) {
			bob := s.user(t, "member")
			in, _ := s.opens(t, s.link(t, bob.email))
			waiting := s.link(t, bob.email)
			s.must(t, "user", "disable", "--email", bob.email)
			in.refusedWithin(t, time.Second)
			for _, token := range []string{waiting, bob.token} {
				s.anonymous().do(t, "POST", openSessions, object{"token": token}).problem(t, 401,
					"sign_in_link_invalid")
			}
			if r := s.run(t, "console", "--email", bob.email); r.code != 1 || !strings.Contains(r.stderr, "disabled") {
				t.Errorf("it ended with %d: %s", r.code, r.stderr)
			}
		})
		t.Run("the ways to sign in", func(t *testing.T) {
			s.anonymous().get(t, "/api/auth/methods").has(t, map[string]string{"org.slug": "default", "api_key": "true",
				"mail": "false"})
			s.anonymous().do(t, "POST", "/api/auth/links", object{"email": ann.email}).
				problem(t, 409, "mail_not_configured")
		})
		t.Run("what is no token is refused", func(t *testing.T) {
			for _, body := range []any{object{"token": ""}, object{"token": "atl_x"},
				object{"token": "ati_" + strings.Repeat("0", 49)}} {
				s.anonymous().do(t, "POST", openSessions, body).problem(t, 401, "sign_in_link_invalid")
			}
			s.anonymous().do(t, "POST", openSessions, object{}).problem(t, 422, "invalid_fields")
			s.anonymous().do(t, "POST", openSessions, `{"token"`).problem(t, 400, "malformed_json")
		})
	})
}

func TestCrossSiteRequestsHaveNoSession(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ann := s.user(t, "owner")
	in, _ := s.opens(t, ann.token)
	_, port, _ := strings.Cut(s.url, "//")
	for name, tt := range map[string]struct {
		headers []string
		allowed bool
	}{
		"a program":                 {nil, true},
		"a page of this origin":     {[]string{"Sec-Fetch-Site: same-origin"}, true},
		"a page of this host":       {[]string{"Origin: http://" + port}, true},
		"a form of another site":    {[]string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, false},
		"a page of another port":    {[]string{"Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:1"}, false},
		"a page of an old browser":  {[]string{"Origin: https://evil.example"}, false},
		"a sandboxed page":          {[]string{"Origin: null"}, false},
		"the address bar, for GET":  {[]string{"Sec-Fetch-Site: none"}, true},
		"a form without the header": {[]string{"Atrium-Console:"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			status := map[bool]int{true: 201, false: 401}[tt.allowed]
			in.do(t, "POST", templates, object{"name": name}, tt.headers...).is(t, status)
			if !slices.Contains(tt.headers, "Atrium-Console:") {
				status = map[bool]int{true: 201, false: 403}[tt.allowed]
				a := s.anonymous().do(t, "POST", openSessions, object{"token": ann.token}, tt.headers...).is(t, status)
				if status == 403 && (a.at("code") != "cross_origin" || a.header.Get("Set-Cookie") != "") {
					t.Errorf("%s, %v", a, a.header)
				}
			}
		})
	}
	t.Run("a preflight allows neither the cookie nor its proof", func(t *testing.T) {
		c := start(t, sqlite, configured("orgs: [{slug: a, cors_origins: ['https://app.example']}]"))
		a := c.anonymous().do(t, "OPTIONS", templates, nil, "Origin: https://app.example",
			"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: atrium-console").is(t, 204)
		if strings.Contains(strings.ToLower(a.header.Get("Access-Control-Allow-Headers")), "atrium-console") ||
			a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("headers %v", a.header)
		}
	})
}

func TestSessionsNeedHTTPS(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured(`
server: {trusted_proxies: [127.0.0.1/32]}
orgs:
  - {slug: a, hosts: [a.example.com], base_url: "https://a.example.com/atrium"}
  - {slug: b, hosts: [b.example.com, localhost], base_url: "http://b.example.com"}
`))
	ann, bob := s.user(t, "owner", "--org", "a"), s.user(t, "owner", "--org", "b")
	const onA, onB, viaTLS = "Host: a.example.com", "Host: b.example.com", "X-Forwarded-Proto: https"
	s.anonymous().do(t, "POST", openSessions, object{"token": bob.token}, onB).problem(t, 403, "https_required")
	for name, tt := range map[string]struct {
		token   string
		headers []string
		cookie  string
	}{
		"the canonical address has https": {ann.token, []string{onA}, "__Host-atrium_session"},
		"a trusted proxy has ended TLS":   {bob.token, []string{onB, viaTLS}, "__Host-atrium_session"},
		"localhost without a port":        {bob.token, []string{"Host: localhost"}, "atrium_session_80"},
		"localhost with a port": {bob.token, []string{"Host: localhost:" + s.port()},
			"atrium_session_" + s.port()},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.anonymous().create(t, openSessions, object{"token": tt.token}, tt.headers...)
			c, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
			if err != nil || c.Name != tt.cookie || c.Secure != strings.HasPrefix(tt.cookie, "__Host-") {
				t.Fatalf("the cookie is %+v, %v", c, err)
			}
			in := &client{server: s, cookie: c.Name + "=" + c.Value, proof: a.at("proof")}
			in.get(t, "/api/me", tt.headers...)
			in.do(t, "GET", "/api/me", nil, append([]string{"Cookie: atrium_session_1=" + c.Value}, tt.headers...)...).
				problem(t, 401, "unauthenticated")
		})
	}
}

func TestSessionsEndEverywhere(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		first := start(t, engine)
		second := first.another(t)
		ann := first.user(t, "owner")
		in, id := first.opens(t, first.link(t, ann.email))
		local := in.stream(t, "")
		ticket := in.do(t, "POST", presences+"/stream-tickets", nil).is(t, 200).at("ticket")
		elsewhere := (&client{server: second}).stream(t, "?ticket="+ticket)
		local.is("snapshot", nil)
		elsewhere.is("snapshot", nil)
		movedClient := in.at(second)
		_, value, _ := strings.Cut(in.cookie, "=")
		movedClient.cookie = "atrium_session_" + second.port() + "=" + value
		movedClient.get(t, "/api/me")
		ann.do(t, "DELETE", mySessions+"/"+id, nil).problem(t, 404, "session_not_found") // a key sees only its own
		other, _ := first.opens(t, first.link(t, ann.email))
		other.do(t, "DELETE", mySessions, nil).is(t, 204)
		in.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		movedClient.refusedWithin(t, 1500*time.Millisecond)
		local.ends(3 * time.Second)
		elsewhere.ends(3 * time.Second)
	})
}

func TestSessionsThatAreUsedStay(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "owner")
		uses, usedID := s.opens(t, ann.token)
		idle, idleID := s.opens(t, ann.token)
		s.sql(t, `UPDATE sessions SET last_seen_at = last_seen_at - 39600000000`) // 11 hours ago
		previous := time.Now()
		uses.get(t, "/api/me")
		proof.Await(t, "it was seen", func() string {
			return uses.get(t, mySessions+"/"+usedID).at("last_seen_at")
		}, func(last string) bool {
			seen, err := time.Parse(time.RFC3339, last)
			return err == nil && seen.After(previous.Add(-time.Minute))
		})
		s.sql(t, `UPDATE sessions SET last_seen_at = last_seen_at - 3600000000`)
		idle.refusedWithin(t, 2*time.Second)
		uses.get(t, "/api/me")
		if got := uses.get(t, mySessions).each(t, "id"); slices.Contains(got, idleID) || !slices.Contains(got, usedID) {
			t.Errorf("sessions %v", got)
		}
	})
}

func TestSignInsAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.rate_limit.sign_ins_per_minute", "3"),
		set("server.rate_limit.unauthenticated_per_minute", "5"))
	ann := s.user(t, "owner")
	for range 5 { // the people of one office
		s.opens(t, s.link(t, ann.email))
	}
	for range 3 {
		s.anonymous().do(t, "POST", openSessions, object{"token": "atl_x"}).problem(t, 401, "sign_in_link_invalid")
	}
	refusal := s.anonymous().do(t, "POST", openSessions, object{"token": ann.token}).problem(t, 429, "rate_limited")
	s.anonymous().do(t, "POST", "/api/auth/links", object{"email": ann.email}).problem(t, 429, "rate_limited")
	for _, path := range []string{previewInvitation, joinByInvitation} {
		s.anonymous().do(t, "POST", path, object{"token": "ati_x"}).problem(t, 429, "rate_limited")
	}
	for _, path := range []string{"/api/auth/oidc/main", callback} {
		s.anonymous().do(t, "GET", path, nil).problem(t, 429, "rate_limited")
		page := s.anonymous().do(t, "GET", path, nil, asBrowser).is(t, 303)
		assert.Equal(t, "a browser is sent to", page.header.Get("Location"), "/console/sign-in#error=rate_limited")
	}
	if refusal.header.Get("Retry-After") == "" {
		t.Errorf("headers %v", refusal.header)
	}
	ann.get(t, "/api/me") // others are not affected
	for range 6 {
		s.anonymous().do(t, "POST", loggedOut, object{"logout_token": "x"})
	}
	s.anonymous().do(t, "POST", loggedOut, object{"logout_token": "x"}).problem(t, 429, "rate_limited")
}

func TestAnOfficeBehindOneAddressSignsInAndAGuesserDoesNot(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.rate_limit.sign_ins_per_minute", "10"),
		set("server.rate_limit.sign_in_flows_per_minute", "120"))
	ann := s.user(t, "owner")
	refusedAfter := func(s *server, token string) (attempts int) {
		for s.anonymous().do(t, "POST", openSessions, object{"token": token}).status != 429 {
			attempts++
		}
		return attempts
	}
	for range 60 {
		s.anonymous().do(t, "POST", openSessions, object{"token": ann.token}).is(t, 201)
	}
	if n := refusedAfter(s, "atl_x"); n < 10 || n > 20 { // some are given back while the test runs
		t.Errorf("%d wrong attempts were examined", n)
	}
	other := start(t, sqlite, set("server.rate_limit.sign_in_flows_per_minute", "120"))
	if n := refusedAfter(other, other.user(t, "owner").token); n < 120 || n > 240 {
		t.Errorf("%d sign-ins were accepted", n)
	}
}

func TestOperatorsEndSessions(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ann, operator := s.user(t, "member"), s.user(t, "owner", "--operator")
	laptop, laptopID := s.opens(t, s.link(t, ann.email), "User-Agent: Firefox")
	phone, phoneID := s.opens(t, s.link(t, ann.email))
	list := jsonArray(t, s.must(t, "session", "list", "--email", ann.email, "--json"))
	if len(list) != 2 || list[1]["session_id"] != laptopID || list[1]["user_agent"] != "Firefox" ||
		list[1]["user_id"] != ann.id || list[1]["api_key_id"] != nil || list[1]["source"] != "link" {
		t.Errorf("sessions %v", list)
	}
	path := "/api/people/" + ann.id + "/sessions"
	assert.EqualSlice(t, "sessions", operator.get(t, path).each(t, "id"), []string{phoneID, laptopID})
	ann.do(t, "GET", path, nil).problem(t, 403, "forbidden")
	operator.do(t, "GET", "/api/people/usr_00000000000000000000000000/sessions", nil).problem(t, 404, "user_not_found")
	endedText := s.must(t, "session", "end", "--email", ann.email, phoneID, "--json")
	assert.Contains(t, "it wrote", endedText, `"ended":1`)
	phone.refusedWithin(t, patience)
	if r := s.run(t, "session", "end", "--email", ann.email, phoneID); r.code != 1 {
		t.Errorf("it ended with %d: %s", r.code, r.stderr)
	}
	laptop.get(t, "/api/me")
	operator.do(t, "DELETE", path, nil).is(t, 204)
	laptop.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
	assert.Equal(t, "still listed", s.must(t, "session", "list", "--email", ann.email), "")
	operator.do(t, "DELETE", "/api/people/usr_00000000000000000000000000/sessions", nil).
		problem(t, 404, "user_not_found")
	operator.get(t, "/api/events?subject="+laptopID).has(t,
		map[string]string{"data.0.data.reason": "ended_by_operator", "data.0.actor": operator.id})
}

func TestConsoleCommand(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	if r := s.run(t, "console"); r.code != 0 && r.code != 2 {
		t.Errorf("it ended with %d: %s", r.code, r.stderr)
	}
	ann, _ := s.user(t, "member"), s.user(t, "member")
	if r := s.run(t, "console"); r.code != 2 || !strings.Contains(r.stderr, "--email") {
		t.Errorf("it ended with %d: %s", r.code, r.stderr)
	}
	out := s.must(t, "console", "--email", ann.email)
	if !strings.Contains(out, "Sign in as "+ann.email) ||
		!strings.Contains(out, "\n"+s.url+"/console/sign-in#token=atl_") {
		t.Errorf("it wrote %q", out)
	}
	if r := s.run(t, "console", "--email", "nobody@example.com"); r.code != 1 {
		t.Errorf("it ended with %d: %s", r.code, r.stderr)
	}
}
