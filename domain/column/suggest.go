package column

import (
	"math"
	"strings"
)

// Suggestion means that a column probably belongs to a field.
type Suggestion struct {
	Field  string  // the field's key
	Column string  // a Header's name
	Score  float64 // from MinScore to 1
	Reason string  // one sentence for a person
}

const (
	// MinScore is a suggestion's lowest score. Less likely pairs are not suggested.
	MinScore = 0.5
	// AutoSelect is the score from which a form may preselect a suggestion.
	AutoSelect = 0.8
)

// Memory holds a workspace's earlier choices for a schema: field keys by normalised column name
// (Normalise). The last choice counts. A nil Memory is empty.
type Memory map[string]string

// Suggest returns the likeliest column for each schema field, in the order of the fields. No column is suggested twice.
// It maximises the likelihood of all pairs together, which is not the same as choosing the likeliest pairs in turn.
//
// It scores a pair by its names: an earlier choice, the field's own name, a synonym, shared words (those that many
// columns have count less), the meaning in one of 21 languages, or a typing error; then by whose value it is, by what
// the other columns have, and by the column's values: their type, and whether they are all the same.
func Suggest(s Schema, headers []Header, memory Memory) []Suggestion {
	m := newMatcher(s, headers, memory)
	worth := make([][]float64, len(s.Fields))
	pairs := make([][]judgement, len(s.Fields))
	for f := range s.Fields {
		worth[f], pairs[f] = make([]float64, len(headers)), make([]judgement, len(headers))
		for c := range headers {
			pairs[f][c] = m.judge(f, c)
		}
	}
	m.settleNames(pairs)
	m.settleDocuments(pairs)
	for f := range s.Fields {
		for c := range headers {
			if score := pairs[f][c].score; score >= MinScore {
				// Steep, so that one certain pair is not given up for two doubtful ones.
				worth[f][c] = math.Pow(score, 4)
			}
		}
	}
	preferFilled(worth, headers)
	var out []Suggestion
	for f, c := range assign(worth) {
		if c < 0 {
			continue
		}
		j := pairs[f][c]
		out = append(out, Suggestion{
			Field: s.Fields[f].Key, Column: headers[c].Name, Score: math.Round(100*j.score) / 100,
			Reason: j.sentence(s.Fields[f], headers[c]),
		})
	}
	return out
}

// preferFilled makes each pair with an empty column worthless if a column with values could have the field, unless the
// workspace chose it before.
func preferFilled(worth [][]float64, headers []Header) {
	for _, scores := range worth {
		isFilled := false
		for c, h := range headers {
			isFilled = isFilled || (!h.Empty && scores[c] > 0)
		}
		for c, h := range headers {
			if isFilled && h.Empty && scores[c] < scoreChosen {
				scores[c] = 0
			}
		}
	}
}

// The scores of matching names. Weaker matches score less.
const (
	scoreChosen  = 1
	scoreNamed   = 0.98
	scoreSynonym = 0.95 // of the first one; slightly less for each further one
	scoreEither  = 0.85 // of a column named this/that
	scoreShared  = 0.94 // if only noise words are not shared
	scoreBeside  = 0.9
	scoreValues  = 0.6
	scoreSlip    = 0.75 // at most: many words differ in one letter
	ofMeaning    = 0.97 // factor for a name's meaning
)

// sentence explains the suggestion to a person.
func (j judgement) sentence(f Field, h Header) string {
	var s string
	switch j.why {
	case chosen:
		return "This workspace chose a column with this name before."
	case named:
		s = "The column is named like the field"
	case synonym:
		s = "The column's name is another one for the field"
	case shared:
		s = "The column's name is like “" + strings.Join(j.words, " ") + "”"
	case values:
		return "No other column holds e-mail addresses."
	case beside:
		s = "A column with this name usually has it, beside this table's other columns"
	case slip:
		s = "The names are spelled almost alike"
	}
	switch {
	case j.fits && f.Type == h.Type:
		return s + ", and its values fit."
	case !j.fits:
		return s + ", but its values are of type " + string(h.Type) + "."
	}
	return s + "."
}
