// Package naming decides which names can be shown to people without deceiving them.
package naming

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Refusal is a field's detail if its name is Deceptive.
const Refusal = "Must not hold control, invisible or direction-changing characters."

// Normal returns s in Unicode's composed form (NFC): names that look the same are the same.
func Normal(s string) string { return norm.NFC.String(s) }

// Changed returns a new name's composed form. It returns nil if next is nil, or is old itself: a stored name is not
// checked again when something else changes.
func Changed(old string, next *string) *string {
	if next == nil || *next == old {
		return nil
	}
	text := Normal(*next)
	if text == old {
		return nil
	}
	return &text
}

// Deceptive reports whether s holds control characters, characters that change the direction of text (bidi
// controls), or characters of no width. What joins emoji is allowed between them, and a non-joiner between
// Arabic letters, which Persian words need.
func Deceptive(s string) bool {
	runes := []rune(s)
	for i, r := range runes {
		if !hidden(r) {
			continue
		}
		var previous, next rune
		if i > 0 {
			previous = runes[i-1]
		}
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		if !allowed(r, previous, next) {
			return true
		}
	}
	return false
}

// Strip returns s in its composed form, without the characters for which Deceptive refuses it. It is for names that
// come from elsewhere, such as an issuer's claims.
func Strip(s string) string {
	s = Normal(s)
	if !Deceptive(s) {
		return s
	}
	return Normal(strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s))
}

const (
	nonJoiner      = '\u200c'
	joiner         = '\u200d'
	emojiVariation = '\ufe0f'
	keycap         = '\u20e3'
)

func hidden(r rune) bool {
	return unicode.IsControl(r) ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector)
}

// allowed reports whether a hidden character has a use between its neighbours.
func allowed(r, previous, next rune) bool {
	emoji := unicode.In(previous, unicode.So, unicode.Sk) || previous == emojiVariation
	switch r {
	case joiner:
		return emoji && unicode.Is(unicode.So, next)
	case nonJoiner:
		return unicode.Is(unicode.Arabic, previous) && unicode.Is(unicode.Arabic, next)
	case emojiVariation:
		return unicode.In(previous, unicode.So, unicode.Sk) || next == keycap
	default:
		return false
	}
}
