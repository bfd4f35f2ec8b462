package db

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestALookThatCanHaveMissedAChangeCountsEverythingAsChanged(t *testing.T) {
	const second = 1_000_000
	last := look{Server: "2026-11-26", Clock: 1000 * second, Horizon: 100}
	multiple := strings.TrimSuffix(strings.Repeat("101 wsp_1,", maxLooked+1), ",")
	for _, tt := range []struct {
		name  string
		found look
		all   uint64 // changes of everything
		ws    uint64 // more changes of wsp_1
	}{
		{"nothing has changed", look{last.Server, 1001 * second, 100, "", ""}, 0, 0},
		{"a workspace", look{last.Server, 1001 * second, 110, "101 wsp_1", ""}, 0, 1},
		{"two transactions, one of which has been counted", look{last.Server, 1001 * second, 100, "100 wsp_1,101 wsp_1",
			""}, 0, 1},
		{"two workspaces of one transaction", look{last.Server, 1001 * second, 101, "101 wsp_2,101 wsp_1", ""}, 0, 1},
		{"people", look{last.Server, 1001 * second, 101, "101 ", ""}, 1, 0},
		{"a share has ended", look{last.Server, 1001 * second, 100, "", "wsp_2,wsp_1"}, 0, 1},
		{"the server was started again", look{"2026-11-27", 1001 * second, 100, "", ""}, 1, 0},
		{"another server has fewer transactions", look{last.Server, 1001 * second, 99, "", ""}, 1, 0},
		{"the last look was so long ago that rows may be removed", look{last.Server, 1031 * second, 100, "", ""}, 1, 0},
		{"the clock of the server was set back", look{last.Server, 999 * second, 100, "", ""}, 1, 0},
		{"too much has changed", look{last.Server, 1001 * second, 100, multiple, ""}, 1, maxLooked + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newObservedChanges()
			first := last
			first.Changed = "100 wsp_9"
			e.count(&first)
			previous, _ := e.generation("")
			beforeHere := e.counter("wsp_1").Load()
			if previous != 1 {
				t.Errorf("the first look counted %d changes of everything", previous)
			}
			e.count(&tt.found)
			if next, current := e.generation(""); next-previous != tt.all || current {
				t.Errorf("%d changes of everything, want %d", next-previous, tt.all)
			}
			if got := e.counter("wsp_1").Load() - beforeHere; got < tt.ws || (tt.ws == 0 && got > 0) {
				t.Errorf("%d changes of the workspace, want %d", got, tt.ws)
			}
		})
	}
}

func TestATransactionIsCountedOnceWhileOlderOnesRun(t *testing.T) {
	e := newObservedChanges()
	for i := range 5 {
		e.count(&look{Server: "one", Clock: int64(i), Horizon: 100, Changed: "101 wsp_1"})
	}
	e.count(&look{Server: "one", Clock: 6, Horizon: 103, Changed: fmt.Sprint("101 wsp_1,", "100 wsp_1")})
	assert.Equal(t, "changes", e.counter("wsp_1").Load(), 2)
}
