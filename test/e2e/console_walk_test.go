package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// screen is one of the console, with a text that it shows when it has loaded. Its path can end in ?tab= and a tab.
type screen struct{ path, shows string }

// name is the screen in names of tests and pictures.
func (item screen) name() string {
	return regexp.MustCompile(`[a-z]+_[a-z0-9]{10,}`).ReplaceAllString(
		strings.NewReplacer("/", "-", "?tab=", "-").Replace(item.path), "one")
}

var screens = []screen{
	{"prompts", "First steps"}, {"chats", "Your role"}, {"sources", "Map a sheet or table"},
	{"sources/new", "Look at the sheet"}, {"connections", "New connection"},
	{"connections/new/postgres", "step by step"}, {"presence", "Set your status"}, {"billing", "Plans"},
	{"settings/members", "Invite"}, {"settings/groups", "New group"}, {"settings/keys", "New API key"},
	{"settings/webhooks", "New webhook"}, {"settings/sessions", "this one"}, {"settings/passkeys", "Add a passkey"},
	{"settings/workspace", "Delete the workspace"}, {"settings/audit", "Details"},
}

// details are the screens of single things of the demo data. Its sources, which are
// files, are there on SQLite only.
func details(t *testing.T, owner *client) (found []screen) {
	t.Helper()
	for _, parent := range []struct{ list, area, name, shows string }{
		{templates, "prompts", "support/answer-ticket", "Preview of v"},
		{"/api/chat-templates", "chats", "Customer support", "Greeting"},
		{sources, "sources", "Sign-ups", "2. Click its column"},
	} {
		all := owner.get(t, parent.list)
		i := slices.Index(all.each(t, "name"), parent.name)
		if i < 0 {
			if parent.list == sources && owner.server.database != "" {
				continue
			}
			t.Fatalf("the demo has no %s", parent.name)
		}
		found = append(found, screen{parent.area + "/" + all.at(fmt.Sprintf("data.%d.id", i)), parent.shows})
	}
	return found
}

// tabs are the tabs of details that look unlike the first one, as an owner sees them.
func tabs(details []screen) (found []screen) {
	for _, item := range details {
		switch area, _, _ := strings.Cut(item.path, "/"); area {
		case "prompts":
			found = append(found, screen{item.path + "?tab=diff", "What was reported about both"})
		case "chats":
			found = append(found, screen{item.path + "?tab=languages", "Add a language"},
				screen{item.path + "?tab=replies", "Save transcripts"})
		}
	}
	return found
}

// looks is how a page is looked at.
type looks struct {
	scheme        string
	width, height int64
}

func (v looks) String() string { return fmt.Sprintf("%s-%d", v.scheme, v.width) }

// seen makes a tab look at its page in a way.
func seen(ctx context.Context, t *testing.T, v looks) {
	t.Helper()
	drive(ctx, t, chromedp.EmulateViewport(v.width, v.height))
	drive(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}},
		})
		return err
	}))
}

// picture writes what a tab shows into the folder that ATRIUM_IMAGES names, as make images does.
func picture(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("ATRIUM_IMAGES")
	if folder == "" {
		return
	}
	quality := int64(50)
	shot := drive(ctx, t, func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		newResult, err := cdp.Call(ctx, target, page.CaptureScreenshot,
			page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		return newResult.Data, err
	})
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".webp"), shot, 0o600))
}

// pictured takes the picture of a screen that is loaded at its size: rows of tabs scroll when they are loaded.
func pictured(ctx context.Context, t *testing.T, s *server, position screen, v looks) {
	t.Helper()
	if os.Getenv("ATRIUM_IMAGES") == "" {
		return
	}
	seen(ctx, t, v)
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/"+position.path))
	reads(ctx, t, position.shows)
	picture(ctx, t, position.name()+"-"+v.String())
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](axe(t)))
}

// wide names what makes the page wider than its window: elements beyond it, unless something around them scrolls.
const wide = `(() => {
	const width = document.documentElement.clientWidth
	const scrolls = (e) => e && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement))
	const found = document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll('body *')]
		.filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e))
	// What is positioned is not clipped by what scrolls around it, unless that is positioned too.
	return found.slice(0, 3).map((e) => e.outerHTML.slice(0, 160)).join(' ; ') ||
		(document.documentElement.scrollWidth > width ? 'something that is positioned' : '')
})()`

// usable expects that axe finds nothing on the page, and that nothing of it is beyond its width.
func usable(ctx context.Context, t *testing.T, v looks) {
	t.Helper()
	audited(ctx, t, v, `document, {resultTypes: ['violations']}`)
	if found := drive(ctx, t, chromedp.Evaluate[string](wide)); found != "" {
		t.Errorf("%s: wider than the page: %s", v, found)
	}
}

// audited expects that axe finds nothing. The arguments are those of axe.run: a part of the page, and options.
func audited(ctx context.Context, t *testing.T, v looks, arguments string) {
	t.Helper()
	// What fades in has no contrast until then.
	drive(ctx, t, poll[bool](`!document.querySelector('.fade-in')`))
	if found := drive(ctx, t, chromedp.Evaluate[string](`axe.run(`+arguments+`).then((r) => r.violations.map((v) =>
		v.id + ': ' + v.nodes.map((n) => n.html).join(' ; ')).join(' | '))`, chromedp.EvalAwaitPromise)); found != "" {
		t.Errorf("%s: axe finds: %s", v, found)
	}
}

// goes leads to another screen as a link does: the page stays, and starts no script again.
func goes(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	path, tab, _ := strings.Cut(path, "?tab=")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`__TSR_ROUTER__.navigate({to: '/w/default/%s', search: %q ? {tab: %[2]q} : {}})`, path, tab),
		chromedp.EvalAwaitPromise))
}

// walkthrough goes through every screen, and looks at each in some ways, and from right to left. Without any it opens
// each by its address.
func walkthrough(t *testing.T, ctx context.Context, s *server, owner *client, checkedLooks ...looks) {
	t.Helper()
	if len(checkedLooks) > 0 {
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](axe(t)))
	}
	all := details(t, owner)
	all = slices.Concat(all, tabs(all), screens)
	for _, screen := range all {
		t.Run(screen.name(), func(t *testing.T) {
			if len(checkedLooks) > 0 {
				goes(ctx, t, screen.path)
			} else {
				drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/"+screen.path))
			}
			reads(ctx, t, screen.shows)
			for _, v := range checkedLooks {
				seen(ctx, t, v)
				usable(ctx, t, v)
				pictured(ctx, t, s, screen, v)
			}
			seen(ctx, t, looks{"light", 640, 400}) // twice as large on a small screen
			assert.Equal(t, "at 200 %%: wider than the page", drive(ctx, t, chromedp.Evaluate[string](wide)), "")
			if os.Getenv("ATRIUM_IMAGES") != "" {
				for _, v := range []looks{{"light", 360, 740}, {"dark", 1280, 800}} {
					pictured(ctx, t, s, screen, v)
				}
			}
			keep(ctx, t, "console-"+screen.name())
		})
	}
	if len(checkedLooks) > 0 {
		t.Run("from right to left", func(t *testing.T) {
			proof.Only(t)
			for _, screen := range all {
				goes(ctx, t, screen.path)
				reads(ctx, t, screen.shows)
				fromRightToLeft(ctx, t, screen)
			}
		})
	}
	seen(ctx, t, looks{"light", 720, 620})
}

// demoServer starts a server with demo data. The link signs its owner in.
func demoServer(t *testing.T, engine string) (s *server, owner *client, link string) {
	t.Helper()
	d := deploy(t, engine, asText)
	d.flags = []string{"--demo"}
	s = d.start(t)
	link = s.stdout.await(t, s, regexp.MustCompile(`/console/sign-in#token=(atl_\w+)\n`))[1]
	return s, &client{server: s, token: s.stdout.await(t, s, regexp.MustCompile(`Bearer (atk_\w+)'`))[1]}, link
}

// demo starts a server with demo data, and signs a tab in as its owner.
func demo(t *testing.T, engine string) (s *server, owner *client, chromium, ctx context.Context, silent func()) {
	t.Helper()
	s, owner, link := demoServer(t, engine)
	chromium = browser(t)
	ctx, console := tab(t, chromium, s.url+"/console/sign-in#token="+link)
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	return s, owner, chromium, ctx, func() {
		t.Helper()
		saysNothing(ctx, t, console)
	}
}

// TestTheConsoleOnPostgreSQL opens every screen by its address. How they look, which TestTheConsole checks, does not
// depend on the database, and what the API answers on PostgreSQL is tested without a browser: only make prove runs it.
func TestTheConsoleOnPostgreSQL(t *testing.T) {
	proof.Only(t)
	t.Parallel()
	s, owner, _, ctx, silent := demo(t, postgres)
	walkthrough(t, ctx, s, owner)
	silent()
}
