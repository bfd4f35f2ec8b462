package account

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
)

// maxEmail is the longest address that a path in SMTP can carry, in bytes (RFC 5321, section 4.5.3.1.3,
// without the angle brackets).
const maxEmail = 254

// EmailKey returns the form in which e-mail addresses are compared: two org users never share it. Only A to Z are
// folded. A local part is case-sensitive (RFC 5321, section 2.4), but people write theirs both ways. Other characters
// that Unicode folds, such as the Kelvin sign to a k, belong to addresses of other people.
func EmailKey(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, email)
}

// validEmail accepts an address that has one @ between a local part and a domain, and no invisible characters. The mail
// server decides about the rest (RFC 5321, section 4.1.2, allows far more than any pattern).
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

// emailFaults returns what is wrong with the address of a new account or invitation. An account that already has
// such an address keeps it.
func emailFaults(email string) []fault.Field {
	switch {
	case !validEmail(email):
		return []fault.Field{{Pointer: "/email", Code: "invalid_format", Detail: "Must be an e-mail address."}}
	case deceptive(email):
		return []fault.Field{{
			Pointer: "/email", Code: "invalid_format",
			Detail: "Must not hold characters that look like others, or mix letters of several scripts.",
		}}
	default:
		return nil
	}
}

// public reports whether mail to an address can leave the operator's machines. An address literal or a host's name
// cannot (RFC 5321, section 2.3.5: mail goes to fully qualified names). All top-level domains begin with a letter.
func public(email string) bool {
	_, domain, _ := strings.Cut(email, "@")
	dot := strings.LastIndexByte(domain, '.')
	top := domain[dot+1:]
	first, _ := utf8.DecodeRuneInString(top)
	return dot > 0 && unicode.IsLetter(first) && !strings.HasPrefix(domain, "[") && !strings.EqualFold(top, "localhost")
}
