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
	testName    = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	testFunc    = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	asvsChapter = regexp.MustCompile(`(?m)^\| V(\d+) [^|]*\|([^|]*)\|([^|]*)\|$`)
)

// TestTheEvidenceOfTheSecurityPageExists finds every test that docs/security.md names, and a row with evidence for each
// of the 17 chapters of OWASP ASVS 5.0.
func TestTheEvidenceOfTheSecurityPageExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	require.NoError(t, err)
	tests := testsOfTheRepository(t)
	for _, name := range testName.FindAllStringSubmatch(string(text), -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
	rows := asvsChapter.FindAllStringSubmatch(string(text), -1)
	require.Equal(t, "chapters", len(rows), 17)
	for _, row := range rows {
		isAbsent := strings.Contains(row[3], "not part of Atrium")
		if isAbsent == testName.MatchString(row[2]) {
			t.Errorf("the evidence of chapter V%s is %q", row[1], row[2])
		}
	}
}

// testsOfTheRepository returns the names of all tests in Go.
func testsOfTheRepository(t *testing.T) map[string]bool {
	t.Helper()
	root, names := filepath.Join("..", ".."), map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[name[1]] = true
		}
		return err
	}))
	return names
}
