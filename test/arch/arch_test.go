// Package arch checks the architecture: which layers may import which, where an identity.Actor may be created, and that
// every store method has a parameter that says whose data it touches.
package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

const module = "github.com/atrium-hq/atrium/"

// source is one Go file; path is relative to the root of the repository.
type source struct {
	path  string
	file  *ast.File
	set   *token.FileSet
	lines int
}

func (s source) dir() string { return path.Dir(s.path) }
func (s source) test() bool {
	return strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.path, "test/")
}
func (s source) line(p token.Pos) int { return s.set.Position(p).Line }
func (s source) generated() bool      { return ast.IsGenerated(s.file) }

// sources reads every Go file of the module. The test reads them itself, so that the cache of test results notices a
// change.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := allSources()
	require.NoError(t, err)
	return all
}

// allSources parses once for all tests: with the race detector that takes seconds.
var allSources = sync.OnceValues(func() ([]source, error) {
	const root = "../.."
	var all []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch base := d.Name(); {
			case rel == ".":
			case strings.HasPrefix(base, "."), base == "testdata", base == "node_modules", rel == "tools", rel == "bin":
				return fs.SkipDir // not this module, or not code
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := read(filepath.ToSlash(rel), text)
		all = append(all, s)
		return err
	})
	if err == nil && len(all) < 10 {
		err = fmt.Errorf("only %d Go files found below %s", len(all), root)
	}
	return all, err
})

func read(name string, text []byte) (source, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments)
	return source{path: name, file: f, set: set, lines: bytes.Count(text, []byte("\n"))}, err
}

func parse(t *testing.T, name string, text []byte) source {
	t.Helper()
	s, err := read(name, text)
	require.NoError(t, err)
	return s
}

// interfaces calls visit for each method of each interface that is declared in f.
func interfaces(f *ast.File, visit func(name string, methods []*ast.Field)) {
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if i, ok := spec.Type.(*ast.InterfaceType); ok {
				visit(spec.Name.Name, i.Methods.List)
			}
		}
		return true
	})
}
