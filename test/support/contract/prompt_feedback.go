package contract

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// opinion returns a report about a version. Those with the same key and value are the same.
func opinion(
	t testing.TB, by identity.Actor, v *prompt.Version, name string, value any, key string,
) prompt.FeedbackReport {
	t.Helper()
	reading := &prompt.Reading{ID: v.Template}
	reading.Workspace, reading.Owner = by.Workspace, by.User
	r, err := prompt.NewFeedbackReport(by, reading, v, prompt.FeedbackRequest{Name: name, Value: value, Key: key})
	must(t, err)
	return r
}

func promptFeedback(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, ws := team.Member, team.Workspace.ID
	newTemplate := func(name string) (prompt.ID, *prompt.Version, *prompt.Version) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: name})
		return template.ID, fixture.Version(t, a.Stores, by, template.ID, "one"),
			fixture.Version(t, a.Stores, by, template.ID, "two")
	}
	add := func(t *testing.T, by identity.Actor, reports ...prompt.FeedbackReport) []prompt.FeedbackOutcome {
		t.Helper()
		out, err := a.PromptFeedback.AddFeedback(ctx, by, reports...)
		must(t, err)
		return out
	}
	lines := func(t *testing.T, id prompt.ID, name string, firstDay prompt.Day) (texts []string) {
		t.Helper()
		got, err := a.PromptFeedback.Feedback(ctx, ws, id, name, firstDay, 100)
		must(t, err)
		for _, l := range got {
			text := fmt.Sprintf("%s v%d %s %s %d", l.Day, l.Number, l.Name, l.Kind, l.Tally.Count)
			if l.Tally.Sum != nil {
				text += fmt.Sprintf(" %s %s", l.Tally.Sum, l.Tally.Squares)
			}
			for _, value := range slices.Sorted(maps.Keys(l.Tally.Values)) {
				text += fmt.Sprintf(" %s=%d", value, l.Tally.Values[value])
			}
			texts = append(texts, text)
		}
		return texts
	}
	today := prompt.DayOf(by.At)

	t.Run("reports are summed up by version, name and day", func(t *testing.T) {
		id, one, two := newTemplate("summed up")
		yesterday := fixture.Later(by, -24*time.Hour)
		same(t, "outcomes", add(t, by, opinion(t, by, one, "rating", 4.5, ""), opinion(t, by, one, "rating", -1.0, ""),
			opinion(t, by, two, "rating", 1e9, ""), opinion(t, by, one, "solved", true, ""),
			opinion(t, by, one, "topic", "late", "")), []prompt.FeedbackOutcome{{Version: one.ID, Number: 1},
			{Version: one.ID, Number: 1}, {Version: two.ID, Number: 2}, {Version: one.ID, Number: 1},
			{Version: one.ID, Number: 1}})
		add(t, yesterday, opinion(t, yesterday, one, "solved", false, ""))
		add(t, by, opinion(t, by, one, "solved", true, ""), opinion(t, by, one, "topic", "lost", ""),
			opinion(t, by, two, "rating", 1e9, ""))
		same(t, "lines", lines(t, id, "", today-1), []string{
			fmt.Sprint(today, " v2 rating number 2 2000000000000000 2000000000000000000000000000000"),
			fmt.Sprint(today, " v1 rating number 2 3500000 21250000000000"),
			fmt.Sprint(today, " v1 solved boolean 2 true=2"),
			fmt.Sprint(today, " v1 topic choice 2 late=1 lost=1"),
			fmt.Sprint(today-1, " v1 solved boolean 1 false=1")})
		same(t, "one name since today", lines(t, id, "solved", today), []string{
			fmt.Sprint(today, " v1 solved boolean 2 true=2")})
		got, err := a.PromptFeedback.Feedback(ctx, ws, id, "", 0, 2)
		must(t, err)
		same(t, "at most two", len(got), 2)
		got, err = a.PromptFeedback.Feedback(ctx, "wsp_other", id, "", 0, 100)
		must(t, err)
		same(t, "elsewhere", len(got), 0)
	})

	t.Run("a key counts once, in a batch and later", func(t *testing.T) {
		id, one, two := newTemplate("keys")
		batch := []prompt.FeedbackReport{opinion(t, by, one, "solved", true, "k1"),
			opinion(t, by, one, "solved", true, "k1"), opinion(t, by, one, "solved", false, "k1"),
			opinion(t, by, two, "solved", true, "k2")}
		first := add(t, by, batch...)
		assert.ErrorIs(t, first[2].Refusal, prompt.ErrFeedbackReused)
		first[2].Refusal = nil
		same(t, "first", first, []prompt.FeedbackOutcome{{Version: one.ID, Number: 1}, {Version: one.ID, Number: 1,
			IsRepeated: true}, {}, {Version: two.ID, Number: 2}})
		for i, out := range add(t, by, batch...) {
			if out.IsRepeated != (i != 2) {
				t.Errorf("repeated report %d: %+v", i, out)
			}
		}
		// The same key is free on another template, and after its time.
		otherID, other, _ := newTemplate("keys too")
		add(t, by, opinion(t, by, other, "solved", true, "k1"))
		later := fixture.Later(by, prompt.FeedbackKeyLasts+time.Second)
		add(t, later, opinion(t, later, one, "solved", false, "k1"))
		for i, out := range add(t, later, opinion(t, later, one, "solved", false, "k1")) {
			if !out.IsRepeated {
				t.Errorf("report %d after the renewal: %+v", i, out)
			}
		}
		same(t, "lines", lines(t, id, "", today), []string{
			fmt.Sprint(prompt.DayOf(later.At), " v1 solved boolean 1 false=1"),
			fmt.Sprint(today, " v2 solved boolean 1 true=1"), fmt.Sprint(today, " v1 solved boolean 1 true=1")})
		same(t, "lines of the other", lines(t, otherID, "", today), []string{
			fmt.Sprint(today, " v1 solved boolean 1 true=1")})
	})

	t.Run("what is refused is not added, and its key stays free", func(t *testing.T) {
		id, one, _ := newTemplate("refused")
		elsewhere := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		out := add(t, by, opinion(t, by, one, "rating", 1.0, ""), opinion(t, by, one, "rating", true, "k"))
		assert.ErrorIs(t, out[1].Refusal, prompt.ErrFeedbackKind)
		out = add(t, by, opinion(t, by, one, "rating", 2.0, "k"))
		assert.NoError(t, out[0].Refusal)
		out = add(t, elsewhere.Member, opinion(t, by, one, "rating", 2.0, ""))
		assert.ErrorIs(t, out[0].Refusal, prompt.ErrNotFound)
		same(t, "lines", lines(t, id, "", today), []string{
			fmt.Sprint(today, " v1 rating number 2 3000000 5000000000000")})
	})

	t.Run("concurrent reports all count, and each key once", func(t *testing.T) {
		id, one, two := newTemplate("races")
		otherID, other, _ := newTemplate("races too")
		var counted atomic.Int64
		var wg sync.WaitGroup
		for worker := range 6 {
			wg.Go(func() {
				var reports []prompt.FeedbackReport
				for i := range 70 {
					reports = append(reports, opinion(t, by, one, "solved", true, fmt.Sprint("key ", i)),
						opinion(t, by, two, "rating", 0.1, ""), opinion(t, by, other, "topic", fmt.Sprint(i%20), ""))
				}
				if worker%2 == 0 {
					slices.Reverse(reports)
				}
				out, err := a.PromptFeedback.AddFeedback(ctx, by, reports...)
				if err != nil {
					t.Error(err)
				}
				for _, o := range out {
					if o.Refusal == nil && !o.IsRepeated {
						counted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		same(t, "counted", counted.Load(), int64(70+420+420))
		same(t, "lines", lines(t, id, "", today), []string{
			fmt.Sprint(today, " v2 rating number 420 42000000 4200000000000"),
			fmt.Sprint(today, " v1 solved boolean 70 true=70")})
		got, err := a.PromptFeedback.Feedback(ctx, ws, otherID, "", today, 10)
		must(t, err)
		same(t, "values", len(got[0].Tally.Values), 20)
		same(t, "count", got[0].Tally.Count, int64(420))
	})

	t.Run("the latest 100 comments are kept", func(t *testing.T) {
		id, one, two := newTemplate("comments")
		for start := 0; start < 105; start += 35 {
			var reports []prompt.FeedbackReport
			for i := range 35 {
				r := opinion(t, by, one, "rating", 1.5, "")
				r.Comment = fmt.Sprintf("Grüße %d", start+i)
				reports = append(reports, r)
			}
			add(t, by, reports...)
		}
		last := opinion(t, by, two, "solved", false, "")
		last.Comment = "Too long."
		add(t, by, last)
		got, err := a.PromptFeedback.FeedbackComments(ctx, ws, id, "", today)
		must(t, err)
		same(t, "comments", len(got), prompt.MaxFeedbackComments)
		same(t, "latest", got[0], prompt.FeedbackComment{Version: two.ID, Number: 2, Name: "solved", Value: "false",
			Comment: "Too long.", At: by.At})
		same(t, "next", got[1], prompt.FeedbackComment{Version: one.ID, Number: 1, Name: "rating", Value: "1.5",
			Comment: "Grüße 104", At: by.At})
		same(t, "oldest", got[99].Comment, "Grüße 6")
		for name, want := range map[string]int{"solved": 1, "none": 0} {
			got, err := a.PromptFeedback.FeedbackComments(ctx, ws, id, name, today)
			must(t, err)
			same(t, name, len(got), want)
		}
		got, err = a.PromptFeedback.FeedbackComments(ctx, "wsp_other", id, "", today)
		must(t, err)
		same(t, "elsewhere", len(got), 0)
		got, err = a.PromptFeedback.FeedbackComments(ctx, ws, id, "", today+1)
		must(t, err)
		same(t, "since tomorrow", len(got), 0)
	})
}
