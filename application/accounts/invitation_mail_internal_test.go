package accounts

import (
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// link matches texts that some mail clients turn into links: a scheme, an address, a dotted name, a path.
var link = regexp.MustCompile(`[:/@\\%]|[^\s.]\.[^\s."]`)

func TestAMailAboutAnInvitationHoldsNoLinkButOurs(t *testing.T) {
	const url = "https://app.example.com/join/ati_x"
	for name, want := range map[string]string{
		"Acme": "Acme", "Ärzte & Söhne GmbH": "Ärzte & Söhne GmbH", "Dr. Who, Inc.": "Dr. Who, Inc.",
		"東京 チーム": "東京 チーム", "R&D (v2)": "R&D (v )", "O'Neil": "O'Neil",
		"Urgent: sign in at https://evil.example/login": "Urgent sign in at https evil example lo…",
		"evil.example":          "evil example",
		"www.evil.example.":     "www evil example.",
		"mailto:a@evil.example": "mailto a evil example",
		"\\\\evil\\share":       "evil share",
		"evil\u3002example \uff45vil\uff0eexample evil\u2024co": "evil example \uff45vil example evil co",
		"a\" b \u201cc\u201d <a href=x>":                        "a b c a href x",
		"tel:+1 800":                                            "tel",
		"\u202eevil\u2066":                                      "evil",
		"URGENT call 1 900 555 0199 ٠١٢ ５５ Ⅷ ① pay now!!":       "URGENT call pay now",
		"¡Hola! ！ ‼ ⁉":                                          "Hola",
		"a\u200bb\u2066c\x00d\u00ade\u061c":                     "a b c d e",
		strings.Repeat("ä", 40):                                 strings.Repeat("ä", 40),
		strings.Repeat("ä", 41):                                 strings.Repeat("ä", 39) + "…",
		"Name " + strings.Repeat("long ", 20):                   "Name long long long long long long long…",
		"...":                                                   ".", ". .": ". .", "https://": "https", "::": "",
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "harmless", naming.Harmless(name), want)
			m := invitationMail(&account.Invitation{Email: "ann@example.com"},
				&account.Workspace{Name: name, Slug: "acme"}, url)
			if m.To != "ann@example.com" || m.Subject != "You are invited to a workspace" ||
				strings.Count(m.Text, url) != 1 {
				t.Errorf("mail %+v", m)
			}
			if found := link.FindString(strings.Replace(strings.ReplaceAll(m.Text, "days:\n", ""), url, "",
				1)); found != "" {
				t.Errorf("it holds %q:\n%s", found, m.Text)
			}
			if !strings.Contains(m.Text, `"`+want+`"`) || strings.Count(m.Text, `"`) != 2 {
				t.Errorf("the name is not quoted:\n%s", m.Text)
			}
		})
	}
}
