// Package numfmt shows numbers by Excel's number formats (ECMA-376 part 1, 18.8.31), in English.
package numfmt

import (
	"strconv"
	"strings"
)

// maxCode is how many code characters are read; Excel permits 255.
const maxCode = 1000

// condition is what a section applies to.
type condition struct {
	op    string // of Excel; "" if the section has none
	limit float64
}

func (c condition) holds(v float64) bool {
	switch c.op {
	case "<":
		return v < c.limit
	case "<=":
		return v <= c.limit
	case ">":
		return v > c.limit
	case ">=":
		return v >= c.limit
	case "=":
		return v == c.limit
	case "<>":
		return v != c.limit
	}
	return false
}

// onlyNegative reports whether only negative numbers fulfil c: then a section has a sign of its own.
func (c condition) onlyNegative() bool {
	return (c.op == "<" && c.limit <= 0) || (c.op == "<=" && c.limit < 0)
}

// token is a section part: a literal text, or a character or keyword with a meaning.
type token struct {
	text    string
	literal bool
}

// section is a code's part for some values.
type section struct {
	condition
	tokens []token
	locale string // after the dash of [$-…]
}

// split returns a code's sections, at most 4.
func split(code string) []section {
	var all []section
	var s section
	runes := []rune(code)
	for rest := runes[:min(len(runes), maxCode)]; ; {
		if len(rest) == 0 || rest[0] == ';' {
			if all = append(all, s); len(rest) == 0 || len(all) == 4 {
				return all
			}
			s, rest = section{}, rest[1:]
			continue
		}
		rest = rest[s.next(rest):]
	}
}

// next adds the next section part, and returns how many characters it has.
func (s *section) next(rest []rune) int {
	literal := func(text string, n int) int {
		s.tokens = append(s.tokens, token{text, true})
		return n
	}
	switch r := rest[0]; r {
	case '"':
		for i := 1; i < len(rest); i++ {
			if rest[i] == '"' {
				return literal(string(rest[1:i]), i+1)
			}
		}
		return literal(string(rest[1:]), len(rest))
	case '\\', '!':
		if len(rest) == 1 {
			return 1
		}
		return literal(string(rest[1]), 2)
	case '_': // as wide as the next character
		return literal(" ", min(2, len(rest)))
	case '*': // the next character fills the cell
		return min(2, len(rest))
	case '[':
		for i := 1; i < len(rest); i++ {
			if rest[i] == ']' {
				s.bracket(string(rest[1:i]))
				return i + 1
			}
		}
		return len(rest)
	}
	for _, word := range []string{"General", "AM/PM", "A/P", "E+", "E-"} {
		if len(rest) >= len(word) && strings.EqualFold(string(rest[:len(word)]), word) {
			s.tokens = append(s.tokens, token{text: word})
			return len(word)
		}
	}
	if strings.ContainsRune("0#?.,%/@yYmMdDhHsSbBgGeE", rest[0]) {
		s.tokens = append(s.tokens, token{text: string(rest[0])})
		return 1
	}
	return literal(string(rest[0]), 1)
}

// bracket reads what is between brackets: a condition, a currency and locale, an elapsed time, or a color.
func (s *section) bracket(text string) {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(text, "$"):
		currency, locale, _ := strings.Cut(text[1:], "-")
		s.locale = locale
		if currency != "" {
			s.tokens = append(s.tokens, token{currency, true})
		}
	case lower != "" && strings.Trim(lower, "h") == "", lower != "" && strings.Trim(lower, "m") == "",
		lower != "" && strings.Trim(lower, "s") == "":
		s.tokens = append(s.tokens, token{text: "[" + lower + "]"})
	case strings.HasPrefix(lower, "dbnum"), strings.HasPrefix(lower, "natnum"):
		s.locale = text // digits of another script
	default:
		for _, op := range []string{"<=", ">=", "<>", "<", ">", "="} {
			if limit, ok := strings.CutPrefix(text, op); ok {
				if v, err := strconv.ParseFloat(limit, 64); err == nil {
					s.condition = condition{op, v}
				}
				return
			}
		}
	}
}

// choose returns a number's section, and the number without its sign if the section stands for the sign. ok is false if
// no section applies.
func choose(all []section, v float64) (s section, value float64, ok bool) {
	if len(all) == 4 { // the last one is for texts
		all = all[:3]
	}
	conditions := make([]condition, len(all))
	for i := range all {
		conditions[i] = all[i].condition
	}
	anything := len(all) - 1
	if len(all) > 1 && conditions[0].op == "" {
		conditions[0] = condition{op: ">="}
		if len(all) > 2 {
			conditions[0].op = ">"
		}
	}
	if len(all) > 2 && conditions[1].op == "" {
		conditions[1] = condition{op: "<"}
	}
	for i, c := range conditions {
		last := i == anything && c.op == ""
		if !last && !c.holds(v) {
			continue
		}
		if v < 0 && (c.onlyNegative() || (i > 0 && last)) {
			v = -v
		}
		return all[i], v, true
	}
	return section{}, 0, false
}
