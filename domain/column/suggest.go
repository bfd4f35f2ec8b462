package column

import (
	"maps"
	"math"
	"slices"
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
// It scores a pair by its names: an earlier choice, the field's own name, a synonym, shared words
// (those that many columns have count less), or a typing error; then by the type of the column's
// values.
func Suggest(s Schema, headers []Header, memory Memory) []Suggestion {
	m := newMatcher(s, headers, memory)
	worth := make([][]float64, len(s.Fields))
	pairs := make([][]judgement, len(s.Fields))
	for f := range s.Fields {
		worth[f], pairs[f] = make([]float64, len(headers)), make([]judgement, len(headers))
		for c := range headers {
			j := m.judge(f, c)
			if j.score >= MinScore {
				// Steep, so that one certain pair is not given up for two doubtful ones.
				worth[f][c], pairs[f][c] = math.Pow(j.score, 4), j
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
	scoreValues  = 0.6
	scoreSlip    = 0.75 // at most: many words differ in one letter
)

// matcher holds the data for scoring the pairs of one table.
type matcher struct {
	fields  []fieldNames
	columns []columnName
	types   []Type
	known   map[string]int // the index of each word
	weights []float64      // weight of each word: less the more columns have it
	beside  []float64      // part of that weight that counts if only one of two names has the word
	memory  Memory
	emails  int // number of address columns
}

type fieldNames struct {
	Field
	names []name // key and title, then the synonyms, the likeliest first
}

const namesOfItsOwn = 2 // of a field

type columnName struct {
	name
	remembered   string // the name as a Memory has it
	head         int    // the last word that is neither noise nor generic, the subject; -1 without one
	alternatives []name // the two names of this/that
}

type name struct {
	text  string // as Normalise returns it
	plain string // its letters and digits, before words are replaced
	words []string
	ids   []int // of the words
}

func (m *matcher) name(s string) name {
	n := m.nameOf(words(s))
	n.plain = strings.Join(split(s), "")
	return n
}

func (m *matcher) nameOf(words []string) name {
	n := name{words: words, text: strings.Join(words, " ")}
	for _, w := range n.words {
		id, ok := m.known[w]
		if !ok {
			id = len(m.known)
			m.known[w] = id
		}
		n.ids = append(n.ids, id)
	}
	return n
}

// newMatcher weighs the words of fields and headers: a word in many columns says little, and one in every table almost
// nothing.
func newMatcher(s Schema, headers []Header, memory Memory) *matcher {
	m := &matcher{known: map[string]int{}, memory: memory}
	ownNoise := map[string]bool{} // a product's name is its own name
	for _, w := range append(words(s.Key), words(s.Title)...) {
		ownNoise[w], ownNoise[strings.TrimSuffix(w, "s")] = true, true
	}
	isNoise := func(w string) bool { return noise[w] || ownNoise[w] }
	for _, f := range s.Fields {
		names := fieldNames{Field: f, names: []name{m.name(f.Key), m.name(f.Title)}}
		for _, synonym := range f.Synonyms {
			names.names = append(names.names, m.name(synonym))
		}
		m.fields = append(m.fields, names)
	}
	fieldWords := maps.Clone(m.known)
	columnsWith := map[int]int{}
	for _, h := range headers {
		c := m.column(h.Name, fieldWords)
		for i, w := range c.words {
			if !isNoise(w) && (i == 0 || (!generics[w] && !qualifiers[w])) {
				c.head = c.ids[i]
			}
		}
		if strings.Contains(h.Name, "/") {
			for part := range strings.SplitSeq(h.Name, "/") {
				c.alternatives = append(c.alternatives, m.name(part))
			}
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(c.ids))) {
			columnsWith[id]++
		}
		m.columns, m.types = append(m.columns, c), append(m.types, h.Type)
		if h.Type == Email {
			m.emails++
		}
	}
	m.weights, m.beside = make([]float64, len(m.known)), make([]float64, len(m.known))
	for w, id := range m.known {
		m.weights[id] = math.Log(1 + float64(len(headers)+1)/float64(max(columnsWith[id], 1)))
		switch {
		case fillers[w]:
			m.weights[id] *= 0.05
			m.beside[id] = m.weights[id]
		case isNoise(w):
			m.beside[id] = 0.05 * m.weights[id]
		case qualifiers[w], generics[w]:
			m.beside[id] = 0.3 * m.weights[id]
		default:
			m.beside[id] = m.weights[id]
		}
	}
	return m
}

// column returns a column's name. Words in brackets, such as units, count only if a field has them.
func (m *matcher) column(header string, fieldWords map[string]int) columnName {
	outer, inner := unbracketed(header)
	for _, w := range inner {
		if _, ok := fieldWords[w]; ok || slices.Contains(owners, w) {
			outer = append(outer, w)
		}
	}
	for i, w := range outer {
		outer[i] = m.inVocabulary(w)
	}
	n := m.nameOf(outer)
	n.plain = strings.Join(split(header), "")
	return columnName{name: n, remembered: Normalise(header), head: -1}
}

// judgement is how likely a pair is, and why.
type judgement struct {
	score float64
	why   why
	words []string // of the field's name, for shared
	fits  bool     // the values fit the field's type
}

type why int

const (
	chosen why = iota + 1
	named
	synonym
	shared
	values
	slip
)

// judge returns how well the column c fits the field f: by memory, else by name, else by values.
func (m *matcher) judge(f, c int) judgement {
	field, column := &m.fields[f], &m.columns[c]
	if column.text == "" {
		return judgement{}
	}
	if key, ok := m.memory[column.remembered]; ok {
		if key == field.Key {
			return judgement{score: scoreChosen, why: chosen, fits: true}
		}
		return judgement{} // the column was chosen for another field
	}
	var best judgement
	for i, n := range field.names {
		j := m.compare(n, column)
		if j.why == named && i >= namesOfItsOwn {
			j.why, j.score = synonym, scoreSynonym-0.001*float64(i-namesOfItsOwn)
		}
		if j.score > best.score {
			best = j
		}
	}
	if best.score < scoreValues && field.Type == Email && m.types[c] == Email && m.emails == 1 &&
		!slices.ContainsFunc(column.words, func(w string) bool { return slices.Contains(owners, w) }) {
		best = judgement{score: scoreValues, why: values}
	}
	fit := Fitness(field.Type, m.types[c])
	best.score *= fit
	best.fits = fit > 0.9
	return best
}

// compare scores a pair by one of the field's names.
func (m *matcher) compare(n name, column *columnName) judgement {
	if n.text == "" {
		return judgement{}
	}
	isAlternative := func(other name) bool { return other.text == n.text }
	if n.text != column.text && slices.ContainsFunc(column.alternatives, isAlternative) {
		return judgement{score: scoreEither, why: shared, words: n.words}
	}
	if n.text == column.text {
		return judgement{score: scoreNamed, why: named}
	}
	var overlap int
	var total, common, extra float64
	for _, id := range n.ids {
		total += m.weights[id]
		if slices.Contains(column.ids, id) {
			common += m.weights[id]
			overlap++
		}
	}
	if overlap == 0 {
		return misspelt(n, column)
	}
	for _, id := range column.ids {
		if !slices.Contains(n.ids, id) {
			extra += m.beside[id]
		}
	}
	score := scoreShared * math.Pow(common/total, 1.5) * common / (common + extra)
	if column.head >= 0 && !slices.Contains(n.ids, column.head) &&
		!slices.Contains(n.ids, column.ids[len(column.ids)-1]) {
		score *= 0.6 // another subject, such as an e-mail address's domain
	}
	if slips := misspelt(n, column); slips.score > score {
		return slips
	}
	return judgement{score: score, why: shared, words: n.words}
}

// misspelt scores names that are equal except for one word, which is almost equal.
func misspelt(n name, column *columnName) judgement {
	if isTransposed(n.plain, column.plain) {
		return judgement{score: scoreSlip, why: slip}
	}
	if len(n.words) != len(column.words) {
		return judgement{}
	}
	score := 0.0
	for i, w := range n.words {
		other := column.words[i]
		if w == other {
			continue
		}
		const least = 0.93
		if score > 0 || w[0] != other[0] || min(len(w), len(other)) < 4 ||
			slices.Contains(alike, [2]string{min(w, other), max(w, other)}) {
			return judgement{}
		}
		similar := jaroWinkler(w, other)
		if similar < least {
			return judgement{}
		}
		score = scoreSlip - (1-similar)*2
	}
	return judgement{score: score, why: slip}
}

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
