package e2e

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestTheWidgetWorksInFirefox repeats in another browser what every visitor needs; TestAVisitorTalksToTheWidget and
// TestABrowserShowsAChatOnListedSitesAlone look closer, in Chromium.
func TestTheWidgetWorksInFirefox(t *testing.T) {
	proof.Only(t)
	t.Parallel()
	goOn := make(chan struct{})
	s := start(t, sqlite, toShops)
	var e *embeddedChat
	shop, evil := site(t, func() *embeddedChat { return e }), site(t, func() *embeddedChat { return e })
	e = s.user(t, "admin").replying(t, newReplies(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"text\":\"**Half** \"}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, "data: {\"text\":\"and whole\"}\n\ndata: [DONE]\n\n")
	}), object{"allowed_origins": []string{shop}})
	f := newFirefox(t)
	root := func(expression string) string { return chatRoot + expression }

	t.Run("a message is answered piece by piece", func(t *testing.T) {
		f := f.in(t)
		f.open(shop + "/script")
		f.waits(`told.ready`)
		f.evaluate(fmt.Sprintf(`(() => {
			const field = %s.querySelector('textarea')
			field.focus()
			field.value = 'Where is it?'
			field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
		})()`, chatRoot))
		f.waits(root(`.querySelector('.them strong')?.textContent === 'Half'`))
		if got := f.evaluate(`told.reply ?? null`); got != "null" {
			t.Errorf("the answer %s has ended already", got)
		}
		goOn <- struct{}{}
		f.waits(`told.reply === '**Half** and whole'`)
		f.waits(root(`.querySelector('.log').innerText.includes('Half and whole')`))
	})
	t.Run("an answer can be stopped", func(t *testing.T) {
		f := f.in(t)
		f.evaluate(fmt.Sprintf(`(() => {
			const field = %s.querySelector('textarea')
			field.value = 'Second?'
			field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
		})()`, chatRoot))
		f.waits(root(`.querySelectorAll('.them strong').length === 2`))
		f.evaluate(root(`.querySelector('form .send').click()`))
		f.waits(root(`.querySelector('.why')?.textContent === 'Stopped.'`))
	})
	t.Run("a session is renewed before it ends", func(t *testing.T) {
		f := f.in(t)
		f.open(shop + "/script?clock=fast")
		f.waits(`told.renewed`)
		if f.evaluate(`told.refused ?? null`) != "null" {
			t.Errorf("it was refused: %s", f.evaluate(`told.refused`))
		}
	})
	t.Run("frame mode works, too", func(t *testing.T) {
		f := f.in(t)
		f.open(shop + "/frame")
		f.waits(`told.ready`)
	})
	t.Run("another site is refused", func(t *testing.T) {
		f := f.in(t)
		f.open(evil + "/script")
		f.waits(`told.refused === 'origin_not_allowed'`)
	})
}
