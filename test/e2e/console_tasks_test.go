package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/atrium-hq/atrium/test/support/require"
)

// tasksPage says how many clicks each task takes. TestTasksOfTheConsole writes it if ATRIUM_TASKS is set.
const tasksPage = "../../docs/console-tasks.md"

// hand does what somebody does with a pointer and a keyboard who sees the console for the first time: no keys that they
// would have to know, only clicks on what they can see, and typing. It counts the clicks.
type hand struct {
	ctx    context.Context
	t      *testing.T
	clicks int
}

// under finds the place of an element, when it can be seen, has stood still for some frames, and nothing covers it.
const under = `(() => {
	const element = %s
	if (!element || element.matches('[disabled],[aria-disabled=true],[data-disabled]')) return false
	element.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'})
	const r = element.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2
	const before = window.stood, at = document.elementFromPoint(x, y)
	const same = before?.element === element && before.x === x && before.y === y
	window.stood = {element, x, y, frames: same ? before.frames + 1 : 0}
	if (window.stood.frames < 6) return false
	if (!at || !(element.contains(at) || at.contains(element))) return false
	window.aimed = {element, at, missed: false}
	return {x, y}
})()`

// guards keeps a click from what has come to a place after the click was aimed at something else.
const guards = `if (!window.guarded) {
	window.guarded = true
	for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) addEventListener(type, (e) => {
		if (!window.aimed) return
		const {element, at} = window.aimed
		if (type === 'pointerdown') window.aimed.missed = e.target !== at && !element.contains(e.target)
		if (!window.aimed.missed) return
		e.preventDefault()
		e.stopImmediatePropagation()
	}, true)
}`

// click clicks what an expression finds. It clicks again if the page has moved between the look and the click.
func (h *hand) click(element string) {
	h.t.Helper()
	h.clicks++
	for late := time.Now().Add(patience); time.Now().Before(late); {
		place := drive(h.ctx, h.t, poll[struct{ X, Y float64 }](fmt.Sprintf(under, element)))
		drive(h.ctx, h.t, chromedp.Evaluate[chromedp.Void](guards))
		drive(h.ctx, h.t, chromedp.MouseClickXY(place.X, place.Y))
		// The click can have led to another document.
		if !drive(h.ctx, h.t, chromedp.Evaluate[bool](`window.aimed?.missed === true`)) {
			return
		}
	}
	h.t.Fatalf("%s moves away from each click", element)
}

// named finds what can be clicked by its text or its label, in the dialog if one is open.
func named(text string) string {
	return fmt.Sprintf(`[...([...document.querySelectorAll('[role=dialog],[role=menu]')].at(-1) ?? document)
		.querySelectorAll('a,button,summary,label,[role=tab],[role=menuitem],[role=option]')]
		.filter((e) => e.checkVisibility()).find((e) => [e.innerText.trim(), e.ariaLabel].includes(%q))`, text)
}

// press clicks the button, the link, the tab or the item of a menu with a text.
func (h *hand) press(texts ...string) {
	h.t.Helper()
	for _, text := range texts {
		h.click(named(text))
	}
}

// pressIn clicks what has a text in the row of a table that has another one.
func (h *hand) pressIn(row, text string) {
	h.t.Helper()
	h.click(fmt.Sprintf(`[...[...document.querySelectorAll('tbody tr')].find((r) => r.innerText.includes(%q))
		?.querySelectorAll('a,button,summary') ?? []].find((e) => e.innerText.trim() === %q)`, row, text))
}

// write types a text into a field. That takes a click, unless the field has the focus.
func (h *hand) write(field, text string) {
	h.t.Helper()
	element := fmt.Sprintf(`document.querySelector('[role=dialog] ' + %q) ?? document.querySelector(%q)`, field, field)
	// A dialog that has just opened is about to give the focus to its first field.
	drive(h.ctx, h.t, poll[bool](`!!(`+element+`) && [...document.querySelectorAll('[role=dialog]')].slice(-1)
		.every((d) => d.contains(document.activeElement))`))
	focusedText := `document.activeElement === (` + element + `) || (` + element + `).contains(document.activeElement)`
	if !drive(h.ctx, h.t, chromedp.Evaluate[bool](focusedText)) {
		h.click(element)
		drive(h.ctx, h.t, poll[bool](focusedText))
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			drive(h.ctx, h.t, chromedp.KeyEvent(kb.Enter))
		}
		drive(h.ctx, h.t, chromedp.KeyEvent(line))
	}
}

// choose chooses from a list of choices: a click opens it, another one chooses.
func (h *hand) choose(field, value string) {
	h.t.Helper()
	drive(h.ctx, h.t, poll[bool](fmt.Sprintf(
		`[...document.querySelectorAll(%q + ' option')].some((o) => o.value === %q)`, field, value)))
	chooses(h.ctx, h.t, field, value)
	h.clicks += 2
}

// sees waits for a text.
func (h *hand) sees(text string) {
	h.t.Helper()
	reads(h.ctx, h.t, text)
}

// task is something that somebody wants to have done, from the page that the console begins with.
type task struct {
	wants string
	walk  func(h *hand)
	done  func(t *testing.T)
}

func TestTasksOfTheConsole(t *testing.T) {
	t.Parallel()
	s, owner, _, ctx, silent := demo(t, sqlite)
	seen(ctx, t, looks{"light", 1280, 800})
	budget := taskBudget(t)
	var page strings.Builder
	total := 0
	for _, task := range tasks(t, s, owner) {
		t.Run(task.wants, func(t *testing.T) {
			drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
			reads(ctx, t, "support/answer-ticket")
			h := &hand{ctx: ctx, t: t}
			begin := time.Now()
			task.walk(h)
			took := time.Since(begin)
			task.done(t)
			keep(ctx, t, "task")
			t.Logf("%d clicks, %.1f s by a machine that does not think", h.clicks, took.Seconds())
			limit, exists := budget[task.wants]
			switch {
			case os.Getenv("ATRIUM_TASKS") != "":
			case !exists:
				t.Errorf("docs/console-tasks.md does not have the task; write it with make tasks")
			case h.clicks > limit:
				t.Errorf("it takes %d clicks, and docs/console-tasks.md says %d", h.clicks, limit)
			}
			total += h.clicks
			fmt.Fprintf(&page, "| %s | %d |\n", task.wants, h.clicks)
		})
	}
	silent()
	if os.Getenv("ATRIUM_TASKS") != "" && !t.Failed() {
		fmt.Fprintf(&page, "| **all** | **%d** |\n", total)
		writeTasks(t, page.String())
	}
}

// taskRow is a row of the table in docs/console-tasks.md.
var taskRow = regexp.MustCompile(`(?m)^\| ([^|*]+) \| (\d+) \|$`)

// taskBudget reads how many clicks each task may take.
func taskBudget(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(tasksPage)
	require.NoError(t, err)
	budget := map[string]int{}
	for _, row := range taskRow.FindAllStringSubmatch(string(text), -1) {
		if budget[row[1]], err = strconv.Atoi(row[2]); err != nil {
			t.Fatal(err)
		}
	}
	return budget
}

// writeTasks writes the rows below the heading of the table, which stays.
func writeTasks(t *testing.T, rows string) {
	t.Helper()
	text, err := os.ReadFile(tasksPage)
	require.NoError(t, err)
	const heading = "| To | clicks |\n|---|---|\n"
	previous, _, found := strings.Cut(string(text), heading)
	if !found {
		t.Fatalf("%s has no table", tasksPage)
	}
	require.NoError(t, os.WriteFile(tasksPage, []byte(previous+heading+rows), 0o644))
}
