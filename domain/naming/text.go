package naming

import (
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// reordering are the characters that make the text around them read in another order: embeddings, overrides and
// isolates of the Unicode Bidirectional Algorithm (UAX 9, section 2).
const reordering = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// Reordered reports whether s can read differently from what it says. Texts that other people read must not, although
// they may have what Deceptive refuses in names, such as line breaks and the marks of right-to-left scripts.
func Reordered(s string) bool { return strings.ContainsAny(s, reordering) }

// CheckText adds a text that other people read if it is Reordered.
func CheckText(errs *fault.Fields, pointer, text string) {
	if Reordered(text) {
		errs.Add(pointer, "invalid_characters", "Must not hold characters that change the order in which it reads "+
			"(U+202A to U+202E, U+2066 to U+2069).")
	}
}

// TextError is CheckText for a single text.
func TextError(pointer, text string) error {
	var errs fault.Fields
	CheckText(&errs, pointer, text)
	return errs.Err()
}
