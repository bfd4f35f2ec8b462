package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// solvedBy returns what a version's readers reported: how many of 400 solved their problem.
func solvedBy(number int, name string, count int64) prompt.FeedbackLine {
	return prompt.FeedbackLine{Version: prompt.VersionID(fmt.Sprint("ver", number)), Number: number, Name: name,
		Kind: prompt.FeedbackBoolean, Tally: prompt.Tally{Count: 400, Values: map[string]int64{"true": count,
			"false": 400 - count}}}
}

func TestARolloutIsJudgedByItsMargin(t *testing.T) {
	rated := func(number int, value int64, count int) prompt.FeedbackLine {
		line := prompt.FeedbackLine{Version: prompt.VersionID(fmt.Sprint("ver", number)), Number: number,
			Name: "rating", Kind: prompt.FeedbackNumber}
		for i := range count {
			line.Tally.Add(prompt.FeedbackValue{Kind: prompt.FeedbackNumber, Number: (value + int64(i%2)) * 1e6})
		}
		return line
	}
	solved := func(counts ...int64) (days []prompt.FeedbackLine) {
		for i, n := range counts {
			days = append(days, solvedBy(i+1, "solved", n))
		}
		return days
	}
	topic := func(number int, late int64) prompt.FeedbackLine {
		line := solvedBy(number, "topic", 0)
		line.Kind, line.Tally.Values = prompt.FeedbackChoice, map[string]int64{"late": late, "lost": 400 - late}
		return line
	}
	for name, row := range map[string]struct {
		guard prompt.Guard
		days  []prompt.FeedbackLine
		worse int // 0: none
	}{
		"the new version is worse":      {prompt.Guard{Name: "solved"}, solved(300, 240), 2},
		"the labelled version is worse": {prompt.Guard{Name: "solved"}, solved(240, 300), 1},
		"less is better":                {prompt.Guard{Name: "solved", Lower: true}, solved(300, 240), 1},
		"the interval has the margin":   {prompt.Guard{Name: "solved", Margin: 0.1}, solved(300, 240), 0},
		"the interval is just beyond":   {prompt.Guard{Name: "solved", Margin: 0.08}, solved(300, 240), 2},
		"there is no difference":        {prompt.Guard{Name: "solved"}, solved(300, 299), 0},
		"the name is another":           {prompt.Guard{Name: "other"}, solved(300, 240), 0},
		"the third version is worse":    {prompt.Guard{Name: "solved"}, solved(300, 300, 100), 3},
		"a version outside the rollout": {prompt.Guard{Name: "solved"}, solved(300, 300, 300, 100), 0},
		"means differ": {prompt.Guard{Name: "rating", Margin: 0.5},
			[]prompt.FeedbackLine{rated(1, 4, 100), rated(2, 3, 100)}, 2},
		"means of too few": {prompt.Guard{Name: "rating", Margin: 0.5},
			[]prompt.FeedbackLine{rated(1, 4, 100), rated(2, 3, 99)}, 0},
		"shares of a value": {prompt.Guard{Name: "topic", Value: "late", Lower: true},
			[]prompt.FeedbackLine{topic(1, 100), topic(2, 200)}, 2},
		"a set without a value": {prompt.Guard{Name: "topic"},
			[]prompt.FeedbackLine{topic(1, 100), topic(2, 200)}, 0},
		"no guard": {prompt.Guard{}, solved(300, 240), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := prompt.Rollout{Label: "live", Guard: row.guard, Parts: []prompt.RolloutPart{
				{Version: "ver1", Number: 1}, {Version: "ver2", Number: 2}, {Version: "ver3", Number: 3}}}
			v := r.Judge(row.days)
			switch {
			case row.worse == 0 && v != nil:
				t.Errorf("verdict %+v", v)
			case row.worse != 0 && (v == nil || v.Worse.Number != row.worse || v.Better.Number == row.worse):
				t.Errorf("verdict %+v, want v%d to be worse", v, row.worse)
			}
			r.WarnedAt = now
			if r.Judge(row.days) != nil {
				t.Error("it warns twice")
			}
		})
	}
}

func TestARolloutKeepsItsGuardUntilItIsChanged(t *testing.T) {
	guard := prompt.Guard{Name: "solved", Margin: 0.02}
	tmpl, versions := sharedTemplate()
	rollOut := func(previous *prompt.Rollout, g prompt.Guard, weight int) *prompt.Rollout {
		t.Helper()
		tmpl.ChangedRollouts = nil
		labels := prompt.Labels{"live": {Version: "ver3", Number: 3, Rollout: previous}}
		err := tmpl.RollOut(owner, versions[3], []*prompt.VersionInfo{&versions[1].VersionInfo}, prompt.RolloutDraft{
			LabelMove: prompt.LabelMove{Label: "live"}, Guard: g,
			Versions: []prompt.WeightedRef{{Weight: 100 - weight}, {Weight: weight}},
		}, labels)
		require.NoError(t, err)
		if len(tmpl.ChangedRollouts) == 0 {
			return nil
		}
		return &tmpl.ChangedRollouts[0]
	}
	first := rollOut(nil, guard, 10)
	if first.Guard != guard || first.Since != prompt.DayOf(now) || !first.IsJudged() {
		t.Fatalf("rollout %+v", first)
	}
	first.Since, first.WarnedAt = first.Since-3, now
	if repeated := rollOut(first, guard, 10); repeated != nil {
		t.Errorf("the same again changes %+v", repeated)
	}
	if heavier := rollOut(first, guard, 20); heavier.Since != first.Since || heavier.WarnedAt != now {
		t.Errorf("other weights %+v", heavier)
	}
	stricter := rollOut(first, prompt.Guard{Name: "solved", Margin: 0.01}, 10)
	if stricter == nil || stricter.Since != first.Since || !stricter.IsJudged() {
		t.Errorf("another margin %+v", stricter)
	}
	err := tmpl.RollOut(owner, versions[3], []*prompt.VersionInfo{&versions[1].VersionInfo}, prompt.RolloutDraft{
		LabelMove: prompt.LabelMove{Label: "live"}, Versions: []prompt.WeightedRef{{Weight: 50}, {Weight: 50}},
		Guard: prompt.Guard{Name: "Not a name", Value: strings.Repeat("x", 51), Margin: -1},
	}, prompt.Labels{"live": {Version: "ver3", Number: 3}})
	assert.EqualSlice(t, "wrong fields", wrongFields(t, err), []string{"/feedback/name invalid_format",
		"/feedback/value too_long", "/feedback/margin out_of_range"})
}

func TestAWarningNamesTheVersions(t *testing.T) {
	tmpl, _ := sharedTemplate()
	r := prompt.Rollout{Label: "live", Guard: prompt.Guard{Name: "solved", Margin: 0.02}, Parts: []prompt.RolloutPart{
		{Version: "ver1", Number: 1}, {Version: "ver3", Number: 3}}}
	tmpl.Warn(owner, r, *r.Judge([]prompt.FeedbackLine{solvedBy(1, "solved", 300), solvedBy(3, "solved", 240)}))
	recorded(t, tmpl, owner, "prompt_template.rollout_worsened")
	data := tmpl.Recorded()[0].Data
	for member, want := range map[string]any{"label": "live", "name": "solved", "margin": 0.02,
		"version_number": 3, "better_version_number": 1} {
		if data[member] != want {
			t.Errorf("%s = %v, want %v", member, data[member], want)
		}
	}
	if got := tmpl.ChangedRollouts; len(got) != 1 || got[0].WarnedAt != now || r.WarnedAt != (time.Time{}) {
		t.Errorf("changed rollouts %+v", got)
	}
}
