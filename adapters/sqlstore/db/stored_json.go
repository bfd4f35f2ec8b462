package db

import (
	"encoding/json"
	"strconv"
	"strings"
)

// StoredJSON reads JSON as encoding/json writes it: without spaces, with the members of a struct in its order. Texts
// without escapes are parts of it. What is written in another way must be read by encoding/json.
type StoredJSON struct {
	Rest      string
	isStrange bool // it is written in another way
}

// Skip skips a part of the JSON, and reports whether it came next.
func (s *StoredJSON) Skip(part string) bool {
	rest, isNext := strings.CutPrefix(s.Rest, part)
	s.Rest = rest
	return isNext
}

// Must skips a part that has to come next.
func (s *StoredJSON) Must(part string) {
	if !s.Skip(part) {
		s.isStrange = true
	}
}

// Text reads a string.
func (s *StoredJSON) Text() string {
	s.Must(`"`)
	end := strings.IndexByte(s.Rest, '"')
	if end < 0 {
		s.isStrange = true
		return ""
	}
	if !strings.Contains(s.Rest[:end], `\`) {
		text := s.Rest[:end]
		s.Rest = s.Rest[end+1:]
		return text
	}
	return s.escaped()
}

// Number reads a whole number that is not negative.
func (s *StoredJSON) Number() int64 {
	end := 0
	for end < len(s.Rest) && '0' <= s.Rest[end] && s.Rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(s.Rest[:end], 10, 64)
	if err != nil {
		s.isStrange = true
	}
	s.Rest = s.Rest[end:]
	return n
}

// escaped reads a string with escapes, after its first quote.
func (s *StoredJSON) escaped() (text string) {
	end := 0
	for ; end < len(s.Rest) && s.Rest[end] != '"'; end++ {
		if s.Rest[end] == '\\' {
			end++
		}
	}
	if end >= len(s.Rest) || json.Unmarshal([]byte(`"`+s.Rest[:end+1]), &text) != nil {
		s.isStrange = true
		return ""
	}
	s.Rest = s.Rest[end+1:]
	return text
}

// Next skips to the rest of the next object of a list, of which each begins in the same way, such as {"name":. It
// reports whether there is one.
func (s *StoredJSON) Next(begin string) bool {
	if !s.Skip(`[`) {
		s.Skip(`,`)
	}
	return !s.isStrange && s.Skip(begin)
}

// HasEnded reports whether all of a list has been read, and nothing in it was written in another way.
func (s *StoredJSON) HasEnded() bool {
	s.Must(`]`)
	return !s.isStrange && s.Rest == ""
}
