package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	unsaid  = regexp.MustCompile(`[^\p{L}\p{N} _-]`) // what GitHub leaves out of a heading's anchor
)

// TestLinksOfDocumentsLeadSomewhere follows every link from one file of the repository to another, and
// to a heading in it.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	followedCount := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if (path != root && strings.HasPrefix(entry.Name(), ".")) || entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			followedCount++
			destination := path
			if target != "" {
				destination = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(destination); err != nil {
				t.Errorf("%s: %s leads nowhere", path, found[1])
				continue
			}
			if anchor != "" && !anchors(t, destination)[anchor] {
				t.Errorf("%s: %s names no heading", path, found[1])
			}
		}
		return nil
	})
	require.NoError(t, err)
	if followedCount == 0 {
		t.Error("there are no links")
	}
}

func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		all[strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return all
}

var (
	quotedPath = regexp.MustCompile("`((?:domain|ports|application|adapters|cmd|configs|test|tools|web|docs|deploy|clients|" +
		"examples)/[\\w./-]*)`")
	mediaType = regexp.MustCompile(`^application/(json|zip|x-|vnd|problem|merge|cloudevents)`)
)

// TestPathsInDocumentsExist looks up each path of the repository that a document quotes.
func TestPathsInDocumentsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		documents, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		require.NoError(t, err)
		for _, document := range documents {
			if filepath.Base(document) == "CHANGELOG.md" {
				continue
			}
			text, err := os.ReadFile(document)
			require.NoError(t, err)
			for _, quotes := range quotedPath.FindAllStringSubmatch(string(text), -1) {
				if mediaType.MatchString(quotes[1]) {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(quotes[1]))); err != nil {
					t.Errorf("%s: %s does not exist", document, quotes[1])
				}
			}
		}
	}
}
