package column

import (
	_ "embed" // words.tsv
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// lexicon holds the meanings of one language's phrases. A phrase is written without spaces, as split returns its words,
// so that it is found however people write it: “E-Mail-Adresse”, “Emailadresse”.
type lexicon struct{ meanings map[string][]string }

//go:embed words.tsv
var wordsFile string

// lexicons returns English and the other languages of words.tsv, in its order.
var lexicons = sync.OnceValue(func() (all []*lexicon) {
	for line := range strings.Lines(wordsFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if all == nil { // the line of languages
			for range cells[1:] {
				all = append(all, &lexicon{meanings: map[string][]string{}})
			}
			continue
		}
		for i, phrases := range cells[1:] {
			for phrase := range strings.SplitSeq(phrases, ",") {
				all[i].add(split(phrase), cells[0])
			}
		}
	}
	return all
})

func (l *lexicon) add(phrase []string, meaning string) {
	key := strings.Join(phrase, "")
	if key == "" || slices.Contains(l.meanings[key], meaning) {
		return
	}
	l.meanings[key] = append(l.meanings[key], meaning)
}

// maxPhrase is the maximum number of words that are looked up together.
const maxPhrase = 6

// find returns the meanings of the longest phrase that words begin with, and how many words it has: 0 if none is known.
// A single word may consist of several known ones, as in German, Finnish or Chinese; each of them has one meaning then.
func (l *lexicon) find(words []string) (meanings []string, length int) {
	for n := min(len(words), maxPhrase); n > 0; n-- {
		if found := l.meanings[strings.Join(words[:n], "")]; found != nil {
			return found, n
		}
	}
	if len(words) > 0 {
		if parts := l.parts(words[0], 0); len(parts) > 1 {
			return []string{strings.Join(parts, " ")}, 1
		}
	}
	return nil, 0
}

// links join a compound word's parts.
var links = []string{"", "s", "n", "es", "en", "e", "の"}

// parts returns the meanings of a compound word's parts, nil if it does not consist of known words only.
func (l *lexicon) parts(word string, depth int) []string {
	if found := l.meanings[word]; found != nil {
		return []string{shortest(found)}
	}
	const deepest = 4
	if depth == deepest {
		return nil
	}
	for end := len(word) - 1; end > 0; end-- { // the longest first
		if !utf8.RuneStart(word[end]) {
			continue
		}
		found := l.meanings[word[:end]]
		if found == nil || isTooShort(word[:end]) {
			continue
		}
		for _, link := range links {
			rest, ok := strings.CutPrefix(word[end:], link)
			if !ok || isTooShort(rest) {
				continue
			}
			if tail := l.parts(rest, depth+1); tail != nil {
				return append([]string{shortest(found)}, tail...)
			}
		}
	}
	return nil
}

// shortest returns a word's most general meaning: a name rather than a first name.
func shortest(meanings []string) string {
	return slices.MinFunc(meanings, func(a, b string) int { return len(a) - len(b) })
}

// isTooShort reports whether letters are too few for a part of a compound word: one or two, except in scripts of which
// a letter is a syllable or a word.
func isTooShort(part string) bool {
	first, _ := utf8.DecodeRuneInString(part)
	switch {
	case unicode.Is(unicode.Han, first), unicode.In(first, unicode.Hiragana, unicode.Katakana):
		return part == ""
	case unicode.Is(unicode.Hangul, first): // letters of syllables
		return utf8.RuneCountInString(part) < 2
	}
	return utf8.RuneCountInString(part) < 3
}

// translator gives headers their meanings in English words.
type translator struct {
	english   *lexicon
	languages []*lexicon // of the headers, the likeliest first
	isEnglish bool       // most headers are
}

// translatorFor finds the languages that headers are in: those with the most known headers, and those with at least
// half as many. A single header that happens to be a word is no language: “land” is an English word as well.
func translatorFor(headers [][]string) translator {
	all := lexicons()
	t := translator{english: all[0]}
	counts := make([]int, len(all))
	for _, words := range headers {
		for i, l := range all {
			counts[i] += l.knows(words)
		}
	}
	maximum := 0
	for i := range all[1:] {
		maximum = max(maximum, counts[i+1])
	}
	var order []int
	for i := range all[1:] {
		if counts[i+1] > allKnown && counts[i+1]*2 >= maximum {
			order = append(order, i+1)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[b] - counts[a] })
	for _, i := range order {
		t.languages = append(t.languages, all[i])
	}
	t.isEnglish = counts[0] >= maximum
	return t
}

const allKnown = 2

// knows returns allKnown if all words are known, 1 if some are, else 0.
func (l *lexicon) knows(words []string) int {
	count, all := 0, 0
	for i := 0; i < len(words); all++ {
		_, n := l.find(words[i:])
		if n == 0 && isNumber(words[i]) {
			i, all = i+1, all-1
			continue
		}
		if n > 0 {
			count++
		}
		i += max(n, 1)
	}
	switch count {
	case 0:
		return 0
	case all:
		return allKnown
	}
	return 1
}

func isNumber(word string) bool { return unicode.IsDigit(rune(word[0])) }

// maxForms is the maximum number of a header's meanings that are compared.
const maxForms = 3

// forms returns what words may mean, in English words, the likeliest meaning first, and whether all words are known.
// Unknown words stay as they are. Without known words there are no forms.
func (t translator) forms(words []string) (out []string, isKnown bool) {
	var choices [][]string
	hasMeaning, length := false, 1
	isKnown = len(words) > 0
	for i := 0; i < len(words); {
		found, n := t.find(words[i:])
		if n == 0 {
			found, n = words[i:i+1], 1
			isKnown = isKnown && isNumber(words[i])
		} else {
			hasMeaning, length = true, max(length, len(found))
		}
		choices = append(choices, found)
		i += n
	}
	if !hasMeaning {
		return nil, false
	}
	for k := range min(length, maxForms) {
		var form []string
		for _, c := range choices {
			form = append(form, c[min(k, len(c)-1)])
		}
		out = append(out, strings.Join(form, " "))
	}
	return out, isKnown
}

func (t translator) find(words []string) (best []string, length int) {
	for _, l := range t.languages {
		found, n := l.find(words)
		if n <= length || (n == 1 && t.isEnglish && t.english.meanings[words[0]] != nil) {
			continue
		}
		best, length = found, n
	}
	found, n := t.english.find(words)
	switch {
	case n > length, n > 0 && n == length && t.isEnglish:
		return found, n
	case n > 0 && n == length:
		return slices.Concat(best, found), n
	}
	return best, length
}
