package naming_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestNames(t *testing.T) {
	for s, strippedText := range map[string]string{
		"Ann":                        "",
		"Zoë Ärger":                  "",
		"用户 例子":                      "",
		"שלום עולם":                  "",
		"\u0645\u06cc\u200c\u062e":   "", // a non-joiner between Arabic letters
		"\U0001f468\u200d\U0001f469": "", // a family
		"\u2699\ufe0f Settings":      "",
		"1\ufe0f\u20e3 First":        "",
		"\U0001f44d\U0001f3fd":       "", // with a skin tone
		"invoice\u202efdp.exe":       "invoicefdp.exe",
		"\u2066Ann\u2069":            "Ann",
		"An\u200bn":                  "Ann",
		"An\u200dn":                  "Ann",
		"An\u200cn":                  "Ann",
		"Ann\ufeff":                  "Ann",
		"Ann\u00ad":                  "Ann",
		"Ann\ufe0f":                  "Ann",
		"Ann\u3164":                  "Ann",
		"Ann\u2028":                  "Ann",
		"Ann\x00":                    "Ann",
		"Ann\U000e0041":              "Ann",
		"\u200d\U0001f469":           "\U0001f469",
		"\u061cAnn":                  "Ann",
	} {
		deceptive := strippedText != ""
		if got := naming.Deceptive(s); got != deceptive {
			t.Errorf("Deceptive(%q) = %v", s, got)
		}
		if !deceptive {
			strippedText = s
		}
		if got := naming.Strip(s); got != strippedText {
			t.Errorf("Strip(%q) = %q", s, got)
		}
	}
	assert.Equal(t, "Normal", naming.Normal("A\u0308rger"), "Ärger")
}

func TestChanged(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, tt := range map[string]struct {
		old        string
		next, want *string
	}{
		"nothing":                         {"Ann", nil, nil},
		"the same":                        {"Ann", text("Ann"), nil},
		"another":                         {"Ann", text("A\u0308nn"), text("Änn")},
		"the same in another form":        {"Änn", text("A\u0308nn"), nil},
		"the same that is not composed":   {"A\u0308nn", text("A\u0308nn"), nil},
		"the composed form of what it is": {"A\u0308nn", text("Änn"), text("Änn")},
	} {
		got := naming.Changed(tt.old, tt.next)
		if (got == nil) != (tt.want == nil) || (got != nil && *got != *tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
