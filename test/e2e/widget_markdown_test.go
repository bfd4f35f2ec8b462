package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAnswersShowTheMarkdownThatModelsWrite(t *testing.T) {
	t.Parallel()
	script := make(chan string, 10)
	chromium, shop, _ := widgetSite(t, scripted(script))
	ctx, _ := tab(t, chromium, shop+"/script?scheme=light")
	drive(ctx, t, poll[object](`told.ready`))
	shows := func(text string) string {
		script <- text
		writes(ctx, t, chatRoot, "?")
		hears(ctx, t, "reply")
		return within[string](ctx, t, chatRoot, `[...$.querySelectorAll('.them .text')].at(-1).innerHTML
			.replace(/ (tabindex|class|rel|target)="[^"]*"/g, '')`)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"a table": {"Here:\n| Plan | Price |\n|:--|--:|\n| **A** | 5 \\| 6 |\n| B |\n\nEnd",
			`<p>Here:</p><div><table><thead><tr><th scope="col">Plan</th><th scope="col" style="text-align: end;">Price</th>` +
				`</tr></thead><tbody><tr><td><strong>A</strong></td><td style="text-align: end;">5 | 6</td></tr>` +
				`<tr><td>B</td><td style="text-align: end;"></td></tr></tbody></table></div><p>End</p>`},
		"pipes without a table": {"a | b\nc | d", "<p>a | b\nc | d</p>"},
		"nested lists": {"1. one\n   - a\n   - b\n     continued\n\n2. two\n\n   more\n- other",
			`<ol start="1"><li>one<ul><li>a</li><li>b` + "\n" + `continued</li></ul></li><li>two<p>more</p></li></ol>` +
				`<ul><li>other</li></ul>`},
		"code in a list": {"- run\n  ```\n  a  *b*\n  ```", "<ul><li>run<pre><code>a  *b*</code></pre></li></ul>"},
		"a quote":        {"> said *he*\n>\n> - x\n\nafter", "<blockquote><p>said <em>he</em></p><ul><li>x</li></ul></blockquote><p>after</p>"},
		"underscores":    {"_x_ __y__ snake_case_name __init__.py", "<p><em>x</em> <strong>y</strong> snake_case_name <strong>init</strong>.py</p>"},
		"struck":         {"~~old~~ new", "<p><s>old</s> new</p>"},
		"bold and italic": {"***x*** **a *b***",
			"<p><strong><em>x</em></strong> <strong>a <em>b</em></strong></p>"},
		"itself":        {`\*x\* 2 * 3 * 4 \_y\_`, "<p>*x* 2 * 3 * 4 _y_</p>"},
		"a rule":        {"a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"},
		"HTML in cells": {"|a|\n|-|\n|<b>x</b>|", `<div><table><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td>&lt;b&gt;x&lt;/b&gt;</td></tr></tbody></table></div>`},
	} {
		assert.Equal(t, name, shows(tt.text), tt.want)
	}
	t.Run("a wide table scrolls in itself, and can be read", func(t *testing.T) {
		shows("| Plan | Price per month | Seats | Support |\n|---|--:|--:|---|\n| Start | 10 | 5 | by mail |\n" +
			"| Grow | 200 | 50 | within a working day |\n\n> All prices are without tax.\n\n- One\n  1. inner\n  2. inner\n- Two ~~old~~")
		got := within[bool](ctx, t, chatRoot, `$.querySelector('.log').scrollWidth <= $.querySelector('.log').clientWidth`)
		assert.Equal(t, "the messages fit", got, true)
		keep(ctx, t, "widget-table-light")
		checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
		visits(ctx, t, shop+"/script?scheme=dark")
		checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
		keep(ctx, t, "widget-table-dark")
		drive(ctx, t, chromedp.EmulateViewport(320, 640))
		keep(ctx, t, "widget-table-narrow")
	})
}
