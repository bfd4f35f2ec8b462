package e2e

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdpfetch "github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// leadsToGoogle sends a tab to a fake of Google instead of accounts.google.com.
func leadsToGoogle(ctx context.Context, t *testing.T, g *fixture.Google) {
	t.Helper()
	drive(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdpfetch.Enable, cdpfetch.EnableParams{
			Patterns: []*cdpfetch.RequestPattern{{URLPattern: "https://accounts.google.com/*"}},
		})
		return err
	}))
	pausedCall := chromedp.Events(ctx, cdpfetch.RequestPaused)
	go func() {
		for event, err := range pausedCall {
			if err != nil {
				return
			}
			destination := strings.Replace(event.Request.URL, "https://accounts.google.com", g.URL, 1)
			_, _ = chromedp.Run(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, cdpfetch.FulfillRequest, cdpfetch.FulfillRequestParams{
					RequestID: event.RequestID, ResponseCode: 302,
					ResponseHeaders: []*cdpfetch.HeaderEntry{{Name: "Location", Value: destination}},
				})
				return err
			}))
		}
	}()
}

// decides fills in the page of the fake.
func decides(ctx context.Context, t *testing.T, email, decision string) {
	t.Helper()
	reads(ctx, t, "Atrium wants access to your Google Account")
	types(ctx, t, `[name=email]`, email)
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('[name=scope]').checked = true`))
	presses(ctx, t, decision)
}

func TestAPersonConnectsGoogleInTheConsole(t *testing.T) {
	t.Parallel()
	g := fixture.NewGoogle(t)
	s := consentingTo(t, sqlite, g)
	ann := s.user(t, "owner")
	sheet := staff(g)
	g.Consents.Share(sheet["location"].(object)["url"].(string), "ada@example.com")
	chromium := browser(t)
	ctx, console := tab(t, chromium, s.url+"/console/sign-in#token="+s.link(t, ann.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	leadsToGoogle(ctx, t, g)
	wizard := s.url + "/console/w/" + ann.workspace + "/connections/new/google_sheets"

	t.Run("who cancels at Google connects nothing, and is told so", func(t *testing.T) {
		drive(ctx, t, chromedp.Navigate(wizard))
		reads(ctx, t, "Or with a service account")
		keep(ctx, t, "console-connect-google")
		presses(ctx, t, "Connect with Google")
		decides(ctx, t, "ada@example.com", "Cancel")
		reads(ctx, t, "Google did not pass on your consent.")
		keep(ctx, t, "console-consent-refused")
		assert.Equal(t, "connections", len(ann.get(t, connections).items(t)), 0)
	})
	t.Run("who consents is led back, and has a connection that reads a source", func(t *testing.T) {
		drive(ctx, t, chromedp.Navigate(wizard))
		reads(ctx, t, "Or with a service account")
		types(ctx, t, `[name=connection_name]`, "Sheets of Ada")
		presses(ctx, t, "Connect with Google")
		decides(ctx, t, "ada@example.com", "Continue")
		reads(ctx, t, "Sheets of Ada")
		reads(ctx, t, "as ada@example.com")
		keep(ctx, t, "console-consented")
		path := drive(ctx, t, chromedp.Evaluate[string](`location.href`))
		if u, err := url.Parse(path); err != nil || u.RawQuery != "" || !strings.HasSuffix(u.Path, "/connections") {
			t.Errorf("the page is %s", path)
		}
		source := ann.create(t, sources, sheet).at("id")
		refreshed(t, ann, source).has(t, map[string]string{"failure": "null"})
		ann.get(t, connections).has(t, map[string]string{"data.0.sources.0.id": source})
	})
	t.Run("a consent that has ended is given again", func(t *testing.T) {
		g.Consents.Forget("ada@example.com")
		presses(ctx, t, "Verify")
		reads(ctx, t, "consent_ended")
		presses(ctx, t, "Connect again")
		decides(ctx, t, "ada@example.com", "Continue")
		reads(ctx, t, "Sheets of Ada")
		drive(ctx, t, poll[bool](`!document.body.innerText.includes('consent_ended')`))
	})
	t.Run("an address of another one's consent connects nothing", func(t *testing.T) {
		theirs, _ := s.opens(t, s.link(t, s.user(t, "member").email))
		input := theirs.consents(t, g, "mallory@example.com", sheetsScope)
		drive(ctx, t, chromedp.Navigate(s.url+"/console/consent?"+url.Values{"state": {input["state"].(string)},
			"code": {input["code"].(string)}}.Encode()))
		reads(ctx, t, "This consent was not started in this tab.")
		assert.Equal(t, "connections", len(ann.get(t, connections).items(t)), 1)
	})
	t.Run("a revocation that does not reach Google says so", func(t *testing.T) {
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/"+ann.workspace+"/connections"))
		g.Consents.Down(true)
		presses(ctx, t, "Revoke")
		reads(ctx, t, "Revoke Sheets of Ada")
		const act = `[...document.querySelectorAll('[role=dialog] button')].find((b) => b.innerText === 'Revoke')`
		on(ctx, t, act, "click")
		reads(ctx, t, "Google could not be reached to end the consent")
		keep(ctx, t, "console-consent-not-ended")
	})
	saysNothing(ctx, t, console)
}
