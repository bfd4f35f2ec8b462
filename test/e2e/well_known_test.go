package e2e

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestFilesAtFixedPlaces reads what programs look for below /.well-known/.
func TestFilesAtFixedPlaces(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/security.txt"
	s := start(t, sqlite)
	s.anonymous().do(t, "GET", path, nil).problem(t, 404, "not_found")
	unfollowed := http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := unfollowed.Get(s.url + "/.well-known/change-password")
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, "status", response.StatusCode, http.StatusSeeOther)
	assert.Equal(t, "the way to passkeys", response.Header.Get("Location"), "../console/passkeys")
	s.anonymous().do(t, "GET", "/.well-known/nothing-is-here", nil).problem(t, 404, "not_found")
	configuredServer := start(t, sqlite, configured(`
server:
  security_txt:
    contacts: ['mailto:security@example.com', 'https://example.com/report']
    policy: 'https://example.com/policy'
`))
	response, err = http.Get(configuredServer.url + path) // which is not part of the contract
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "status", response.StatusCode, http.StatusOK)
	assert.Equal(t, "Content-Type", response.Header.Get("Content-Type"), "text/plain; charset=utf-8")
	for _, line := range []string{
		"Contact: mailto:security@example.com\nContact: https://example.com/report\nExpires: 20",
		"T00:00:00Z\nPolicy: https://example.com/policy\nCanonical: http", path + "\n"} {
		assert.Contains(t, "security.txt has", string(text), line)
	}
	t.Run("a person is led to the passkeys", func(t *testing.T) {
		ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, s.user(t, "owner").email))
		reads(ctx, t, "Sign in to")
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "There are no prompts yet.")
		drive(ctx, t, chromedp.Navigate(s.url+"/.well-known/change-password"))
		reads(ctx, t, "Add a passkey")
	})
}

// TestABrowserForgetsThePersonWhoSignsOut leaves something in the browser, in each way to sign out.
func TestABrowserForgetsThePersonWhoSignsOut(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ann := s.user(t, "owner")
	for _, path := range []string{"/api/auth/session", "/api/me/sessions"} {
		in, _ := s.opens(t, s.link(t, ann.email))
		a := in.do(t, "DELETE", path, nil).is(t, 204)
		assert.Equal(t, "Clear-Site-Data", a.header.Get("Clear-Site-Data"), `"cache", "storage"`)
		assert.Contains(t, "the cookie is", a.header.Get("Set-Cookie"), "Max-Age=0")
	}
	a := ann.do(t, "DELETE", "/api/me/sessions", nil).is(t, 204)
	assert.Equal(t, "Clear-Site-Data for a program", a.header.Get("Clear-Site-Data"), "")
}

// TestRefusalsAreTold uses what no longer works, and reads the metrics and the audit trail.
func TestRefusalsAreTold(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, scimmer := directory(t, engine, "", set("metrics.addr", "127.0.0.1:0"))
		owner := s.user(t, "owner")
		program, id := owner.service(t, "member")
		hint := owner.get(t, apiKeys+"/"+id).at("hint")
		owner.do(t, "DELETE", apiKeys+"/"+id, nil).is(t, 204)
		for range 2 {
			program.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
		}
		s.await(t, func() bool { return len(owner.get(t, "/api/events?type=api_key.refused").items(t)) == 1 })
		owner.get(t, "/api/events?type=api_key.refused").has(t, map[string]string{"data.0.subject": id,
			"data.0.data.hint": hint, "data.0.data.reason": "revoked"})
		s.stderr.await(t, s, regexp.MustCompile(`"refused_api_key_id":"`+id+`","refused_api_key_hint":"`+hint+`"`))
		ann := s.user(t, "member")
		link, key := s.link(t, ann.email), object{"token": ann.token}
		s.must(t, "user", "disable", "--email", ann.email)
		for range 2 {
			s.anonymous().do(t, "POST", openSessions, object{"token": link}).problem(t, 401, "sign_in_link_invalid")
			s.anonymous().do(t, "POST", openSessions, key).problem(t, 401, "sign_in_link_invalid")
		}
		const refusals = "/api/events?type=user.sign_in_refused"
		s.await(t, func() bool { return len(owner.get(t, refusals).items(t)) == 1 })
		owner.get(t, refusals).has(t, map[string]string{"data.0.subject": ann.id, "data.0.data.source": "link",
			"data.0.data.reason": "user_disabled"})
		s.await(t, func() bool { return len(owner.get(t, "/api/events?type=api_key.refused").items(t)) == 2 })
		owner.get(t, "/api/events?type=api_key.refused").has(t, map[string]string{
			"data.0.data.reason": "user_disabled", "data.0.actor": ann.id})
		unknown := object{"token": "atl_" + strings.Repeat("0", 49)}
		s.anonymous().do(t, "POST", "/api/auth/sessions", unknown).problem(t, 401, "sign_in_link_invalid")
		scimmer.do(t, "GET", scimUsers+"/nobody", nil).is(t, 404)
		scimmer.do(t, "POST", scimUsers, object{"userName": ""}).is(t, 400)
		(&client{server: s, token: "wrong"}).do(t, "GET", scimUsers, nil).is(t, 401)
		text := s.metrics(t)
		for _, line := range []string{`atrium_refused_api_keys_total{reason="revoked"} 2`,
			`atrium_refused_sign_ins_total{reason="sign_in_link_invalid",way="session"} 5`,
			`atrium_directory_refusals_total{reason="404"} 1`, `atrium_directory_refusals_total{reason="invalidValue"} 1`,
			`atrium_directory_refusals_total{reason="unauthenticated"} 1`} {
			assert.Contains(t, "the metrics have", text, line)
		}
	})
}
