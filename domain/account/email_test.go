package account_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestEmailKey(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b string
		same bool
	}{
		"the case of ASCII does not count":       {"Ann@EXAMPLE.com", "ann@example.COM", true},
		"another letter does":                    {"ann@example.com", "ana@example.com", false},
		"nor is a letter of another script one":  {"\u0430nn@example.com", "ann@example.com", false},
		"a dotted capital I is no i":             {"m\u0130ke@example.com", "mike@example.com", false},
		"a dotless i is none either":             {"m\u0131ke@example.com", "mike@example.com", false},
		"the Kelvin sign is no k":                {"mi\u212ae@example.com", "mike@example.com", false},
		"a long s is no s":                       {"a\u017f@example.com", "as@example.com", false},
		"nor is it in the domain":                {"ann@example.\u212aim", "ann@example.kim", false},
		"other letters are told by their case":   {"ÄNN@example.com", "änn@example.com", false},
		"and by how they are put together":       {"a\u0308nn@example.com", "änn@example.com", false},
		"a wide letter is another":               {"\uff4dike@example.com", "mike@example.com", false},
		"what is no UTF-8 stands for no address": {"a\xff@example.com", "a@example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := account.EmailKey(tt.a) == account.EmailKey(tt.b); got != tt.same {
				t.Errorf("%q and %q are the same: %v", tt.a, tt.b, got)
			}
		})
	}
	t.Run("no character outside ASCII becomes one of it, whatever Unicode folds it to", func(t *testing.T) {
		folded := 0
		for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
			if !utf8.ValidRune(r) {
				continue
			}
			key := account.EmailKey(string(r))
			if key != string(r) {
				t.Errorf("%U becomes %q", r, key)
			}
			for _, other := range foldings(r) {
				if other < utf8.RuneSelf {
					folded++
					if account.EmailKey(string(other)) == key {
						t.Errorf("%U is taken for %q", r, other)
					}
				}
			}
		}
		if folded == 0 {
			t.Error("Unicode folds nothing to ASCII: the test shows nothing")
		}
	})
}

// foldings returns all characters that Unicode case mapping relates to r.
func foldings(r rune) []rune {
	out := []rune{unicode.ToLower(r), unicode.ToUpper(r), unicode.ToTitle(r)}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		out = append(out, f)
	}
	for _, s := range []string{strings.ToLower(string(r)), strings.ToUpper(string(r))} {
		out = append(out, []rune(s)...)
	}
	return out
}

func TestAnAddressHidesNothing(t *testing.T) {
	system := identity.System("org", "acme", "cli", now)
	for name, r := range map[string]rune{
		"a NUL": 0, "a line break": '\n', "DEL": 0x7f, "a control character of Latin 1": 0x85, "a soft hyphen": 0xad,
		"a space": ' ', "one that does not break": 0xa0, "a wide one": 0x3000, "one without width": 0x200b, "a joiner": 0x200d,
		"a mark of direction": 0x202e, "an isolate": 0x2066, "a byte order mark": 0xfeff, "a line separator": 0x2028,
		"a variation selector": 0xfe0f, "a tag": 0xe0041, "a Hangul filler": 0x3164, "a grapheme joiner": 0x34f, "blank Braille": 0x2800,
		"a private character": 0xe000, "one that is none": 0xffff, "one that was never assigned": 0x378,
	} {
		for _, email := range []string{"ann" + string(r) + "@example.com", string(r) + "ann@example.com", "ann@exam" + string(r) + "ple.com"} {
			t.Run(name+" is refused", func(t *testing.T) {
				_, err := account.NewUser(system, email, "", false)
				if got := wrongFields(t, err); !slices.Equal(got, []string{"/email invalid_format"}) {
					t.Errorf("%q: wrong = %q", email, got)
				}
			})
		}
	}
	for _, email := range []string{"änn@example.com", "a\u0308nn@example.com", "用户@例子.example", "o'neil+tag@example.com", "\U0001f600@example.com"} {
		t.Run(email+" is none of that", func(t *testing.T) {
			_, err := account.NewUser(system, email, "", false)
			wantErr(t, err, nil)
		})
	}
}
