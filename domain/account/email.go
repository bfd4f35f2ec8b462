package account

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEmail is the longest address that a path in SMTP can carry, in bytes (RFC 5321, section
// 4.5.3.1.3, less its angle brackets).
const maxEmail = 254

// EmailKey is what makes e-mail addresses the same: two users of an org never share it. Only A to Z
// are folded. A local part is case-sensitive (RFC 5321, section 2.4), and is compared otherwise
// because people write theirs both ways; what Unicode folds besides, such as the Kelvin sign to a
// k, are the addresses of other people.
func EmailKey(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, email)
}

// validEmail accepts what has one @ between something and a domain, and hides nothing from who reads
// it: the rest is for the mail server to judge (RFC 5321, section 4.1.2, allows far more than any
// pattern).
func validEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	return ok && local != "" && domain != "" && len(s) <= maxEmail && utf8.ValidString(s) &&
		!strings.Contains(domain, "@") && !strings.ContainsFunc(s, invisible)
}

// invisible reports whether two texts may look the same, though one of them has r: spaces, control
// and format characters, what is not assigned, and what Unicode has displays leave out.
func invisible(r rune) bool {
	const blankBraille = '\u2800'
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == blankBraille ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
