package account_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
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
		foldedCount := 0
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
					foldedCount++
					if account.EmailKey(string(other)) == key {
						t.Errorf("%U is taken for %q", r, other)
					}
				}
			}
		}
		if foldedCount == 0 {
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
		"a space": ' ', "one that does not break": 0xa0, "a wide one": 0x3000, "one without width": 0x200b,
		"a joiner":            0x200d,
		"a mark of direction": 0x202e, "an isolate": 0x2066, "a byte order mark": 0xfeff, "a line separator": 0x2028,
		"a variation selector": 0xfe0f, "a tag": 0xe0041, "a Hangul filler": 0x3164, "a grapheme joiner": 0x34f,
		"blank Braille":       0x2800,
		"a private character": 0xe000, "one that is none": 0xffff, "one that was never assigned": 0x378,
	} {
		for _, email := range []string{"ann" + string(r) + "@example.com", string(r) + "ann@example.com",
			"ann@exam" + string(r) + "ple.com"} {
			t.Run(name+" is refused", func(t *testing.T) {
				_, err := account.NewUser(system, email, "", false)
				assert.EqualSlice(t, email+": wrongFields", wrongFields(t, err), []string{"/email invalid_format"})
			})
		}
	}
	for _, email := range []string{"änn@example.com", "用户@例子.example", "o'neil+tag@example.com",
		"\U0001f600@example.com"} {
		t.Run(email+" is none of that", func(t *testing.T) {
			_, err := account.NewUser(system, email, "", false)
			require.NoError(t, err)
		})
	}
}

func TestAnAddressDoesNotDeceive(t *testing.T) {
	system := identity.System("org", "acme", "cli", now)
	org := &identity.Org{ID: "org", Issuers: []identity.Issuer{{URL: "https://issuer", TrustEmail: true}}}
	for name, tt := range map[string]struct {
		email     string
		deceptive bool
	}{
		"a wide letter":                          {"\uff56ictim@example.com", true},
		"a wide letter in the domain":            {"victim@ex\uff41mple.com", true},
		"a ligature":                             {"o\ufb03ce@example.com", true},
		"a mark that is not composed":            {"a\u0308nn@example.com", true},
		"a dotless i":                            {"v\u0131ctim@example.com", true},
		"a dotless i in the domain":              {"victim@v\u0131ctim.com", true},
		"a dotless j":                            {"\u0237im@example.com", true},
		"a phonetic a":                           {"\u0251nn@example.com", true},
		"a small capital":                        {"\u1d04ara@example.com", true},
		"a second dot on an i":                   {"vi\u0307ctim@example.com", true},
		"a hyphen that is not ASCII's":           {"ann\u2010lee@example.com", true},
		"a Cyrillic letter among Latin ones":     {"v\u0456ctim@example.com", true},
		"a Greek letter among Latin ones":        {"victim@examp\u03bfle.com", true},
		"a Cyrillic letter in a part of a local": {"ann.lee+\u0430@example.com", true},
		"Cyrillic letters that look like Latin":  {"\u0440\u0430\u0443\u0440\u0430@example.com", true},
		"the same in a label":                    {"ann@\u0430\u0440\u0440\u04cf\u0435.com", true},
		"Greek capitals that look like Latin":    {"\u03a4\u039f\u039c@example.com", true},
		"letters with marks":                     {"jürgen.ångström.ñoñó.đặng.łuk@example.com", false},
		"distinct letters":                       {"straße.søren.þór@exæmple.com", false},
		"a capital I with a dot":                 {"\u0130lker@example.com", false},
		"Cyrillic":                               {"почта@пример.рф", false},
		"Cyrillic in the local part only":        {"почта-2@example.com", false},
		"Greek":                                  {"χρήστης@παράδειγμα.ελ", false},
		"Japanese":                               {"たなか・タロー太郎@例え.テスト", false},
		"Korean":                                 {"김hong洪@example.com", false},
		"Arabic":                                 {"مثال@موقع.وزارة", false},
		"Hindi":                                  {"संपर्क@डाटामेल.भारत", false},
		"Hebrew":                                 {"דוגמה@example.com", false},
		"an emoji":                               {"\U0001f600@example.com", false},
		"the owner of a single machine":          {"owner@localhost", false},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			provedEmail := tt.email
			if tt.deceptive {
				want, provedEmail = []string{"/email invalid_format"}, ""
			}
			_, err := account.NewUser(system, tt.email, "", false)
			assert.EqualSlice(t, "a new account: wrong", wrongFields(t, err), want)
			_, _, err = acme().Invite(person("admin"), tt.email, identity.Viewer, "", nil)
			assert.EqualSlice(t, "an invitation: wrong", wrongFields(t, err), want)
			claims := account.Claims{Issuer: "https://issuer", Email: tt.email, EmailVerified: true}
			assert.Equal(t, "a token proves", claims.EmailFor(org), provedEmail)
		})
	}
}
