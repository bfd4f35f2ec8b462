package naming

import (
	"strings"
	"unicode"
)

// maxMailedName is a name's maximum number of characters in a mail.
const maxMailedName = 40

// Harmless returns a name without anything that programs turn into links, without telephone numbers and exclamation
// marks. It is for mails. It keeps letters and the few marks that names have, and a full stop only at a word's end.
// Longer names are cut to maxMailedName characters.
func Harmless(name string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || strings.ContainsRune(".,-'&()", r) {
			return r
		}
		return ' '
	}, name)
	words := strings.Fields(printable)
	for n, word := range words {
		stop := strings.HasSuffix(word, ".")
		if word = strings.ReplaceAll(strings.TrimRight(word, "."), ".", " "); stop {
			word += "."
		}
		words[n] = word
	}
	all := []rune(strings.Join(words, " "))
	if len(all) > maxMailedName {
		return strings.TrimRight(string(all[:maxMailedName-1]), " ") + "…"
	}
	return string(all)
}
