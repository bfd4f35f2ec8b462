package openapi

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// plainObject accepts most bodies of a schema without building values from them, which takes a twentieth of the time
// and no allocation. It is for objects whose members are texts and integers. It never refuses a body: one that it does
// not accept may be valid too, and needs the whole check.
type plainObject struct {
	members  map[string]plainMember
	required uint64 // bits of members
}

// plainMember is a text or an integer with its limits, which are inclusive.
type plainMember struct {
	bit       uint64 // of this member; never 0
	isInteger bool
	min, max  int64 // of the integer, or of the number of characters
	pattern   *regexp.Regexp
	enum      []string // nil: any text
}

// newPlainObject returns nil if a schema has anything that plainObject does not know. A member that has such a thing is
// left out, so that bodies with it need the whole check. lookUp returns the schema that a $ref leads to.
func newPlainObject(schema map[string]any, lookUp func(ref string) map[string]any) *plainObject {
	p := &plainObject{members: map[string]plainMember{}}
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] != "object" || properties == nil ||
		!hasOnly(schema, "type", "properties", "required", "additionalProperties") {
		return nil
	}
	for name, value := range properties {
		object, _ := value.(map[string]any)
		if ref, ok := object["$ref"].(string); ok && len(object) == 1 {
			object = lookUp(ref)
		}
		if m, ok := newPlainMember(object); ok && len(p.members) < 64 {
			m.bit = 1 << len(p.members)
			p.members[name] = m
		}
	}
	names, _ := schema["required"].([]any)
	for _, name := range names {
		name, _ := name.(string)
		m, ok := p.members[name]
		if !ok {
			return nil
		}
		p.required |= m.bit
	}
	return p
}

func newPlainMember(schema map[string]any) (m plainMember, ok bool) {
	limit := func(name string, otherwise int64) int64 {
		value, exists := schema[name]
		if !exists {
			return otherwise
		}
		number, _ := value.(json.Number)
		n, err := strconv.ParseInt(string(number), 10, 64)
		ok = ok && err == nil
		return n
	}
	switch schema["type"] {
	case "integer":
		ok = hasOnly(schema, "type", "minimum", "maximum")
		m.isInteger, m.min, m.max = true, limit("minimum", -maxPlain), limit("maximum", maxPlain)
	case "string":
		ok = hasOnly(schema, "type", "minLength", "maxLength", "pattern", "enum")
		m.min, m.max = limit("minLength", 0), limit("maxLength", maxPlain)
		if pattern, exists := schema["pattern"].(string); exists && ok {
			var err error
			m.pattern, err = regexp.Compile(pattern) // as the whole check does
			ok = err == nil
		}
		if all, exists := schema["enum"].([]any); exists {
			m.enum = make([]string, 0, len(all))
			for _, one := range all {
				text, isText := one.(string)
				ok = ok && isText
				m.enum = append(m.enum, text)
			}
		}
	}
	return m, ok
}

// annotations are the keywords that say nothing about what is valid.
var annotations = []string{"description", "title", "default", "example", "examples", "deprecated", "readOnly",
	"writeOnly", "x-secret"}

// hasOnly reports whether a schema has only these keywords, and annotations.
func hasOnly(schema map[string]any, keywords ...string) bool {
	for name := range schema {
		if !slices.Contains(keywords, name) && !slices.Contains(annotations, name) {
			return false
		}
	}
	return true
}

// maxPlain bounds the integers that plainObject reads, so that none overflows.
const maxPlain = 999_999_999_999_999_999

// accepts reports whether a body is one JSON object of known members, each at most once, whose texts are printable
// ASCII without escapes, and which are all valid.
func (p *plainObject) accepts(body []byte) bool {
	if p == nil {
		return false
	}
	s := plainScanner{rest: body}
	if !s.skip('{') {
		return false
	}
	var seen uint64
	for first := true; !s.skip('}'); first = false {
		if !first && !s.skip(',') {
			return false
		}
		name, ok := s.text()
		m := p.members[string(name)]
		if !ok || m.bit == 0 || seen&m.bit != 0 || !s.skip(':') || !s.value(&m) {
			return false
		}
		seen |= m.bit
	}
	return s.atEnd() && seen&p.required == p.required
}

// plainScanner reads the plain part of JSON.
type plainScanner struct{ rest []byte }

func (s *plainScanner) space() {
	for len(s.rest) > 0 && strings.IndexByte(" \t\r\n", s.rest[0]) >= 0 {
		s.rest = s.rest[1:]
	}
}

// skip reads a character that is not part of a text, and reports whether it was there.
func (s *plainScanner) skip(c byte) bool {
	if s.space(); len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *plainScanner) atEnd() bool {
	s.space()
	return len(s.rest) == 0
}

// text reads a text that is printable ASCII without escapes.
func (s *plainScanner) text() (text []byte, ok bool) {
	if !s.skip('"') {
		return nil, false
	}
	for i, c := range s.rest {
		switch {
		case c == '"':
			text, s.rest = s.rest[:i], s.rest[i+1:]
			return text, true
		case c == '\\' || c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// integer reads an integer of at most 18 digits.
func (s *plainScanner) integer() (n int64, ok bool) {
	isNegative := s.skip('-')
	digits := 0
	for ; digits < len(s.rest) && '0' <= s.rest[digits] && s.rest[digits] <= '9'; digits++ {
		if digits == 18 {
			return 0, false
		}
		n = 10*n + int64(s.rest[digits]-'0')
	}
	if digits == 0 || (digits > 1 && s.rest[0] == '0') {
		return 0, false
	}
	if s.rest = s.rest[digits:]; isNegative {
		n = -n
	}
	return n, true // what follows, such as a fraction, is no comma
}

// value reads the value of a member, and reports whether it is valid.
func (s *plainScanner) value(m *plainMember) bool {
	if m.isInteger {
		n, ok := s.integer()
		return ok && m.min <= n && n <= m.max
	}
	text, ok := s.text()
	if !ok || int64(len(text)) < m.min || int64(len(text)) > m.max {
		return false
	}
	if m.enum != nil && !slices.ContainsFunc(m.enum, func(one string) bool { return one == string(text) }) {
		return false
	}
	return m.pattern == nil || m.pattern.Match(text)
}
