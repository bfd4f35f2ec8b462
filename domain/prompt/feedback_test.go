package prompt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// judged returns a template that a viewer can see, with a frozen version.
func judged(t *testing.T) (*prompt.Reading, *prompt.Version) {
	t.Helper()
	tmpl, _ := sharedTemplate()
	return tmpl.Reading(), &prompt.Version{VersionInfo: prompt.VersionInfo{ID: "ver1", Template: tmpl.ID, Number: 1,
		Frozen: true}}
}

func TestFeedbackIsChecked(t *testing.T) {
	reading, v := judged(t)
	report := func(w prompt.FeedbackRequest) error {
		_, err := prompt.NewFeedbackReport(viewer, reading, v, w)
		return err
	}
	for name, row := range map[string]struct {
		request prompt.FeedbackRequest
		want    string
	}{
		"no name":            {prompt.FeedbackRequest{Value: true}, "/name invalid_format"},
		"a name with spaces": {prompt.FeedbackRequest{Name: "is good", Value: true}, "/name invalid_format"},
		"no value":           {prompt.FeedbackRequest{Name: "n"}, "/value wrong_type"},
		"a list":             {prompt.FeedbackRequest{Name: "n", Value: []any{1.0}}, "/value wrong_type"},
		"an empty string":    {prompt.FeedbackRequest{Name: "n", Value: ""}, "/value too_short"},
		"a long string":      {prompt.FeedbackRequest{Name: "n", Value: strings.Repeat("é", 51)}, "/value too_long"},
		"a large number":     {prompt.FeedbackRequest{Name: "n", Value: 1e9 + 1}, "/value out_of_range"},
		"infinity":           {prompt.FeedbackRequest{Name: "n", Value: math.Inf(-1)}, "/value out_of_range"},
		"not a number":       {prompt.FeedbackRequest{Name: "n", Value: math.NaN()}, "/value out_of_range"},
		"a long comment": {prompt.FeedbackRequest{Name: "n", Value: 1.0, Comment: strings.Repeat("x", 2001)},
			"/comment too_long"},
		"a long key": {prompt.FeedbackRequest{Name: "n", Value: 1.0, Key: strings.Repeat("x", 256)},
			"/idempotency_key too_long"},
	} {
		assert.EqualSlice(t, name, wrongFields(t, report(row.request)), []string{row.want})
	}
	for _, value := range []any{1e9, -1e9, 0.0, false, strings.Repeat("é", 50)} {
		assert.NoError(t, report(prompt.FeedbackRequest{Name: "a.b-c_9", Value: value}))
	}
}

func TestFeedbackNeedsAVersionThatTheCallerReads(t *testing.T) {
	reading, v := judged(t)
	good := prompt.FeedbackRequest{Name: "n", Value: true}
	_, err := prompt.NewFeedbackReport(stranger, reading, v, good)
	assert.ErrorIs(t, err, prompt.ErrNotFound)
	_, err = prompt.NewFeedbackReport(viewer, reading, nil, good)
	assert.ErrorIs(t, err, prompt.ErrVersionNotFound)
	v.Frozen = false
	_, err = prompt.NewFeedbackReport(viewer, reading, v, good)
	assert.ErrorIs(t, err, prompt.ErrVersionNotFound)
	_, err = prompt.NewFeedbackReport(owner, reading, v, good)
	assert.NoError(t, err)
}

func TestTheBookDecidesWhichFeedbackCounts(t *testing.T) {
	reading, v := judged(t)
	book := prompt.FeedbackBook{Names: map[string]prompt.FeedbackName{}, Keys: map[string]prompt.FeedbackKey{}}
	enter := func(w prompt.FeedbackRequest) prompt.FeedbackOutcome {
		t.Helper()
		r, err := prompt.NewFeedbackReport(viewer, reading, v, w)
		require.NoError(t, err)
		return book.Enter(&r)
	}
	t.Run("a key counts once, for the version that it counted for first", func(t *testing.T) {
		request := prompt.FeedbackRequest{Version: "production", Reader: "ann", Name: "solved", Value: true, Key: "k"}
		first := enter(request)
		v.ID, v.Number = "ver2", 2 // the rollout has changed
		second := enter(request)
		if first != (prompt.FeedbackOutcome{Version: "ver1", Number: 1}) ||
			second != (prompt.FeedbackOutcome{Version: "ver1", Number: 1, IsRepeated: true}) {
			t.Errorf("outcomes %+v, %+v", first, second)
		}
		for name, change := range map[string]func(w *prompt.FeedbackRequest){
			"name":    func(w *prompt.FeedbackRequest) { w.Name = "other" },
			"value":   func(w *prompt.FeedbackRequest) { w.Value = false },
			"comment": func(w *prompt.FeedbackRequest) { w.Comment = "c" },
			"version": func(w *prompt.FeedbackRequest) { w.Version = "v1" },
			"reader":  func(w *prompt.FeedbackRequest) { w.Reader = "bob" },
		} {
			other := request
			change(&other)
			if out := enter(other); !errors.Is(out.Refusal, prompt.ErrFeedbackReused) {
				t.Errorf("another %s: %+v", name, out)
			}
		}
	})
	t.Run("a name keeps its kind", func(t *testing.T) {
		assert.ErrorIs(t, enter(prompt.FeedbackRequest{Name: "solved", Value: 1.0, Key: "free"}).Refusal,
			prompt.ErrFeedbackKind)
		assert.NoError(t, enter(prompt.FeedbackRequest{Name: "solved", Value: false, Key: "free"}).Refusal)
	})
	t.Run("a set has 20 values", func(t *testing.T) {
		for i := range 21 {
			out := enter(prompt.FeedbackRequest{Name: "topic", Value: fmt.Sprint("topic ", i)})
			if errors.Is(out.Refusal, prompt.ErrFeedbackNames) != (i == 20) {
				t.Errorf("value %d: %+v", i, out)
			}
		}
		assert.NoError(t, enter(prompt.FeedbackRequest{Name: "topic", Value: "topic 3"}).Refusal)
	})
	t.Run("a template has 50 names", func(t *testing.T) {
		for i := range 49 {
			out := enter(prompt.FeedbackRequest{Name: fmt.Sprint("n", i), Value: 1.0})
			if errors.Is(out.Refusal, prompt.ErrFeedbackNames) != (i == 48) {
				t.Errorf("name %d: %+v", i, out)
			}
		}
	})
}

func TestSumsOfFeedbackAreExact(t *testing.T) {
	reading, v := judged(t)
	r := rand.New(rand.NewPCG(1, 2))
	var whole prompt.Tally
	parts := make([]prompt.Tally, 7)
	var sum, squares float64
	add := func(value any) {
		report, err := prompt.NewFeedbackReport(viewer, reading, v, prompt.FeedbackRequest{Name: "n", Value: value})
		require.NoError(t, err)
		whole.Add(report.Value)
		parts[r.IntN(len(parts))].Add(report.Value)
	}
	for range 1000 {
		value := math.Round(r.Float64()*1e6) / 1e6
		sum, squares = sum+value, squares+value*value
		add(value)
	}
	for range 10 { // which a float64 would lose beside the small ones
		add(1e9)
		add(-1e9)
	}
	var merged prompt.Tally
	for _, i := range r.Perm(len(parts)) {
		text, err := json.Marshal(parts[i])
		require.NoError(t, err)
		var stored prompt.Tally
		require.NoError(t, json.Unmarshal(text, &stored))
		merged.Merge(stored)
	}
	if merged.Count != 1020 || merged.Sum.Cmp(whole.Sum) != 0 || merged.Squares.Cmp(whole.Squares) != 0 {
		t.Errorf("merged %v, whole %v", merged, whole)
	}
	mean := whole.Sample().Mean
	if math.Abs(mean-sum/1020) > 1e-12 {
		t.Errorf("mean = %v, want %v", mean, sum/1020)
	}
	variance := (squares + 20e18 - 1020*mean*mean) / 1019
	if got := whole.Sample().Variance; math.Abs(got-variance) > 1e-9*variance {
		t.Errorf("variance = %v, want %v", got, variance)
	}
}

func TestATallyKeepsTheOneThatItWasCopiedFrom(t *testing.T) {
	var first prompt.Tally
	first.Add(prompt.FeedbackValue{Kind: prompt.FeedbackChoice, Text: "a"})
	second := first
	second.Add(prompt.FeedbackValue{Kind: prompt.FeedbackChoice, Text: "a"})
	if first.Values["a"] != 1 || second.Values["a"] != 2 {
		t.Errorf("first %v, second %v", first, second)
	}
}

func TestFeedbackIsComparedFromAHundredReportsOn(t *testing.T) {
	line := func(v prompt.VersionID, name string, day prompt.Day, values map[string]int64) prompt.FeedbackLine {
		kind := prompt.FeedbackBoolean
		if values["true"]+values["false"] == 0 {
			kind = prompt.FeedbackChoice
		}
		tally := prompt.Tally{Values: values}
		for _, n := range values {
			tally.Count += n
		}
		return prompt.FeedbackLine{Version: v, Number: int(v[3] - '0'), Name: name, Kind: kind, Day: day, Tally: tally}
	}
	days := []prompt.FeedbackLine{
		line("ver1", "solved", 7, map[string]int64{"true": 40, "false": 20}),
		line("ver2", "solved", 7, map[string]int64{"true": 56, "false": 44}),
		line("ver3", "solved", 7, map[string]int64{"true": 99}),
		line("ver1", "solved", 6, map[string]int64{"true": 30, "false": 10}),
		line("ver2", "topic", 6, map[string]int64{"late": 60, "lost": 60}),
		line("ver1", "topic", 6, map[string]int64{"late": 100}),
		line("ver2", "few", 6, map[string]int64{"true": 100}),
		line("ver1", "few", 6, map[string]int64{"true": 99}),
	}
	var got []string
	for _, s := range prompt.SummarizeFeedback(days, "ver1") {
		text := fmt.Sprintf("%s v%d %d", s.Name, s.Number, s.Tally.Count)
		for _, d := range s.Differences {
			text += fmt.Sprintf(" %s %.4f %.4f %.4f", d.Value, d.Interval.Value, d.Low, d.High)
		}
		got = append(got, text)
	}
	// By Newcombe's method 10: 56/100 against 70/100, 60/120 against 100/100, and 60/120 against 0/100.
	want := []string{"few v2 100", "few v1 99", "solved v3 99", "solved v2 100 true -0.1400 -0.2670 -0.0063",
		"solved v1 100",
		"topic v2 120 late -0.5000 -0.5881 -0.4045 lost 0.5000 0.4045 0.5881", "topic v1 100"}
	assert.NoDiff(t, "summaries", cmp.Diff(want, got))
	for _, s := range prompt.SummarizeFeedback(days, "") {
		if s.Differences != nil {
			t.Errorf("without a base: %+v", s)
		}
	}
}

func TestNumbersOfFeedbackAreComparedByTheirMeans(t *testing.T) {
	var days []prompt.FeedbackLine
	for i, values := range [][]int64{{4, 5}, {3, 4}} {
		line := prompt.FeedbackLine{Version: prompt.VersionID(fmt.Sprint("ver", i+1)), Number: i + 1, Name: "rating",
			Kind: prompt.FeedbackNumber}
		for range 50 {
			for _, v := range values {
				line.Tally.Add(prompt.FeedbackValue{Kind: prompt.FeedbackNumber, Number: v * 1_000_000})
			}
		}
		days = append(days, line)
	}
	got := prompt.SummarizeFeedback(days, "ver1")[0].Differences
	// Both have a variance of 25/99, so 198 degrees of freedom: the quantile is 1.972017.
	margin := 1.972017 * math.Sqrt(2*25.0/99/100)
	if len(got) != 1 || got[0].Value != "" || got[0].Interval.Value != -1 || math.Abs(got[0].Low+1+margin) > 1e-6 ||
		math.Abs(got[0].High+1-margin) > 1e-6 {
		t.Errorf("differences %+v, want -1 ± %v", got, margin)
	}
}

func TestAFeedbackValueIsWrittenAsClientsDo(t *testing.T) {
	reading, v := judged(t)
	for want, value := range map[string]any{"4.5": 4.5, "-0.000001": -0.000001, "1000000000": 1e9, "0.333333": 1.0 / 3,
		"true": true, "too long": "too long"} {
		r, err := prompt.NewFeedbackReport(viewer, reading, v, prompt.FeedbackRequest{Name: "n", Value: value})
		require.NoError(t, err)
		assert.Equal(t, want, r.Value.String(), want)
	}
	var refusal *fault.Error
	if !errors.As(prompt.ErrFeedbackValues, &refusal) || refusal.Code != "feedback_limit_reached" {
		t.Errorf("refusal %v", refusal)
	}
}
