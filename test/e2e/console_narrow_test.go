package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// belowTitles names the cells of a table that stand below the titles of their columns, which a phone shows in each row.
const belowTitles = `[...document.querySelectorAll('main td > span[aria-hidden]')]
	.filter((title) => title.nextElementSibling.getBoundingClientRect().top >= title.getBoundingClientRect().bottom)
	.map((title) => title.parentElement.innerText).join(' ; ')`

// narrowed looks at what a phone shows in another way: comparisons and tables; and at the marks of required fields. It
// runs as a part of TestTheConsole.
func narrowed(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	proof.Only(t)
	wide, narrow := looks{"light", 1280, 800}, looks{"dark", 360, 740}
	inBoth := func(t *testing.T, name string, check func(t *testing.T, v looks)) {
		t.Helper()
		for _, v := range []looks{wide, narrow} {
			seen(ctx, t, v)
			check(t, v)
			keep(ctx, t, "console-narrow-"+name+"-"+v.String())
		}
	}
	t.Run("a comparison is side by side, and in one column on a phone", func(t *testing.T) {
		path := saved(t, owner, "narrow/compared", "Be kind.\nHello {{name}}, it is cold today", "Be kind.\n"+
			"Good day {{name}}, it is warm today, and the sun will shine until the evening")
		owner.do(t, "POST", path+"/versions/v1/activate", object{}).is(t, 200)
		goes(ctx, t, "prompts/"+path[strings.LastIndex(path, "/")+1:])
		presses(ctx, t, "Activate…")
		inBoth(t, "comparison", func(t *testing.T, v looks) {
			if v == wide {
				drive(ctx, t, poll[bool](
					`document.querySelectorAll('[role=dialog] .cm-mergeView .cm-editor').length === 2`))
			} else {
				drive(ctx, t, poll[bool](`(() => {
					const [removed, added] = ['.cm-deletedChunk', '.cm-changedLine'].map((s) =>
						[...document.querySelectorAll('[role=dialog] .cm-editor ' + s)])
					return removed.length === 1 && added.length === 1 && !document.querySelector('.cm-mergeView') &&
						removed[0].innerText.includes('it is cold') &&
						added[0].innerText.includes('the sun will shine') &&
						removed[0].getBoundingClientRect().bottom <= added[0].getBoundingClientRect().top
				})()`))
			}
			audited(ctx, t, v, withinOverlay)
		})
		clicks(ctx, t, `[role=dialog] [aria-label="Close"]`)
	})
	t.Run("required fields are marked, to screen readers too", func(t *testing.T) {
		goes(ctx, t, "connections/new/postgres")
		reads(ctx, t, "step by step")
		const marked = `[...document.querySelectorAll('main label')].filter((l) => l.innerText.endsWith('required'))
			.map((l) => l.control.name + (l.control.required ? '' : ' is not'))`
		want := []string{"credential.host", "credential.database", "credential.username"}
		inBoth(t, "required", func(t *testing.T, v looks) {
			got := drive(ctx, t, chromedp.Evaluate[[]string](marked))
			slices.Sort(got)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%q are marked, want %q", got, want)
			}
			usable(ctx, t, v)
		})
	})
	t.Run("a long id stands beside its title", func(t *testing.T) {
		goes(ctx, t, "settings/audit")
		reads(ctx, t, "prompt_template.activated")
		inBoth(t, "audit", func(t *testing.T, v looks) {
			if found := drive(ctx, t, chromedp.Evaluate[string](belowTitles)); found != "" && v == narrow {
				t.Errorf("below their titles: %.200s", found)
			}
			usable(ctx, t, v)
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.querySelector('main tbody').scrollIntoView()`))
		})
	})
}
