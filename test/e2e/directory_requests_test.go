package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

const directoryRequests = "/api/directory/requests"

// TestOperatorsSeeWhatTheDirectorySent sends accepted and refused requests, whose values may be nowhere in the list.
func TestOperatorsSeeWhatTheDirectorySent(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, scimmer := directory(t, engine, "")
		owner, operator := s.user(t, "owner"), s.user(t, "owner", "--operator")
		ann := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201).at("id")
		refusal := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 409)
		latest := func(t *testing.T, query, request string) *answer {
			t.Helper()
			s.await(t, func() bool {
				return operator.get(t, directoryRequests+"?limit=1"+query).at("data.0.request_id") == request
			})
			return operator.get(t, directoryRequests+"?limit=1"+query)
		}
		t.Run("a refusal has its reason and the names that were sent", func(t *testing.T) {
			latest(t, "", refusal.header.Get("Request-Id")).has(t, map[string]string{"data.0.outcome": "refused",
				"data.0.status": "409", "data.0.code": "uniqueness", "data.0.method": "POST", "data.0.resource": "user",
				"data.0.resource_id": "null", "data.0.token": "1", "data.0.attributes.0": "active",
				"data.0.detail": refusal.at("detail")})
		})
		t.Run("requests are listed by outcome, and paged", func(t *testing.T) {
			read := scimmer.do(t, "GET", scimUsers+"?filter="+url.QueryEscape(`userName eq "ann@example.com"`), nil).
				is(t, 200)
			latest(t, "&outcome=read", read.header.Get("Request-Id")).has(t, map[string]string{
				"data.0.attributes.0": "userName", "data.0.code": "null", "data.0.detail": "null"})
			operator.get(t, directoryRequests+"?outcome=changed").has(t, map[string]string{"data.0.resource_id": ann,
				"data.0.status": "201", "data.1": ""})
			first := operator.get(t, directoryRequests+"?limit=2")
			operator.get(t, directoryRequests+"?limit=2&cursor="+first.at("next_cursor")).has(t,
				map[string]string{"data.0.resource_id": ann, "next_cursor": "null"})
			operator.do(t, "GET", directoryRequests+"?outcome=lost", nil).problem(t, 400, "invalid_parameter")
		})
		t.Run("no value is listed, and no token", func(t *testing.T) {
			broken := scimmer.do(t, "PATCH", scimUsers+"/secret-value", patch(object{"op": "replace",
				"path": `emails[type eq "secret-value"].value`, "value": "secret-value@example.com"},
				object{"op": "add", "value": object{"secret value": "secret-value"}})).is(t, 404)
			latest(t, "", broken.header.Get("Request-Id")).has(t, map[string]string{"data.0.resource_id": "null",
				"data.0.attributes.0": "emails.value", "data.0.attributes.1": "?"})
			for _, body := range []string{`{"userName": "secret-value"`, `{"userName": 7, "displayName": "secret-value"}`,
				`{"userName": "secret-value", "emails": [{"value": "secret-value@"}]}`} {
				scimmer.do(t, "POST", scimUsers, body).is(t, 400)
			}
			last := scimmer.do(t, "GET", scimUsers+"?filter=secret-value&count=secret-value", nil).is(t, 400)
			latest(t, "", last.header.Get("Request-Id"))
			text := operator.get(t, directoryRequests+"?limit=100").text
			for _, value := range []string{"secret", "example.com", directoryToken, "Lee"} {
				if strings.Contains(text, value) {
					t.Errorf("the list has %q: %s", value, text)
				}
			}
		})
		t.Run("the trail of a workspace that its rules name has an event an hour for each reason", func(t *testing.T) {
			scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 409)
			scimmer.do(t, "POST", scimGroup, object{"displayName": ""}).is(t, 400)
			refusals := map[string]int{}
			s.await(t, func() bool {
				clear(refusals)
				for _, item := range owner.get(t, "/api/events?type=directory.refused").items(t) {
					e, _ := item.(map[string]any)
					data, _ := e["data"].(map[string]any)
					isHere := e["subject"] == owner.workspace
					refusals[fmt.Sprintf("%s %s %t", data["resource"], data["reason"], isHere)]++
				}
				return refusals["group invalidValue true"] > 0
			})
			for _, refusal := range []string{"user uniqueness true", "group invalidValue true", "user 404 true"} {
				want := map[bool]int{false: 1}[strings.Contains(refusal, "404")]
				if n := refusals[refusal]; n != want && n != 2*want { // the next hour may have begun
					t.Errorf("%d events of %s: %v", n, refusal, refusals)
				}
			}
		})
		t.Run("only operators see it", func(t *testing.T) {
			owner.do(t, "GET", directoryRequests, nil).problem(t, 403, "forbidden")
		})
		t.Run("requests about an erased person are removed", func(t *testing.T) {
			assert.Contains(t, "the list has", operator.get(t, directoryRequests+"?limit=100").text, ann)
			s.must(t, "user", "erase", "--email", "ann@example.com", "--yes")
			s.await(t, func() bool {
				return !strings.Contains(operator.get(t, directoryRequests+"?limit=100").text, ann)
			})
		})
	})
}

func TestTheConsoleShowsWhyADirectoryWasRefused(t *testing.T) {
	t.Parallel()
	s, scimmer := directory(t, sqlite, "")
	scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201)
	scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 409)
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, s.user(t, "owner", "--operator").email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	clicks(ctx, t, `[aria-label="Areas"] a[href$="/people"]`)
	clicks(ctx, t, `main a[href$="/people/directory"]`)
	reads(ctx, t, "uniqueness")
	reads(ctx, t, "Another user of the directory has this userName")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
		const select = document.querySelector('select[aria-label=Outcome]')
		select.value = 'changed'
		select.dispatchEvent(new Event('change', { bubbles: true }))
	})()`))
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('uniqueness') &&
		document.querySelector('main table')?.innerText.includes('201')`))
}
