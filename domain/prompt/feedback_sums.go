package prompt

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/estimate"
)

// FeedbackCompared is the number of reports that each of two versions needs before they are compared.
const FeedbackCompared = 100

// Tally sums up values of one kind. Sums are exact, in whatever order they are added.
type Tally struct {
	Count   int64            `json:"count"`
	Sum     *big.Int         `json:"sum,omitempty"`     // of numbers, in millionths
	Squares *big.Int         `json:"squares,omitempty"` // of numbers, in millionths of millionths
	Values  map[string]int64 `json:"values,omitempty"`  // how often each value of another kind was reported
}

// Add adds one value.
func (t *Tally) Add(v FeedbackValue) {
	one := Tally{Count: 1}
	if v.Kind == FeedbackNumber {
		one.Sum = big.NewInt(v.Number)
		one.Squares = new(big.Int).Mul(one.Sum, one.Sum)
	} else {
		one.Values = map[string]int64{v.Text: 1}
	}
	t.Merge(one)
}

// Merge adds the values of another tally of the same kind.
func (t *Tally) Merge(o Tally) {
	t.Count += o.Count
	t.Sum, t.Squares = plus(t.Sum, o.Sum), plus(t.Squares, o.Squares)
	if len(o.Values) == 0 {
		return
	}
	counts := map[string]int64{}
	maps.Copy(counts, t.Values)
	for value, n := range o.Values {
		counts[value] += n
	}
	t.Values = counts
}

// plus returns the sum of two numbers, nil if both are nil.
func plus(a, b *big.Int) *big.Int {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(big.Int).Add(a, b)
}

// Sample returns what is known of numbers; the zero Sample without numbers.
func (t *Tally) Sample() estimate.Sample {
	if t.Sum == nil || t.Count == 0 {
		return estimate.Sample{}
	}
	count := big.NewInt(t.Count)
	s := estimate.Sample{Count: t.Count, Mean: ratio(t.Sum, new(big.Int).Mul(count, big.NewInt(feedbackUnit)))}
	if t.Count > 1 { // (n Σx² - (Σx)²) / (n (n-1)), of which the difference is exact
		spread := new(big.Int).Mul(count, t.Squares)
		spread.Sub(spread, new(big.Int).Mul(t.Sum, t.Sum))
		scale := new(big.Int).Mul(count, big.NewInt(t.Count-1))
		s.Variance = ratio(spread, scale.Mul(scale, big.NewInt(feedbackUnit*feedbackUnit)))
	}
	return s
}

func ratio(a, b *big.Int) float64 {
	f, _ := new(big.Rat).SetFrac(a, b).Float64()
	return f
}

// Share returns how often a value was reported, of all reports.
func (t *Tally) Share(value string) estimate.Share {
	return estimate.Share{Part: t.Values[value], Count: t.Count}
}

// FeedbackLine sums up the feedback about a version that has one name.
type FeedbackLine struct {
	Version VersionID
	Number  int // of the version
	Name    string
	Kind    FeedbackKind
	Day     Day // zero: of several days
	Tally   Tally
}

// FeedbackSummary compares a line of several days with the line of another version.
type FeedbackSummary struct {
	FeedbackLine
	Differences []FeedbackDifference // none unless both versions have FeedbackCompared reports
}

// FeedbackDifference is how much more a version has of something than another version.
type FeedbackDifference struct {
	Value string // whose shares are compared; empty: means are
	estimate.Interval
}

// FeedbackComment is what a report said in words.
type FeedbackComment struct {
	Version VersionID
	Number  int // of the version
	Name    string
	Value   string
	Comment string
	At      time.Time
}

// SummarizeFeedback adds the lines of all days by version and name, sorted by name and then the highest number first.
// Each is compared with the line of base, which may be empty.
func SummarizeFeedback(days []FeedbackLine, base VersionID) []FeedbackSummary {
	type place struct {
		name    string
		version VersionID
	}
	sums := map[place]*FeedbackSummary{}
	for _, d := range days {
		p := place{d.Name, d.Version}
		if sums[p] == nil {
			sums[p] = &FeedbackSummary{FeedbackLine: FeedbackLine{Version: d.Version, Number: d.Number, Name: d.Name,
				Kind: d.Kind}}
		}
		sums[p].Tally.Merge(d.Tally)
	}
	out := make([]FeedbackSummary, 0, len(sums))
	for _, s := range sums {
		if other := sums[place{s.Name, base}]; other != nil && other != s {
			s.Differences = compareFeedback(&s.FeedbackLine, &other.FeedbackLine)
		}
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b FeedbackSummary) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(b.Number, a.Number), cmp.Compare(a.Version, b.Version))
	})
	return out
}

// compareFeedback returns how a line differs from the base's line.
func compareFeedback(line, base *FeedbackLine) (differences []FeedbackDifference) {
	if min(line.Tally.Count, base.Tally.Count) < FeedbackCompared {
		return nil
	}
	switch line.Kind {
	case FeedbackNumber:
		return []FeedbackDifference{{Interval: estimate.Means(line.Tally.Sample(), base.Tally.Sample())}}
	case FeedbackBoolean:
		return []FeedbackDifference{differenceOf("true", line, base)}
	case FeedbackChoice:
		values := maps.Clone(line.Tally.Values)
		maps.Copy(values, base.Tally.Values)
		for _, value := range slices.Sorted(maps.Keys(values)) {
			differences = append(differences, differenceOf(value, line, base))
		}
	}
	return differences
}

func differenceOf(value string, line, base *FeedbackLine) FeedbackDifference {
	return FeedbackDifference{Value: value, Interval: estimate.Shares(line.Tally.Share(value), base.Tally.Share(value))}
}
