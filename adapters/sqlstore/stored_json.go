package sqlstore

import (
	"encoding/json"
	"strconv"
	"strings"
)

// storedJSON reads JSON as encoding/json writes it: without spaces, with the members of a struct in its order. Texts
// without escapes are parts of it. What is written in another way must be read by encoding/json.
type storedJSON struct {
	rest      string
	isStrange bool // it is written in another way
}

// skip skips a part of the JSON, and reports whether it came next.
func (s *storedJSON) skip(part string) bool {
	rest, isNext := strings.CutPrefix(s.rest, part)
	s.rest = rest
	return isNext
}

// must skips a part that has to come next.
func (s *storedJSON) must(part string) {
	if !s.skip(part) {
		s.isStrange = true
	}
}

// text reads a text.
func (s *storedJSON) text() string {
	s.must(`"`)
	end := strings.IndexByte(s.rest, '"')
	if end < 0 {
		s.isStrange = true
		return ""
	}
	if !strings.Contains(s.rest[:end], `\`) {
		text := s.rest[:end]
		s.rest = s.rest[end+1:]
		return text
	}
	return s.escaped()
}

// number reads a whole number that is not negative.
func (s *storedJSON) number() int64 {
	end := 0
	for end < len(s.rest) && '0' <= s.rest[end] && s.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s.rest[:end], 10, 64)
	if err != nil {
		s.isStrange = true
	}
	s.rest = s.rest[end:]
	return n
}

// escaped reads a text with escapes, behind its first quote.
func (s *storedJSON) escaped() (text string) {
	end := 0
	for ; end < len(s.rest) && s.rest[end] != '"'; end++ {
		if s.rest[end] == '\\' {
			end++
		}
	}
	if end >= len(s.rest) || json.Unmarshal([]byte(`"`+s.rest[:end+1]), &text) != nil {
		s.isStrange = true
		return ""
	}
	s.rest = s.rest[end+1:]
	return text
}

// next skips to the rest of the next object of a list, of which each begins in the same way, such as {"name":. It
// reports whether there is one.
func (s *storedJSON) next(begin string) bool {
	if !s.skip(`[`) {
		s.skip(`,`)
	}
	return !s.isStrange && s.skip(begin)
}

// hasEnded reports whether all of a list has been read, and nothing in it was written in another way.
func (s *storedJSON) hasEnded() bool {
	s.must(`]`)
	return !s.isStrange && s.rest == ""
}
