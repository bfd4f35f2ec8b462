package column

import (
	"maps"
	"math"
	"slices"
	"strings"
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
	emails  int // number of address columns whose values differ

	constant []bool          // columns with the same value in all rows
	isOwn    map[string]bool // words of the schema's key and title

	isAboutPeople bool // the schema is

	translator translator
}

type fieldNames struct {
	Field
	names    []name // key and title, then the synonyms, the likeliest first
	meanings []name // of the key and title
	all      []name // all of these
}

const namesOfItsOwn = 2 // a field's key and title

type columnName struct {
	name
	remembered   string       // the name as a Memory has it
	head         int          // the last word that is neither noise nor generic, the subject; -1 without one
	alternatives []name       // the two names of this/that
	forms        []columnName // what the name means, in English words
	isKnown      bool         // all of its words are
	isForeign    bool         // they are, in another language than English
}

type name struct {
	text  string // as Normalise returns it
	plain string // its letters and digits, before words are replaced
	words []string
	ids   []int // of the words
	isOwn bool  // it is a field's key or title, not a synonym
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
	m.isOwn = ownNoise
	for _, f := range s.Fields {
		m.fields = append(m.fields, m.field(f))
	}
	m.isAboutPeople = slices.ContainsFunc(m.fields, func(f fieldNames) bool { return f.hasWord(person) })
	isNoise := func(w string) bool { return (noise[w] && (m.isAboutPeople || !parties[w])) || ownNoise[w] }
	fieldWords := maps.Clone(m.known)
	columnsWith := map[int]int{}
	names := make([][]string, len(headers))
	for i, h := range headers {
		names[i] = split(h.Name)
	}
	m.translator = translatorFor(names)
	for _, h := range headers {
		c := m.column(h.Name, fieldWords)
		c.setHead(isNoise)
		ids := slices.Clone(c.ids)
		for i := range c.forms {
			c.forms[i].setHead(isNoise)
			ids = append(ids, c.forms[i].ids...)
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			columnsWith[id]++
		}
		m.columns, m.types = append(m.columns, c), append(m.types, h.Type)
		m.constant = append(m.constant, h.Constant)
		if h.Type == Email && !h.Constant {
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
		case w == "gross": // rather than net
			m.beside[id] = 0.25 * m.weights[id]
		case qualifiers[w], generics[w]:
			m.beside[id] = 0.3 * m.weights[id]
		default:
			m.beside[id] = m.weights[id]
		}
	}
	return m
}

// field returns a field's names.
func (m *matcher) field(f Field) fieldNames {
	out := fieldNames{Field: f, names: []name{m.name(f.Key), m.name(f.Title)}}
	for _, synonym := range f.Synonyms {
		out.names = append(out.names, m.name(synonym))
	}
	for i := range out.names[:namesOfItsOwn] {
		out.names[i].isOwn = true
	}
	labels := [][]string{split(f.Key), split(f.Title)}
	t := translatorFor(labels)
	for _, words := range labels {
		forms, _ := t.forms(words)
		for _, form := range forms {
			n := m.name(form)
			n.isOwn = true
			if !slices.ContainsFunc(out.names, func(other name) bool { return other.text == n.text }) {
				out.meanings = append(out.meanings, n)
			}
		}
	}
	out.all = slices.Concat(out.names, out.meanings)
	return out
}

// setHead finds a column's subject.
func (c *columnName) setHead(isNoise func(string) bool) {
	for i, w := range c.words {
		if !isNoise(w) && (i == 0 || (!generics[w] && !qualifiers[w])) {
			c.head = c.ids[i]
		}
	}
}

// column returns a column's name. Words in brackets, such as units, count only if a field has them.
func (m *matcher) column(header string, fieldWords map[string]int) columnName {
	outer, inner := unbracketed(header)
	for _, w := range inner {
		if _, ok := fieldWords[w]; ok || others[w] {
			outer = append(outer, w)
		}
	}
	for i, w := range outer {
		outer[i] = m.inVocabulary(w)
	}
	n := m.nameOf(outer)
	n.plain = strings.Join(split(header), "")
	c := columnName{name: n, remembered: Normalise(header), head: -1}
	m.addForms(&c, header, fieldWords)
	if strings.Contains(header, "/") {
		for part := range strings.SplitSeq(header, "/") {
			c.alternatives = append(c.alternatives, m.name(part))
			forms, _ := m.translator.forms(split(part))
			for _, form := range forms {
				c.alternatives = append(c.alternatives, m.name(form))
			}
		}
	}
	return c
}

// addForms adds what a header means. Words in brackets count only if a field has them.
func (m *matcher) addForms(c *columnName, header string, fieldWords map[string]int) {
	outer, inner := bracketed(header)
	forms, isKnown := m.translator.forms(split(outer))
	c.isKnown, c.isForeign = isKnown, isKnown && m.translator.english.knows(split(outer)) < allKnown
	details, _ := m.translator.forms(split(inner))
	for _, form := range forms {
		all := words(form)
		for _, detail := range details {
			for _, w := range words(detail) {
				if _, ok := fieldWords[w]; ok && !slices.Contains(all, w) {
					all = append(all, w)
				}
			}
		}
		if n := m.nameOf(all); n.text != c.text {
			c.forms = append(c.forms, columnName{name: n, head: -1, isKnown: true})
		}
	}
}
