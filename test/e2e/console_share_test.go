package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestListsOfTheConsole has one tab for what people do with several prompts, rows and keys.
func TestListsOfTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, toShops)
	owner := s.user(t, "owner")
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, owner.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	t.Run("a column without an order is marked", func(t *testing.T) { unorderedMarked(ctx, t, owner) })
	t.Run("a dropped and a chosen file are uploaded", func(t *testing.T) { uploadAttached(ctx, t, owner) })
	t.Run("dates of a workbook are shown in a locale", func(t *testing.T) { datesShown(ctx, t, s, owner) })
	t.Run("changed and removed rows are shown", func(t *testing.T) { rowsCompared(ctx, t, s, owner) })
	t.Run("saved rows are no formulas", func(t *testing.T) { formulasKept(ctx, t, s, owner) })
	t.Run("requests with a key are a sparkline", func(t *testing.T) { requestsDrawn(ctx, t, s, owner) })
	t.Run("many prompts are shared at once", func(t *testing.T) { manyShared(ctx, t, s, owner) })
}

func manyShared(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	eve := s.user(t, "member")
	bob := s.user(t, "member")
	group := owner.create(t, "/api/groups", object{"name": "Reviewers"}).at("id")
	ownID := owner.create(t, templates, object{"name": "bulk/mine", "visibility": "workspace"}).at("id")
	hers := eve.create(t, templates, object{"name": "bulk/hers", "visibility": "workspace"}).at("id")
	owner.create(t, templates, object{"name": "bulk/untouched", "visibility": "workspace"})
	goes(ctx, t, "prompts")
	reads(ctx, t, "bulk/hers")
	ticks := func(text string) {
		on(ctx, t, fmt.Sprintf(`[...document.querySelectorAll('[role=dialog] label')].find((l) =>
			l.innerText.includes(%q))?.querySelector('input')`, text), "click")
	}
	clicks(ctx, t, `[aria-label="Choose bulk/mine"]`)
	clicks(ctx, t, `[aria-label="Choose bulk/hers"]`)
	reads(ctx, t, "2 chosen")
	presses(ctx, t, "Share…")
	ticks("Reviewers")
	ticks(eve.email)
	chooses(ctx, t, `[role=dialog] [name=role]`, "editor")
	keep(ctx, t, "console-share-many")
	presses(ctx, t, "Share")
	reads(ctx, t, "not shared")
	reads(ctx, t, "That user owns the prompt template and needs no share.")
	drive(ctx, t, poll[bool](`!document.querySelector('[role=dialog] ul').innerText.includes('waiting')`))
	keep(ctx, t, "console-share-many-result")
	owner.get(t, templates+"/"+ownID+"/shares").has(t, map[string]string{"data.0.role": "editor",
		"data.1.role": "editor"})
	owner.get(t, templates+"/"+hers+"/shares").has(t, map[string]string{"data": "[]"})
	presses(ctx, t, "Choose other people")
	ticks(eve.email)
	ticks(bob.email)
	presses(ctx, t, "Share")
	drive(ctx, t, poll[bool](`[...document.querySelectorAll('[role=dialog] li')].length === 2 &&
		!/waiting|not shared/.test(document.querySelector('[role=dialog] ul').innerText)`))
	presses(ctx, t, "Close")
	for id, n := range map[string]int{ownID: 3, hers: 2} {
		shares := owner.get(t, templates+"/"+id+"/shares")
		if got := len(shares.each(t, "role")); got != n {
			t.Errorf("%d shares, want %d: %s", got, n, shares)
		}
	}
	owner.get(t, templates+"/"+hers+"/shares/"+group).has(t, map[string]string{"role": "viewer"})
	drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null &&
		!document.body.innerText.includes('2 chosen')`))
}

// workbook writes a sheet with a date in the format of the reader's system.
func workbook(t *testing.T, s *server) {
	t.Helper()
	f := excelize.NewFile()
	system, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	require.NoError(t, err)
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	for cell, value := range map[string]any{"A1": "Email", "B1": "Since", "A2": "ann@example.com", "B2": day,
		"A3": "bob@example.com", "B3": day} {
		require.NoError(t, f.SetCellValue("Sheet1", cell, value))
	}
	require.NoError(t, f.SetCellStyle("Sheet1", "B2", "B3", system))
	folder := filepath.Join(s.data, "sheets")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, f.SaveAs(filepath.Join(folder, "since.xlsx")))
}

// datesShown attaches a workbook in a locale that is chosen.
func datesShown(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	workbook(t, s)
	goes(ctx, t, "sources/new")
	types(ctx, t, "[name=url]", "file:since.xlsx")
	presses(ctx, t, "Look at the sheet")
	reads(ctx, t, "3/14/2026")
	const field = `[...document.querySelectorAll('label')].find((l) =>
		l.innerText === 'Dates are shown as in')?.control`
	if n := drive(ctx, t, chromedp.Evaluate[int](field+`.options.length`)); n != len(source.Locales())+1 {
		t.Errorf("%d locales are offered, the server knows %d", n-1, len(source.Locales()))
	}
	for _, locale := range source.Locales() {
		offeredText := fmt.Sprintf(`[...%s.options].some((o) => o.value === %q)`, field, locale)
		if !drive(ctx, t, chromedp.Evaluate[bool](offeredText)) {
			t.Errorf("%s is not offered", locale)
		}
	}
	clicks(ctx, t, `[data-field="email"]`)
	clicks(ctx, t, `[data-column="Email"]`)
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
		const field = `+field+`
		field.value = 'de-DE'
		field.dispatchEvent(new Event('change', {bubbles: true}))
	})()`))
	reads(ctx, t, "14.03.2026")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](field+`.scrollIntoView({block: 'center'})`))
	keep(ctx, t, "console-locale")
	presses(ctx, t, "Save the source")
	reads(ctx, t, "dates as in German (Germany)")
	reads(ctx, t, "14.03.2026")
	owner.get(t, sources).has(t, map[string]string{"data.0.location.locale": "de-DE"})
	keep(ctx, t, "console-locale-source")
	choosesLocale := func(locale string) {
		drive(ctx, t, poll[bool](field+`?.disabled === false`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
			const field = %s
			field.value = %q
			field.dispatchEvent(new Event('change', {bubbles: true}))
		})()`, field, locale)))
	}
	choosesLocale("")
	const undo = `[...document.querySelectorAll('[role=status] button')].find((b) => b.innerText === 'Undo')`
	on(ctx, t, undo, "focus") // so that it stays
	reads(ctx, t, "3/14/2026")
	drive(ctx, t, poll[bool](field+
		`?.selectedOptions[0].text === 'Default of the organisation: English (United States)'`))
	owner.get(t, sources).has(t, map[string]string{"data.0.location.locale": ""})
	presses(ctx, t, "Undo")
	reads(ctx, t, "dates as in German (Germany)")
	choosesLocale("ja-JP")
	reads(ctx, t, "2026/03/14")
	owner.get(t, sources).has(t, map[string]string{"data.0.location.locale": "ja-JP"})
}

func requestsDrawn(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	usedClient, id := owner.key(t)
	for range 3 {
		usedClient.get(t, "/api/me")
	}
	awaits(t, "they are counted", s, func() bool {
		read := owner.get(t, "/api/api-keys/"+id)
		a, err := strconv.Atoi(read.at("requests_by_day.28"))
		b, err2 := strconv.Atoi(read.at("requests_by_day.29"))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return a+b == 3 // over midnight, some are yesterday's
	})
	today := time.Now().Unix() / 86_400
	s.sql(t, fmt.Sprintf(`INSERT INTO key_requests (key_id, day, requests) VALUES ('%s', %d, 1200)`, id, today-3))
	goes(ctx, t, "settings/keys")
	reads(ctx, t, "1,203")
	drive(ctx, t, poll[bool](`[...document.querySelectorAll('svg[role=img]')].some((picture) =>
		/^1,203 requests in 30 days, at most 1,200 on /.test(picture.getAttribute('aria-label')) &&
		picture.querySelectorAll('title').length === 30 &&
		[...picture.querySelectorAll('title')].some((title) => /^1,200 on /.test(title.textContent)))`))
	for _, v := range []looks{{"light", 1280, 800}, {"dark", 360, 740}} {
		seen(ctx, t, v)
		keep(ctx, t, "console-keys-"+v.String())
	}
	seen(ctx, t, looks{"light", 720, 620})
}
