package prompt

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestUnsupportedSyntax(t *testing.T) {
	deep := strings.Repeat("{{#a}}", mustache.MaxNesting+1) + strings.Repeat("{{/a}}", mustache.MaxNesting+1)
	for text, want := range map[string]string{
		"{{> /etc/hostname}}":             "must name a prompt",
		"{{>/etc/hostname}}":              "must name a prompt",
		"{{ > /etc/hostname }}":           "must name a prompt",
		"{{\n>\n/etc/hostname\n}}":        "must name a prompt",
		"{{> x@latest}}":                  "must be active, a label",
		"{{> x@no label}}":                "must be active, a label",
		"{{>}}":                           "must name a prompt",
		"\n\n{{#a}}{{> /x}}{{/a}}":        "Line 3: an include",
		"{{#a}}\n  {{> /x}}\n{{/a}}":      "Line 2: an include",
		"{{! c }}{{> /x}}":                "an include",
		"{{=<% %>=}}<%> /etc/hostname %>": "must name a prompt",
		"{{= | | =}}|> /etc/hostname|":    "must name a prompt",
		"{{=}}":                           "not closed",
		"{{==}}":                          "delimiters",
		"{{=<%=}}":                        "delimiters",
		"{{=< % >=}}":                     "delimiters",
		"{{=<= =>=}}":                     "delimiters",
		"{{= | | }}":                      "not closed",
		"{{ = | | }}":                     "delimiters",
		"{{=" + strings.Repeat("<", 17) + " >=}}": "delimiters",
		"{{=| |=}}|#a|{{/a}}":                     "the section is not closed",
		"{{=| |=}}|.|":                            "inside a section",
		"{{<parent}}{{/parent}}":                  "parents",
		"{{$block}}{{/block}}":                    "parents",
		"{{&> x}}":                                "name",
		"{{{> /etc/hostname}}}":                   "name",
		"{{#> x}}{{/> x}}":                        "name",
		"{{^> x}}{{/> x}}":                        "name",
		"{{{{> x}}}}":                             "name",
		"{{\ufeff> x}}":                           "name",
		"{{\x7f> x}}":                             "name",
		"{{}}":                                    "name",
		"{{ }}":                                   "name",
		"{{first name}}":                          "name",
		`{{"a": 1}}`:                              "name",
		"{{a..b}}":                                "name",
		"{{a.}}":                                  "name",
		"{{" + strings.Repeat("a", 65) + "}}":     "name",
		"{{a" + strings.Repeat(".b", 128) + "}}":  "name",
		"{{.}}":                                   "inside a section",
		"{{^a}}{{.}}{{/a}}":                       "inside a section",
		"{{#.}}{{/.}}":                            "inside a section",
		"{{#a}}{{/a}}{{.}}":                       "inside a section",
		"{{a":                                     "not closed",
		"{{a}":                                    "not closed",
		"{{{a}}":                                  "not closed",
		"{{ {a}}":                                 "not closed",
		"{{":                                      "not closed",
		"{{! c":                                   "not closed",
		"\n{{#a}}\n":                              "Line 2: the section is not closed",
		"{{#a}}{{#b}}{{/a}}{{/b}}":                "closing tag",
		"{{/a}}":                                  "closing tag",
		"{{#a}}{{/a}}{{/a}}":                      "closing tag",
		deep:                                      "nested",
		strings.Repeat("{{#a}}", MaxTextBytes/6):  "nested",
		strings.Repeat("{{{", MaxTextBytes/3):     "not closed",
		strings.Repeat("{", MaxTextBytes-1):       "not closed",
		strings.Repeat("{{^a}}{{/a}}", 20000) + "{{>}}": "must name a prompt",
	} {
		name := text
		if len(name) > 40 {
			name = name[:40] + "…"
		}
		t.Run(name, func(t *testing.T) {
			for pointer, c := range map[string]Content{"/text": {Text: text},
				"/messages/1/content": {Messages: []Message{says("x"), says(text)}}} {
				kind := Text
				if c.Text == "" {
					kind = Chat
				}
				_, err := c.checked(kind, false)
				if got := complaint(t, err); !slices.Equal(got,
					[]string{"unsupported_syntax", pointer + " unsupported_syntax"}) {
					t.Fatalf("error = %q", got)
				}
				var f *fault.Error
				if errors.As(err, &f); !strings.Contains(f.Fields[0].Detail, want) ||
					!strings.HasPrefix(f.Fields[0].Detail, "Line ") {
					t.Errorf("detail = %q, want %q", f.Fields[0].Detail, want)
				}
				c.Format = Mustache
				if _, err := c.Render(nil, Strict); !errors.Is(err, ErrUnsupportedSyntax) {
					t.Errorf("Render = %v", err)
				}
			}
		})
	}
	t.Run("as deep as may be", func(t *testing.T) {
		text := strings.Repeat("{{#a}}", mustache.MaxNesting) + strings.Repeat("{{/a}}", mustache.MaxNesting)
		if _, err := (Content{Text: text}).checked(Text, false); err != nil {
			t.Error(err)
		}
	})
	t.Run("one complaint for each text", func(t *testing.T) {
		_, err := (Content{Messages: []Message{says("{{> /x}}{{> /y}}"), says("x"), says("{{")}}).checked(Chat, false)
		want := []string{"unsupported_syntax", "/messages/0/content unsupported_syntax",
			"/messages/2/content unsupported_syntax"}
		assert.EqualSlice(t, "complaint", complaint(t, err), want)
	})
}
