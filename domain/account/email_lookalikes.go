package account

import (
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// deceptive reports whether an address can be mistaken for another one: its Unicode compatibility form (NFKC) is
// different, it contains a letter that looks like another one, it mixes scripts in its local part or in a label of its
// domain, or it imitates Latin letters in another script (Unicode Technical Standard 39).
func deceptive(email string) bool {
	if !strings.ContainsFunc(email, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false // ASCII has the letters of one script, and is asked for with each issuer's token
	}
	if !norm.NFKC.IsNormalString(email) || strings.ContainsFunc(email, lookalike) {
		return true
	}
	local, domain, _ := strings.Cut(email, "@")
	for label := range strings.SplitSeq(domain, ".") {
		if mixed(label) || looksLatin(label) {
			return true
		}
	}
	return mixed(local) || looksLatin(local)
}

// distinct are the Latin letters without marks outside of ASCII that look like no other letter.
const distinct = "ÆæÐðØøÞþẞßĐđĦħŁłŊŋŒœŦŧƏə"

// lookalike reports whether r is refused in addresses. Latin letters are ASCII letters with or without marks, and
// the distinct ones, so that neither the dotless i nor phonetic letters can stand for others. Marks of several
// scripts have a composed letter or none that people write. Punctuation is ASCII or Japanese.
func lookalike(r rune) bool {
	const japanese = "・ー"
	switch {
	case r < utf8.RuneSelf:
		return false
	case unicode.Is(unicode.Inherited, r):
		return true
	case unicode.Is(unicode.Latin, r):
		base, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		return base >= utf8.RuneSelf && !strings.ContainsRune(distinct, base)
	case unicode.Is(unicode.Common, r):
		return unicode.In(r, unicode.P, unicode.Sm, unicode.Sk, unicode.Lm) && !strings.ContainsRune(japanese, r)
	default:
		return false
	}
}

// together are the scripts that may be mixed ("highly restrictive" in UTS 39, section 5.2).
var together = []map[string]bool{
	{"Latin": true, "Han": true, "Hiragana": true, "Katakana": true},
	{"Latin": true, "Han": true, "Bopomofo": true},
	{"Latin": true, "Han": true, "Hangul": true},
}

// mixed reports whether s has letters of scripts that are not written together.
func mixed(s string) bool {
	scripts := scriptsOf(s)
	if len(scripts) < 2 {
		return false
	}
	for _, letters := range together {
		rest := maps.Clone(scripts)
		maps.DeleteFunc(rest, func(name string, _ bool) bool { return letters[name] })
		if len(rest) == 0 {
			return false
		}
	}
	return true
}

// scriptsOf returns the names of the scripts of s, without what all of them share.
func scriptsOf(s string) map[string]bool {
	scripts := map[string]bool{}
	for _, r := range s {
		if name := scriptOf(r); name != "Common" && name != "Inherited" {
			scripts[name] = true
		}
	}
	return scripts
}

func scriptOf(r rune) string {
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// asLatin are the Cyrillic and Greek letters that look like Latin ones.
const asLatin = "аеԁһіјӏорсԛѕԝхуѵ" + "АВЕНІЈКМОРСТЅХУԚԜѴ" + "ονρ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"

// looksLatin reports whether s has letters of other scripts, and each of them looks like a Latin one.
func looksLatin(s string) bool {
	found := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r):
		case !strings.ContainsRune(asLatin, r):
			return false
		default:
			found = true
		}
	}
	return found
}
