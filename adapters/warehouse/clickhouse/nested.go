package clickhouse

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// isNested reports whether a type's values, by its first word, consist of others.
func isNested(word string) bool {
	return slices.Contains([]string{"Array", "Tuple", "Map", "Nested"}, word)
}

// exact changes a row's texts that cell's expressions returned: values that consist of others become JSON, and whole
// floating-point numbers have all digits. A text that was cut stays as it is, which is no JSON.
func exact(row []*string, columns []connection.Column) {
	for i, c := range columns[:min(len(columns), len(row))] {
		if row[i] == nil {
			continue
		}
		switch word, _, _ := strings.Cut(inside(inside(c.DatabaseType, "LowCardinality"), "Nullable"), "("); {
		case word == "Float32":
			row[i] = new(warehouse.WholeFloat(*row[i], 32))
		case word == "Float64":
			row[i] = new(warehouse.WholeFloat(*row[i], 64))
		case isNested(word):
			if text, ok := toJSON(*row[i]); ok {
				row[i] = &text
			}
		}
	}
}

// toJSON writes a value that consists of others as JSON, from how ClickHouse writes it: ['it\'s',NULL], (1,'a') or
// {'a':1}. Tuples are arrays, numbers stay as they are, and those that JSON does not have are texts.
func toJSON(text string) (string, bool) {
	p := literals{rest: text}
	p.value()
	return string(p.out), !p.failed && p.rest == ""
}

// literals reads values as ClickHouse writes them.
type literals struct {
	rest   string
	out    []byte
	failed bool
	depth  int
}

// maxDepth is how deep values may be nested in each other.
const maxDepth = 100

// value writes the next value as JSON.
func (p *literals) value() {
	if p.depth++; p.rest == "" || p.depth > maxDepth {
		p.failed = true
		return
	}
	defer func() { p.depth-- }()
	switch p.rest[0] {
	case '[':
		p.list(']', "[", "]", false)
	case '(':
		p.list(')', "[", "]", false)
	case '{':
		p.list('}', "{", "}", true)
	case '\'':
		p.quoted()
	default:
		p.word()
	}
}

// list reads values up to an end, with keys if they are pairs.
func (p *literals) list(end byte, opening, closing string, pairs bool) {
	p.rest = p.rest[1:]
	p.out = append(p.out, opening...)
	for first := true; !p.failed; first = false {
		if first && p.skip(end) {
			break
		}
		if !first {
			if p.skip(end) {
				break
			}
			if !p.skip(',') {
				p.failed = true
				return
			}
			p.out = append(p.out, ',')
		}
		if pairs {
			p.key()
		}
		p.value()
	}
	p.out = append(p.out, closing...)
}

// key reads a pair's key, which is a text in JSON whatever its type.
func (p *literals) key() {
	begin := len(p.out)
	p.value()
	if key := string(p.out[begin:]); !strings.HasPrefix(key, `"`) {
		p.out = p.out[:begin]
		p.text(key)
	}
	if p.failed = p.failed || !p.skip(':'); !p.failed {
		p.out = append(p.out, ':')
	}
}

func (p *literals) skip(c byte) bool {
	if p.rest != "" && p.rest[0] == c {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

// escapes are what stands behind a backslash ("Syntax", string literals, of ClickHouse's documentation).
var escapes = map[byte]byte{'b': '\b', 'f': '\f', 'r': '\r', 'n': '\n', 't': '\t', '0': 0, 'a': '\a', 'v': '\v'}

// quoted reads a text in quotes.
func (p *literals) quoted() {
	var text []byte
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\'':
			p.rest = p.rest[i+1:]
			p.text(string(text))
			return
		case c == '\\' && i+1 < len(p.rest):
			i++
			if char, ok := escapes[p.rest[i]]; ok {
				text = append(text, char)
			} else {
				text = append(text, p.rest[i])
			}
		default:
			text = append(text, c)
		}
	}
	p.failed = true
}

func (p *literals) text(s string) {
	text, err := json.Marshal(s)
	p.failed = p.failed || err != nil
	p.out = append(p.out, text...)
}

// word reads a number, NULL, true, false, nan, inf, or a text without quotes.
func (p *literals) word() {
	end := strings.IndexAny(p.rest, ",)]}:")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	switch {
	case word == "":
		p.failed = true
	case word == "NULL":
		p.out = append(p.out, "null"...)
	case json.Valid([]byte(word)):
		p.out = append(p.out, word...)
	default:
		p.text(word)
	}
}
