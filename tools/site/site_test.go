package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRelink(t *testing.T) {
	for text, want := range map[string]string{
		"[a](operating.md#back-up)":            "[a](operating.html#back-up)",
		"[a](adr/0001-record-decisions.md)":    "[a](adr/0001-record-decisions.html)",
		"[a](adr/README.md)":                   "[a](adr/decisions.html)",
		"[a](../deploy/nginx.conf)":            "[a](" + source + "deploy/nginx.conf)",
		"[a](../CHANGELOG.md)":                 "[a](changelog.html)",
		"[a](../clients/go/README.md)":         "[a](quickstart-go.html)",
		"[a](https://example.com/x.md)":        "[a](https://example.com/x.md)",
		"[a](#here) [b](mailto:a@example.com)": "[a](#here) [b](mailto:a@example.com)",
	} {
		if got := relink(text, "docs", "."); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	if got := relink("[a](../tour.md)", "docs/adr", "adr"); got != "[a](../tour.html)" {
		t.Error(got)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	site := t.TempDir()
	for name, text := range map[string]string{
		"index.html":   `<a href="a/b.html#here">x</a><a href="https://example.com">y</a><script src="s.js">`,
		"a/b.html":     `<h2 id="here">x</h2><a href="../index.html">x</a>`,
		"s.js":         ``,
		"broken.html":  `<a href="nowhere.html">x</a>`,
		"nothere.html": `<a href="a/b.html#there">x</a>`,
	} {
		path := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := checkLinks(site)
	if err == nil || strings.Count(err.Error(), "\n") != 1 ||
		!strings.Contains(err.Error(), "broken.html: nowhere.html leads nowhere") ||
		!strings.Contains(err.Error(), "nothere.html: a/b.html#there names no heading") {
		t.Error(err)
	}
}

func TestPagesOfProblemsAndSettings(t *testing.T) {
	pages, err := collect()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]page{}
	for _, p := range pages {
		found[p.path] = p
	}
	for path, want := range map[string]string{
		"_index.md":                    "workspace backend",
		"errors.md":                    "problems/malformed_json.html",
		"problems/malformed_json.md":   "status 400",
		"settings.md":                  "request_timeout: 30s",
		"quickstart.md":                "activate",
		"quickstart-go.md":             "atrium.New(",
		"quickstart-typescript.md":     "new Atrium(",
		"quickstart-python.md":         "from atrium import",
		"adr/0001-record-decisions.md": "",
	} {
		if p, ok := found[path]; !ok || !strings.Contains(p.text, want) || p.title == "" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}
