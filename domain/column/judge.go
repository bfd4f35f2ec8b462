package column

import (
	"math"
	"slices"
)

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
	beside
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
	if best.score < ofMeaning {
		j := m.compareMeanings(field, column)
		if column.isForeign && j.score < MinScore {
			best.score *= ofForeign // the word means something else in this table's language
		}
		if j.score > best.score {
			best = j
		}
	}
	if best.score < scoreValues && field.Type == Email && m.types[c] == Email && m.emails == 1 {
		best = judgement{score: scoreValues, why: values}
	}
	fit := Fitness(field.Type, m.types[c])
	if best.score *= fit; best.score >= MinScore {
		best.score *= m.whose(field, c)
	}
	best.fits = fit > 0.9
	return best
}

// Factors for a column about somebody else, for one with the same value in all rows, such as the shop's own address,
// and for a word that means something else in the table's language.
const (
	ofOthers    = 0.5
	ofConstants = 0.5
	ofForeign   = 0.5
)

// whose returns the factor for the person or thing whose value a column has.
func (m *matcher) whose(field *fieldNames, c int) float64 {
	part := 1.0
	if m.constant[c] && (field.Unique || field.Type == Email) {
		part = ofConstants
	}
	if !field.isPersonal() {
		return part
	}
	if m.types[c] == Email && field.Type != Email && field.Type != Text {
		part *= ofOthers
	}
	column := &m.columns[c]
	if column.isOthers(field) {
		part *= ofOthers
	}
	return part
}

// isPersonal reports whether a field is about the person or company that a row is about.
func (f *fieldNames) isPersonal() bool {
	return f.Type == Email || f.hasWord(personal)
}

// hasWord reports whether a field's key or title has one of these words.
func (f *fieldNames) hasWord(vocabulary map[string]bool) bool {
	return slices.ContainsFunc(f.names[:namesOfItsOwn], func(n name) bool {
		return slices.ContainsFunc(n.words, func(w string) bool { return vocabulary[w] })
	})
}

// isOthers reports whether a column's name, or its meaning, names somebody else's value.
func (c *columnName) isOthers(f *fieldNames) bool {
	return (!c.isForeign && isOthers(c.words, f)) ||
		slices.ContainsFunc(c.forms, func(form columnName) bool { return isOthers(form.words, f) })
}

// isOthers reports whether words name somebody else's value, or who it is sent to, unless the field does.
func isOthers(words []string, f *fieldNames) bool {
	if len(words) > 1 && words[0] == "to" {
		return true
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return others[w] && !slices.ContainsFunc(f.names, func(n name) bool { return slices.Contains(n.words, w) })
	})
}

// compareMeanings scores a pair by what their names mean.
func (m *matcher) compareMeanings(field *fieldNames, column *columnName) (best judgement) {
	for i := range column.forms {
		for rank, n := range field.all {
			j := m.compare(n, &column.forms[i])
			if j.why == named {
				j.why, j.score = synonym, scoreSynonym
			}
			j.score -= 0.001 * float64(rank)
			if j.score *= ofMeaning - 0.01*float64(i); j.score > best.score && j.why != slip {
				best = j
			}
		}
	}
	for _, n := range field.meanings {
		j := m.compare(n, column)
		if j.score *= ofMeaning; j.score > best.score && j.why != slip {
			best = j
		}
	}
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
	isVague := true
	for i, id := range n.ids {
		weight := m.weights[id]
		if n.isOwn && m.isOwn[n.words[i]] {
			weight *= ofOwn
		}
		total += weight
		if slices.Contains(column.ids, id) {
			common += weight
			overlap++
			isVague = isVague && vague[n.words[i]]
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
	share := common / total
	score := scoreShared * share * math.Sqrt(share) * common / (common + extra)
	if column.head >= 0 && !slices.Contains(n.ids, column.head) &&
		!slices.Contains(n.ids, column.ids[len(column.ids)-1]) {
		score *= 0.6 // another subject, such as an e-mail address's domain
	}
	if isVague && ((!n.isOwn && len(column.ids) == 1) || extra > 0.1*common) {
		score *= 0.6 // a number, but which?
	}
	if last := column.words[len(column.words)-1]; tailWords[last] && last != n.words[len(n.words)-1] {
		score *= 0.6 // the type or the unit of it
	}
	if slips := misspelt(n, column); slips.score > score {
		return slips
	}
	return judgement{score: score, why: shared, words: n.words}
}

// ofOwn is the part of its weight that a word of the schema's name has in a field's name: the number in a list of
// invoices is the invoice number.
const ofOwn = 0.3

// misspelt scores names that are equal except for one word, which is almost equal.
func misspelt(n name, column *columnName) judgement {
	if column.isKnown {
		return judgement{}
	}
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
