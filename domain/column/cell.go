package column

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cell returns s as a preview cell: valid UTF-8 without control characters except line ends and tabs, cut to MaxCell
// characters; nil if nothing of it is visible.
func Cell(s string) *string { return CellOf(s, MaxCell) }

// CellOf is Cell with another length, in characters.
func CellOf(s string, limit int) *string {
	s = Clean(s, limit)
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return &s
}

// Clean returns s as valid UTF-8 of at most most characters. It replaces characters that cannot be shown.
func Clean(s string, limit int) string {
	if len(s) > limit*utf8.UTFMax { // the part examined below
		s = s[:limit*utf8.UTFMax]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit])
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// Letters names a column as spreadsheets do: A for 0, AA for 26.
func Letters(index int) string {
	var letters []byte
	for n := index + 1; n > 0; n = (n - 1) / 26 {
		letters = append([]byte{byte('A' + (n-1)%26)}, letters...)
	}
	return string(letters)
}
