package account

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEmail is the longest address that a path in SMTP can carry, in bytes (RFC 5321, section 4.5.3.1.3,
// without the angle brackets).
const maxEmail = 254

// EmailKey returns the form in which e-mail addresses are compared: two users of an org never share it.
// Only A to Z are folded. A local part is case-sensitive (RFC 5321, section 2.4), but people write
// theirs both ways. Characters that Unicode folds besides, such as the Kelvin sign to a k, belong to
// addresses of other people.
func EmailKey(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, email)
}

// validEmail accepts an address that has one @ between a local part and a domain, and no invisible
// characters. The rest is for the mail server to judge (RFC 5321, section 4.1.2, allows far more than
// any pattern).
func validEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	return ok && local != "" && domain != "" && len(s) <= maxEmail && utf8.ValidString(s) &&
		!strings.Contains(domain, "@") && !strings.ContainsFunc(s, invisible)
}

// invisible reports whether a text with r may look the same as a text without it: spaces, control and
// format characters, unassigned characters, and characters that Unicode lets displays ignore.
func invisible(r rune) bool {
	const blankBraille = '\u2800'
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == blankBraille ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
