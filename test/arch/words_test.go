package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// privateEnglish matches the words and phrases that docs/style.md replaces: they made readers stop.
var privateEnglish = regexp.MustCompile(
	`(?i)\banew\b|\bwhom\b|\bwhoever\b|\bsees? to\b|\bby then\b|\bstands? there\b|\bTakes an? |\banswers (how|what|whether|which|the|a|an|for|with)\b`)

// partsOfPrivateEnglish has one part of each match: the expression itself is slow to apply to all texts.
var partsOfPrivateEnglish = []string{"anew", "whom", "whoever", "see to", "sees to", "by then", "stand there",
	"stands there", "takes a", "answers "}

// detours matches phrases for which a reader has to look back; docs/style.md has what to write instead.
var detours = regexp.MustCompile(`(?i)\b(that|those)\s+of\b|\bif\s+there\s+(is|are)\s+none\b|\bmeanwhile\b|` +
	`\balso\s+(if|when)\b|\bthe\s+ones?\s+before\b`)

// TestDocumentsAndCommentsTakeNoDetours reads the documents, and the comments of the program except for the store.
func TestDocumentsAndCommentsTakeNoDetours(t *testing.T) {
	program := regexp.MustCompile(`^(domain|ports|application|adapters|configs|cmd)/`)
	check := func(name, text string, line int) {
		for _, span := range detours.FindAllStringIndex(text, -1) {
			t.Errorf("%s:%d: %q; see docs/style.md", name, line+strings.Count(text[:span[0]], "\n"),
				text[span[0]:span[1]])
		}
	}
	for _, s := range sources(t) {
		if s.test() || s.generated() || !program.MatchString(s.path) || strings.HasPrefix(s.path,
			"adapters/sqlstore/") {
			continue
		}
		for _, comment := range s.file.Comments {
			check(s.path, comment.Text(), s.line(comment.Pos()))
		}
	}
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "clients/*/*.md", "examples/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			name = filepath.ToSlash(name)
			if !slices.Contains([]string{"docs/style.md", "docs/licenses.md", "CHANGELOG.md"}, name) {
				check(name, readDocument(t, name), 1)
			}
		}
	}
}

// TestCommentsUseCompoundNouns counts chains such as "the shares of a user" in the comments of the program except for
// the store: "a user's shares" reads faster. They may only become fewer.
func TestCommentsUseCompoundNouns(t *testing.T) {
	const limit = 30 // in 10,000 words
	layers, chain := regexp.MustCompile(`^(domain|ports|application|adapters|configs|cmd)/`),
		regexp.MustCompile(`(?i)\bof\s+an?\s`)
	words, chains := 0, 0
	for _, s := range sources(t) {
		if s.test() || s.generated() || !layers.MatchString(s.path) || strings.HasPrefix(s.path, "ports/mocks/") ||
			strings.HasPrefix(s.path, "adapters/sqlstore/") {
			continue
		}
		for _, comment := range s.file.Comments {
			words += len(strings.Fields(comment.Text()))
			chains += len(chain.FindAllString(comment.Text(), -1))
		}
	}
	rate := chains * 10_000 / words
	t.Logf("%d of 10,000 words of comments begin a chain with \"of a\"", rate)
	if rate > limit {
		t.Errorf("%d of 10,000 words begin a chain with \"of a\", more than %d: see docs/style.md", rate, limit)
	}
}

// TestTextsUseThePlainWordsOfTheStyleGuide reads every text of the repository. What customers read has none of these
// words; Go code, tests included, has fewer than one in a thousand lines.
func TestTextsUseThePlainWordsOfTheStyleGuide(t *testing.T) {
	root := filepath.Join("..", "..")
	lines, found := 0, 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if base := entry.Name(); path != root && (base[0] == '.' || base == "testdata" || base == "mocks" ||
				base == "node_modules" || base == "released") {
				return filepath.SkipDir
			}
			return nil
		}
		customers, code := isForCustomers(name), filepath.Ext(name) == ".go"
		if (!customers && !code) || strings.Contains(name, ".gen.") || name == "docs/style.md" ||
			name == "test/arch/words_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if code {
			lines += bytes.Count(text, []byte("\n"))
		}
		if lower := bytes.ToLower(text); !slices.ContainsFunc(partsOfPrivateEnglish,
			func(part string) bool { return bytes.Contains(lower, []byte(part)) }) {
			return nil
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			switch word := privateEnglish.FindString(line); {
			case word == "":
			case customers:
				t.Errorf("%s:%d: %q is not plain English; see docs/style.md", name, number, word)
			default:
				found++
				t.Logf("%s:%d: %q", name, number, word)
			}
		}
		return nil
	})
	require.NoError(t, err)
	if limit := lines / 1000; found > limit {
		t.Errorf("%d of %d lines of Go have words that docs/style.md replaces, more than %d", found, lines, limit)
	}
}

// isForCustomers reports whether customers read a file: the contract, the documentation, the example configuration, the
// command line and the pages of the server.
func isForCustomers(name string) bool {
	switch {
	case strings.HasPrefix(name, "docs/"), strings.HasPrefix(name, "deploy/"), strings.HasSuffix(name, "openapi.yaml"),
		strings.Contains(name, "openapi/spec/"), name == "configs/atrium.example.yaml":
		return true
	case strings.HasPrefix(name, "cmd/") && !strings.HasSuffix(name, "_test.go"):
		return true
	default:
		return filepath.Ext(name) == ".md" && !strings.Contains(name, "/")
	}
}
