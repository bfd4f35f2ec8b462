package source

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cell returns s as a cell of a preview: valid UTF-8 without control characters except line ends and
// tabs, cut to MaxCell characters; nil if nothing of it is visible.
func Cell(s string) *string {
	s = clean(s, MaxCell)
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return &s
}

// clean cuts s to most characters and replaces characters that cannot be shown.
func clean(s string, most int) string {
	if len(s) > most*utf8.UTFMax { // the part examined below
		s = s[:most*utf8.UTFMax]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most])
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// TabTitle returns s as the title of a tab or of a document.
func TabTitle(s string) string { return clean(s, MaxTabTitle) }

// ColumnLetters names a column as spreadsheets do: A for 0, AA for 26.
func ColumnLetters(column int) string {
	var letters []byte
	for n := column + 1; n > 0; n = (n - 1) / 26 {
		letters = append([]byte{byte('A' + (n-1)%26)}, letters...)
	}
	return string(letters)
}
