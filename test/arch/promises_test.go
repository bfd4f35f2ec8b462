package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestEachPromiseOfAGuideHasATest compares guides with tables in the folder promises: a line for the beginning of a
// sentence and the tests of it, and of the sentences up to the next line. Each paragraph, point and row of a table has
// a line, in the order of the guide. A hyphen stands for text that promises nothing.
func TestEachPromiseOfAGuideHasATest(t *testing.T) {
	tables, err := filepath.Glob(filepath.Join("promises", "*.tsv"))
	require.NoError(t, err)
	require.That(t, len(tables) > 0, "there is no table")
	for _, table := range tables {
		guide := strings.TrimSuffix(filepath.Base(table), ".tsv") + ".md"
		t.Run(guide, func(t *testing.T) {
			text, err := os.ReadFile(table)
			require.NoError(t, err)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			for _, paragraph := range paragraphs(readDocument(t, filepath.Join("docs", guide))) {
				lines = promisesOf(t, paragraph, lines)
			}
			for _, line := range lines {
				t.Errorf("the guide does not say: %s", line)
			}
		})
	}
}

// promisesOf takes a paragraph's lines. The paragraph begins with the first one. It returns the rest.
func promisesOf(t *testing.T, paragraph string, lines []string) []string {
	t.Helper()
	for end := 0; len(lines) > 0; lines = lines[1:] {
		fields := strings.Split(lines[0], "\t")
		start := end + strings.Index(paragraph[end:], fields[0])
		if start < end || (end == 0 && start > 0) {
			assert.That(t, end > 0, "no line says which tests there are of: %s", paragraph)
			return lines
		}
		isBeginning := start == 0 || endOfSentence.MatchString(paragraph[:start])
		assert.That(t, isBeginning && len(fields) > 1, "%q is no beginning of a sentence with its tests", fields[0])
		for _, name := range fields[1:] {
			assert.That(t, name == "-" || hasTest(t, name), "%s: there is no test %s", fields[0], name)
		}
		end = start + len(fields[0])
	}
	return nil
}

var (
	endOfSentence = regexp.MustCompile(`[.:)]\*{0,2} $`)
	block         = regexp.MustCompile("(?ms)^```.*?^```$")
	beginsBlock   = regexp.MustCompile(`^([-#]|\|[^-]|\|-)`)
)

// paragraphs returns a document's paragraphs, points and rows, each as one line, without headings, samples
// and what separates the rows.
func paragraphs(document string) (all []string) {
	current := ""
	flush := func() {
		if current != "" && !strings.HasPrefix(current, "#") && !strings.HasPrefix(current, "|-") {
			all = append(all, current)
		}
		current = ""
	}
	for line := range strings.SplitSeq(block.ReplaceAllString(document, ""), "\n") {
		if line == "" || beginsBlock.MatchString(line) {
			flush()
		}
		current = strings.TrimSpace(current + " " + strings.TrimSpace(line))
	}
	flush()
	return all
}

// hasTest reports whether there is a test: its folder, a colon, its function and perhaps the name of a part of it.
func hasTest(t *testing.T, name string) bool {
	t.Helper()
	folder, rest, _ := strings.Cut(name, ":")
	function, part, hasPart := strings.Cut(rest, "/")
	for _, f := range functionsOf(t, filepath.FromSlash(folder)) {
		if f.Name.Name != function {
			continue
		}
		isFound := !hasPart
		ast.Inspect(f, func(n ast.Node) bool {
			literal, isLiteral := n.(*ast.BasicLit)
			if isLiteral && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				isFound = isFound || text == part
			}
			return true
		})
		return isFound
	}
	return false
}

// parsed are the functions of folders, by functionsOf.
var parsed = map[string][]*ast.FuncDecl{}

// functionsOf returns the functions in a folder of the repository.
func functionsOf(t *testing.T, folder string) (all []*ast.FuncDecl) {
	t.Helper()
	if all = parsed[folder]; all != nil {
		return all
	}
	defer func() { parsed[folder] = all }()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, isFunction := d.(*ast.FuncDecl); isFunction && f.Recv == nil {
				all = append(all, f)
			}
		}
	}
	return all
}
