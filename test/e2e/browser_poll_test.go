package e2e

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/chromedp"
)

// poll waits until an expression is true on a page, and returns its value. Unlike chromedp.Poll it asks again if the
// expression throws, because what it looks at is not there yet, and if the tab has gone on to another document; and it
// gives up no earlier than drive does. It asks every 20 ms: if it asked in every frame, the browser would draw a page
// that does not change, 60 times a second.
func poll[T any](expression string) chromedp.Action[T] {
	ask := chromedp.PollFunction[T](`() => {
		try {
			return (`+expression+`)
		} catch (error) {
			globalThis.thrown = error
			return false
		}
	}`, chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(20*time.Millisecond))
	return func(ctx context.Context, target *chromedp.Target) (T, error) {
		for {
			value, err := ask(ctx, target)
			var rest *cdproto.Error // the document that was asked is no longer there
			switch {
			case err == nil:
				return value, nil
			case ctx.Err() == nil && errors.As(err, &rest):
				continue
			}
			thrown, _ := chromedp.Evaluate[string](`String(globalThis.thrown ?? '')`)(context.WithoutCancel(ctx),
				target)
			return value, fmt.Errorf("wait for %s (last error: %q): %w", expression, thrown, err)
		}
	}
}
