package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestTheReferenceRunsUnderItsPolicy(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	t.Run("no page runs inline scripts, or can be framed", func(t *testing.T) {
		for _, path := range []string{"/api/docs", "/api/docs/start.js", "/api/docs/swagger-ui.css",
			"/problems/not_found"} {
			resp, err := http.Get(s.url + path) // the page's files are not in the contract
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			policy := resp.Header.Get("Content-Security-Policy")
			scripts := "default-src 'none'"
			if strings.HasPrefix(path, "/api/docs") {
				scripts = "script-src 'self';"
			}
			if !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, scripts) {
				t.Errorf("%s: %q", path, policy)
			}
		}
	})
	t.Run("a browser shows all operations without errors", func(t *testing.T) {
		ctx, console := tab(t, browser(t), s.url+"/api/docs")
		shown := drive(ctx, t, poll[int](`document.querySelectorAll('.opblock').length`))
		keep(ctx, t, "reference")
		if shown < 53 {
			t.Errorf("%d operations are shown", shown)
		}
		const operation = `document.querySelector('#operations-prompt_templates-createPromptTemplate')`
		const sample = operation + `.querySelector('.atrium-samples pre').textContent`
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](operation+`.querySelector('button').click()`))
		for _, language := range []struct{ name, call string }{
			{"curl", `curl "$ATRIUM_URL/api/prompt-templates"`}, {"TypeScript", "await atrium.promptTemplates.create({"},
			{"Go", "client.PromptTemplates.Create(ctx, "}, {"Python", "client.prompt_templates.create({"},
		} {
			drive(ctx, t, poll[bool](operation+`.querySelector('.atrium-samples') !== null`))
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](`[...`+operation+
				`.querySelectorAll('.atrium-samples button')].find(b => b.textContent == '`+language.name+`').click()`))
			drive(ctx, t, poll[bool](sample+`.includes(`+strconv.Quote(language.call)+`)`))
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](operation+`.querySelector(".atrium-samples").scrollIntoView({block: "center"})`))
			keep(ctx, t, "reference-"+language.name)
		}
		saysNothing(ctx, t, console)
	})
}
