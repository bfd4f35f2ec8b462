package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// rowsCompared follows the rows of a file from one comparison to the next. It runs as a part of TestListsOfTheConsole.
func rowsCompared(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	put(t, s, "guild.csv", "Mail;Name\nada@example.com;Ada\nbob@example.com;Bob\ncy@example.com;Cy\n")
	id := owner.create(t, sources, object{"type": "contacts",
		"location": object{"url": "file:guild.csv", "header_row": 1},
		"mapping":  []object{{"field": "email", "column": "Mail"}, {"field": "first_name", "column": "Name"}}}).at("id")
	path := sources + "/" + id
	refreshed(t, owner, id)
	owner.do(t, "PATCH", path, object{"change_key": "email"}).is(t, 200)
	compared(t, owner, path, 1)
	removedText := owner.get(t, path+"/rows?ids=true").at("data.2.$id")
	put(t, s, "guild.csv", "Mail;Name\nada@example.com;Ada\nbob@example.com;Robert\ndee@example.com;Dee\n")
	owner.do(t, "PATCH", path, object{"change_key": nil}).is(t, 200)
	owner.do(t, "PATCH", path, object{"change_key": "email"}).is(t, 200) // compares, as a refresh does
	compared(t, owner, path, 2)

	goes(ctx, t, "sources/"+id)
	opensTab(ctx, t, "Reads")
	reads(ctx, t, "first comparison")
	keep(ctx, t, "console-changes")
	presses(ctx, t, "Show rows")
	reads(ctx, t, "Added or changed rows, found")
	reads(ctx, t, "Robert")
	reads(ctx, t, "dee@example.com")
	if drive(ctx, t, chromedp.Evaluate[bool](`document.body.innerText.includes('ada@example.com')`)) {
		t.Error("a row that did not change is shown")
	}
	clicks(ctx, t, "details summary")
	reads(ctx, t, "1 row was removed")
	reads(ctx, t, removedText)
	keep(ctx, t, "console-changed-rows")
	presses(ctx, t, "Show all rows")
	reads(ctx, t, "ada@example.com")
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('1 row was removed')`))
}

// formulasKept saves rows as files that a spreadsheet program does not run. It runs as a part of TestListsOfTheConsole.
func formulasKept(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	put(t, s, "formulas.csv", "Mail;Name\nnone;\"=HYPERLINK(\"\"//a\"\",1)\"\nnone;@SUM(A1)\nnone;-12.5\nnone;it = 1\n")
	id := owner.create(t, sources, object{"type": "contacts",
		"location": object{"url": "file:formulas.csv", "header_row": 1},
		"mapping":  []object{{"field": "email", "column": "Mail"}, {"field": "first_name", "column": "Name"}}}).at("id")
	goes(ctx, t, "sources/"+id+"?tab=validate")
	const keep = `URL.createObjectURL = (file) => { window.saved = file; return '#' }`
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](keep))
	presses(ctx, t, "Check all rows")
	presses(ctx, t, "Download the rows that fail")
	drive(ctx, t, poll[bool](`window.saved?.size > 0`))
	const want = "$row,email,first_name,$invalid\r\n2,none,\"'=HYPERLINK(\"\"//a\"\",1)\",email:missing\r\n" +
		"3,none,'@SUM(A1),email:missing\r\n4,none,-12.5,email:missing\r\n5,none,it = 1,email:missing\r\n"
	if got := drive(ctx, t, chromedp.Evaluate[string](`saved.text()`, chromedp.EvalAwaitPromise)); got != want {
		t.Errorf("the file is %q, not %q", got, want)
	}
	put(t, s, "formulas.csv", "Other\nx\n")
	refusal := owner.do(t, "GET", sources+"/"+id+"/validation/failing-rows", nil).problem(t, 409, "source_changed")
	presses(ctx, t, "Download the rows that fail")
	reads(ctx, t, refusal.at("detail"))
}
