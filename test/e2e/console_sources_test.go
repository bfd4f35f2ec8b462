package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// transformed changes the values of a mapped column of the sheet with sign-ups, and looks at them before and after.
func transformed(ctx context.Context, t *testing.T, s *server, owner *client, sheet string) {
	t.Helper()
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/sources/"+sheet))
	reads(ctx, t, "Change the values")
	chooses(ctx, t, "select[name=case]", "upper")
	drive(ctx, t, poll[bool](`[...document.querySelectorAll('[data-after=email]')].some((e) =>
		e.innerText === 'ADA@EXAMPLE.COM' &&
		e.parentElement.querySelector('[data-before]').innerText === 'ada@example.com')`))
	keep(ctx, t, "console-transform")
	presses(ctx, t, "Save")
	drive(ctx, t, poll[bool](`[...document.querySelectorAll('button')].some((b) =>
		b.innerText === 'Cancel' && b.disabled)`))
	owner.get(t, sources+"/"+sheet).has(t, map[string]string{"mapping.0.transform": `{"case":"upper"}`})
	opensTab(ctx, t, "Rows")
	reads(ctx, t, "ADA@EXAMPLE.COM")
	chooses(ctx, t, "select[name=sort]", "-email")
	reads(ctx, t, "Atrium read all rows to sort them.")
	drive(ctx, t, poll[bool](`(([...rows]) => rows.length > 1 && rows[0] > rows[1])([...document.querySelectorAll(
		'main tbody tr')].map((row) => row.innerText))`))
	keep(ctx, t, "console-rows-sorted")
	opensTab(ctx, t, "Validate")
	reads(ctx, t, "The rows have not been checked yet.")
	presses(ctx, t, "Check all rows")
	reads(ctx, t, "First rows that fail")
	drive(ctx, t, poll[bool](`document.querySelector('main').innerText.includes('succeeded')`))
	keep(ctx, t, "console-validate")
	opensTab(ctx, t, "Reads")
	chooses(ctx, t, "select[name=change_key]", "email")
	drive(ctx, t, poll[bool](`document.querySelector('select[name=change_key]')?.disabled === false &&
		document.querySelector('select[name=change_key]')?.value === 'email'`))
	compared(t, owner, sources+"/"+sheet, 1)
	owner.get(t, sources+"/"+sheet).has(t, map[string]string{"change_key": "email"})
}

// unorderedMarked maps a unique field to a column by which rows cannot be in order. It runs as a part of
// TestListsOfTheConsole.
func unorderedMarked(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	shop := newShop(t)
	shop.sql(t, shop.name, `CREATE TABLE places AS SELECT 'ada@example.com' AS email, point '(1,2)' AS spot`)
	proxyID := owner.create(t, connections, shop.connection("p")).at("id")
	id := owner.create(t, sources, object{"type": "contacts", "location": object{"connection_id": proxyID,
		"schema": "public", "table": "places"}, "mapping": []object{{"field": "email", "column": "email"}}}).at("id")
	const note = "no pages by it: its type has no order"
	goes(ctx, t, "sources/"+id)
	clicks(ctx, t, `[data-field="email"]`)
	drive(ctx, t, poll[bool](`document.querySelector('[data-column="spot"]')?.innerText.includes('`+note+`') &&
		!document.querySelector('[data-column="email"]').innerText.includes('`+note+`')`))
	keep(ctx, t, "console-unordered")
	clicks(ctx, t, `[data-column="spot"]`)
	presses(ctx, t, "Save")
	reads(ctx, t, "Map another column to one of them.")
	clicks(ctx, t, `[aria-label="Unmap E-mail"]`)
	clicks(ctx, t, `[data-field="city"]`)
	drive(ctx, t, poll[bool](`!document.querySelector('[data-column="spot"]').innerText.includes('`+note+`')`))
	owner.get(t, sources+"/"+id).has(t, map[string]string{"mapping.0.column": "email"})
}

// uploadAttached drops a file of two parts on the form of a new source, and saves it; and chooses a small one.
func uploadAttached(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	goes(ctx, t, "sources/new")
	reads(ctx, t, "Or drop a file from your computer here.")
	drive(ctx, t, chromedp.Evaluate[bool](`(() => {
		const files = new DataTransfer(), rows = 'bob@example.com,no\n'.repeat(500_000)
		files.items.add(new File(['E-mail,Note\nada@example.com,yes\n' + rows], 'dropped.csv'))
		return document.querySelector('input[type=file]').parentElement.dispatchEvent(
			new DragEvent('drop', { bubbles: true, dataTransfer: files }))
	})()`))
	reads(ctx, t, "ada@example.com")
	file := owner.get(t, uploads).has(t, map[string]string{"data.0.name": "dropped.csv", "data.0.upload": "null"})
	keep(ctx, t, "console-upload")
	presses(ctx, t, "Save the source")
	drive(ctx, t, poll[bool]("location.pathname.includes('/sources/src_')"))
	owner.get(t, sources+"?limit=1").has(t, map[string]string{"data.0.location.url": file.at("data.0.url"),
		"data.0.name": "dropped"})
	goes(ctx, t, "sources/new")
	reads(ctx, t, "Choose a file")
	drive(ctx, t, chromedp.Evaluate[bool](`(() => {
		const files = new DataTransfer(), field = document.querySelector('input[type=file]')
		files.items.add(new File(['E-mail\ngrace@example.com\n'], 'chosen.csv'))
		field.files = files.files
		return field.dispatchEvent(new Event('change', { bubbles: true }))
	})()`))
	reads(ctx, t, "grace@example.com")
}
