package column

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Transform's limits.
const (
	MaxJoined    = 4   // columns that a Join adds
	MaxSeparator = 10  // characters
	MaxReplaced  = 200 // strings that Values names
)

// Transform changes a column's strings before they become a field's values: first Join, then Split, Trim, Values and
// Case. Dates, Decimal and Format determine how to read them. The zero value changes nothing.
type Transform struct {
	Join    *Join
	Split   *Split
	Trim    bool              // whether spaces at both ends are removed
	Values  map[string]string // an Enum's value for a string, in upper or lower case and without spaces around it
	Case    Case
	Dates   DateOrder // the order of all dates, instead of the one that the column's first values show
	Decimal string    // "." or ",": the decimal sign of all numbers, instead of the one that they show
	Format  string    // as NewFormat takes it; empty: how dates and numbers are written is recognised
}

// Case determines how letters are written; empty: unchanged.
type Case string

// The cases.
const (
	Lower      Case = "lower"
	Upper      Case = "upper"
	TitleWords Case = "title" // the first letter of each word is upper case, the others lower; hyphens separate words
)

// Join adds the strings of other columns, each after a separator. Empty strings are left out, with their separator.
type Join struct {
	Columns   []string
	Separator string
}

// Split reads a part of the string. A Separator of spaces, or an empty one, means any white space.
type Split struct {
	Separator string
	Part      Part
}

// Part is a part of a string that has separators. A string without a separator has only First and Last.
type Part string

// The parts. First and Rest make the whole, and so do BeforeLast and Last.
const (
	First      Part = "first"       // before the first separator
	Rest       Part = "rest"        // after the first separator
	BeforeLast Part = "before_last" // before the last separator
	Last       Part = "last"        // after the last separator
)

// IsZero reports whether t changes nothing.
func (t Transform) IsZero() bool {
	return t.Join == nil && t.Split == nil && !t.Trim && len(t.Values) == 0 && t.Case == "" && t.Dates == "" &&
		t.Decimal == "" && t.Format == ""
}

// IsPartial reports whether the values are not the whole values of one column, but parts of them or joined with others.
func (t Transform) IsPartial() bool { return t.Join != nil || t.Split != nil }

// Joined returns the columns that t reads in addition.
func (t Transform) Joined() []string {
	if t.Join == nil {
		return nil
	}
	return t.Join.Columns
}

// Text returns a string after the transformation, nil if it is empty. joined are the strings of the Joined columns, in
// their order.
func (t Transform) Text(cell *string, others []*string) *string {
	if t.IsZero() {
		return cell
	}
	text := ""
	if cell != nil {
		text = *cell
	}
	if t.Join != nil {
		text = t.Join.text(text, others)
	}
	if t.Split != nil {
		text = t.Split.text(text)
	}
	if t.Trim {
		text = strings.TrimSpace(text)
	}
	if len(t.Values) > 0 {
		text = t.replaced(text)
	}
	switch t.Case {
	case Lower:
		text = strings.ToLower(text)
	case Upper:
		text = strings.ToUpper(text)
	case TitleWords:
		text = titled(text)
	}
	if text == "" {
		return nil
	}
	return &text
}

// Style returns s with what t determines about the strings of a field with a type.
func (t Transform) Style(s Style, field Type) Style {
	if t.Dates != "" {
		s.Dates = t.Dates
	}
	if t.Decimal != "" {
		s.Decimal = t.Decimal
	}
	if t.Format != "" {
		s.Format, _ = NewFormat(t.Format, field)
	}
	return s
}

func (j Join) text(first string, others []*string) string {
	var out strings.Builder
	out.WriteString(strings.TrimSpace(first))
	for _, other := range others {
		if other == nil || strings.TrimSpace(*other) == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString(j.Separator)
		}
		out.WriteString(strings.TrimSpace(*other))
	}
	return cut(out.String())
}

// cut returns at most MaxValue characters from s, as for values that are read.
func cut(text string) string {
	if len(text) <= MaxValue || utf8.RuneCountInString(text) <= MaxValue {
		return text
	}
	return string([]rune(text)[:MaxValue])
}

// text returns the part of a text that s names; empty if the separator is missing, except for the first and the last
// part.
func (s Split) text(text string) string {
	text = strings.TrimSpace(text)
	first, last, width := strings.Index(text, s.Separator), strings.LastIndex(text, s.Separator), len(s.Separator)
	if strings.TrimSpace(s.Separator) == "" {
		first, last, width = strings.IndexFunc(text, unicode.IsSpace), strings.LastIndexFunc(text, unicode.IsSpace), 0
	}
	part := ""
	switch isFound := first >= 0; {
	case !isFound && (s.Part == First || s.Part == Last):
		part = text
	case !isFound:
	case s.Part == First:
		part = text[:first]
	case s.Part == Rest:
		part = text[first+width:]
	case s.Part == BeforeLast:
		part = text[:last]
	default:
		part = text[last+width:]
	}
	return strings.TrimSpace(part)
}

func (t Transform) replaced(text string) string {
	bare := strings.TrimSpace(text)
	if replacement, ok := t.Values[bare]; ok {
		return replacement
	}
	for from, to := range t.Values {
		if strings.EqualFold(from, bare) {
			return to
		}
	}
	return text
}

func titled(text string) string {
	begins := true
	return strings.Map(func(r rune) rune {
		out := unicode.ToLower(r)
		if begins {
			out = unicode.ToTitle(r)
		}
		begins = unicode.IsSpace(r) || r == '-'
		return out
	}, text)
}
