package google

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var sheetID = regexp.MustCompile(`^[A-Za-z0-9_-]{10,128}$`)

// FuzzParse looks for addresses that are taken for those of Google's and lead elsewhere, and for titles that
// leave the range which they are quoted in.
func FuzzParse(f *testing.F) {
	const good = "https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"
	for _, location := range []string{
		good, good + "/edit#gid=0", good + "/edit?gid=7#gid=8", good + "/export?format=csv", good + "/../../x",
		"https://docs.google.com/spreadsheets/u/1/d/1BxiMVs0XRA5nFMdKvBd",
		"https://docs.google.com@evil.example/spreadsheets/d/1BxiMVs0XRA5nFMdKvBd",
		"https://docs.google.com:443/spreadsheets/d/1BxiMVs0XRA5nFMdKvBd",
		"https://DOCS.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBd", "http" + good[5:],
		"https://docs.google.com/spreadsheets/d/%2e%2e%2fabcdefghijk",
		"https://docs.google.com/spreadsheets/d/e/2PACX/pub", good + "#%zz",
	} {
		f.Add(location, "People")
		f.Add(location, "it's 'quoted'!A1:Z9")
	}
	f.Fuzz(func(t *testing.T, location, title string) {
		if p, ok := parse(location); ok {
			u, err := url.Parse(location)
			if err != nil || u.Scheme != "https" || u.Host != "docs.google.com" || !sheetID.MatchString(p.sheet) ||
				strings.Trim(p.gid, "0123456789") != "" {
				t.Errorf("%q reads as %+v", location, p)
			}
		}
		if title == "" {
			return
		}
		rest, ok := strings.CutPrefix(a1(title, 1), "'")
		if !ok {
			t.Fatalf("%q is not quoted", title)
		}
		for { // up to the quote that is not doubled
			previous, next, found := strings.Cut(rest, "'")
			if _ = previous; !found {
				t.Fatalf("%q: the quote does not end", title)
			}
			if rest, ok = strings.CutPrefix(next, "'"); !ok {
				if !strings.HasPrefix(next, "!A1:") {
					t.Errorf("%q leaves its quotes: %q", title, next)
				}
				return
			}
		}
	})
}
