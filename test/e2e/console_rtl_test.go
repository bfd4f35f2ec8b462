package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// cut names texts that cannot be read on the page: beyond its sides, or beyond a box that hides what is beyond it.
// Texts that end with an ellipsis, that only screen readers have, or that can be scrolled to are none of them.
const cut = `(() => {
	const width = document.documentElement.clientWidth, found = []
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let node = walker.nextNode(); node; node = walker.nextNode()) {
		const visible = node.parentElement.checkVisibility({opacityProperty: true, visibilityProperty: true})
		if (!node.data.trim() || !visible) continue
		const range = document.createRange()
		range.selectNodeContents(node)
		const text = range.getBoundingClientRect()
		if (text.width < 2) continue
		let left = 0, right = width
		for (let e = node.parentElement; e !== document.documentElement; e = e.parentElement) {
			const style = getComputedStyle(e), box = e.getBoundingClientRect()
			if (/auto|scroll/.test(style.overflowX) || style.textOverflow === 'ellipsis' || box.width < 2) {
				left = -Infinity
				right = Infinity
				break
			}
			if (!/hidden|clip/.test(style.overflowX)) continue
			left = Math.max(left, box.left)
			right = Math.min(right, box.right)
		}
		if (text.left >= left - 1 && text.right <= right + 1) continue
		found.push(node.data.trim().slice(0, 40) + ' in ' + node.parentElement.outerHTML.slice(0, 120))
	}
	return found.slice(0, 3).join(' ; ')
})()`

// fromRightToLeft looks at a screen as a language that is written from right to left would have it.
func fromRightToLeft(ctx context.Context, t *testing.T, position screen) {
	t.Helper()
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.documentElement.dir = 'rtl'`))
	for _, v := range []looks{{"light", 1280, 800}, {"light", 360, 740}} {
		seen(ctx, t, v)
		if excess := drive(ctx, t, chromedp.Evaluate[float64](`document.documentElement.scrollWidth -
			document.documentElement.clientWidth`)); excess > 0 {
			t.Errorf("%s, from right to left: %v pixels wider than the page", v, excess)
		}
		if found := drive(ctx, t, chromedp.Evaluate[string](cut)); found != "" {
			t.Errorf("%s, from right to left: cut off: %s", v, found)
		}
		keep(ctx, t, "console-rtl-"+position.name()+"-"+v.String())
	}
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.documentElement.dir = ''`))
}
