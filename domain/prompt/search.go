package prompt

import "strings"

// maxSearched is the number of bytes in a version's text that a search finds.
const maxSearched = 16 << 10

// Searched returns the text of c that a search finds, as NameKey writes it: the first 16 KiB of the text or of the
// contents of the messages.
func (c Content) Searched() string {
	var all strings.Builder
	all.WriteString(cut(c.Text))
	for _, m := range c.Messages {
		if all.Len() >= maxSearched {
			break
		}
		for _, text := range m.Texts() {
			all.WriteString(cut(text) + "\n")
		}
	}
	return cut(NameKey(all.String()))
}

// cut returns at most maxSearched bytes of s, without a partial character at the end.
func cut(s string) string {
	if len(s) <= maxSearched {
		return s
	}
	return strings.ToValidUTF8(s[:maxSearched], "")
}
