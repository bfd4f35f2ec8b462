package prompt_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// soon limits the time of work to many times what a linear algorithm needs, which is about 20 ms.
func soon(t *testing.T, label string, work func()) {
	t.Helper()
	start := time.Now()
	work()
	proof.Within(t, label, time.Since(start), 400*time.Millisecond)
}

func TestAnIndentedIncludeOfManyLinesIsRefusedBeforeItsTextIsWritten(t *testing.T) {
	lines := source(t, "lines", withTags(strings.Repeat("x\n", 100_000)))
	c := withTags(strings.Repeat(" ", 10_000) + "{{> lines}}")
	var previous, current runtime.MemStats
	runtime.ReadMemStats(&previous)
	_, err := c.Expand("outer", []prompt.Source{lines})
	runtime.ReadMemStats(&current)
	assert.ErrorIs(t, err, prompt.ErrIncludeTooLarge)
	if uses := (current.TotalAlloc - previous.TotalAlloc) >> 20; uses > 32 {
		t.Errorf("Expand allocated %d MiB for a text that it refuses", uses)
	}
}

func TestTheTagsOfManyDifferentIncludesAreFoundInLinearTime(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "{{>%05d}}", i)
	}
	c := withTags(text.String())
	soon(t, "IncludeTags", func() {
		assert.Equal(t, "tags", len(c.IncludeTags()), 20_000)
	})
}

func TestDelimitersThatAVerbatimTextDoesNotHaveAreFoundInLinearTime(t *testing.T) {
	var text strings.Builder
	text.WriteString("{<%")
	for i := range 36_000 {
		fmt.Fprintf(&text, "<%%%d", i)
	}
	verbatim := source(t, "verbatim", prompt.Content{Text: text.String(), Format: prompt.Verbatim})
	soon(t, "Expand", func() {
		e, err := withTags("a {{> verbatim}} b").Expand("outer", []prompt.Source{verbatim})
		if err != nil || !strings.Contains(e.Content.Text, "{{=<%36000 %>=}}") {
			t.Errorf("Expand = %.40q, %v", e.Content.Text, err)
		}
	})
}

func TestDelimitersOfAVerbatimTextAreTheFirstThatItDoesNotHave(t *testing.T) {
	for text, want := range map[string]string{
		"{":                       "<%",
		"{<%":                     "<%0",
		"{<%0 <%1":                "<%2",
		"{<%01":                   "<%1",
		"{<%0<%12":                "<%2",
		"{<%0<%1<%2<%34567890123": "<%4",
	} {
		verbatim := source(t, "verbatim", prompt.Content{Text: text, Format: prompt.Verbatim})
		e, err := withTags("a {{> verbatim}} b").Expand("outer", []prompt.Source{verbatim})
		if err != nil || !strings.Contains(e.Content.Text, "{{="+want+" %>=}}") {
			t.Errorf("%q: %q, %v", text, e.Content.Text, err)
		}
	}
}
