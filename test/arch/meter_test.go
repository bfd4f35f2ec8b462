package arch

import (
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestTheFiguresOfTheCode prints what the code is made of: make check shows it. It asserts only what must not grow.
func TestTheFiguresOfTheCode(t *testing.T) {
	var production, tests []int
	var longest string
	kinds := map[string]int{}
	documented, exported := 0, 0
	long, bare := 0, 0 // unexported functions of 15 lines and more, and those of them without a comment
	for _, s := range sources(t) {
		switch {
		case s.generated() || strings.HasPrefix(s.path, "ports/mocks/"):
			continue
		case s.test():
			tests = append(tests, s.lines)
			continue
		}
		production = append(production, s.lines)
		for _, decl := range s.file.Decls {
			for kind, number := range declared(decl) {
				kinds[kind] += number
			}
			f, isFunction := decl.(*ast.FuncDecl)
			switch {
			case isFunction && f.Name.IsExported():
				exported++
				if f.Doc != nil {
					documented++
				}
			case isFunction && s.line(f.End())-s.line(f.Pos()) >= 14:
				long++
				if f.Doc == nil {
					bare++
				}
			}
		}
		for _, name := range localNames(s.file) {
			kinds["locals and parameters"]++
			if refusedNames[name.text] && !name.inPair {
				kinds["locals that are no nouns"]++
			}
			if isParticiple(name.text) {
				kinds["locals that are participles"]++
			}
		}
		if s.lines == slices.Max(production) {
			longest = s.path
		}
	}
	lines := functionLines(t)
	t.Logf("production: %d files, %d lines, the longest %d (%s)", len(production), sum(production),
		slices.Max(production), longest)
	t.Logf("tests: %d files, %d lines", len(tests), sum(tests))
	t.Logf("functions: %d, half within %d lines, 99 %% within %d, the longest %d", len(lines), lines[len(lines)/2],
		lines[len(lines)*99/100], lines[len(lines)-1])
	t.Logf("exported functions with a comment: %.1f %%", 100*float64(documented)/float64(exported))
	t.Logf("unexported functions of 15 lines and more: %d, %d without a comment", long, bare)
	if bare*100 > long*8 {
		t.Errorf("%d of %d long functions have no comment, more than 8 %%: say what they do or why", bare, long)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("declared %s: %d", kind, kinds[kind])
	}
	// As many arrows up as there are; they may only become fewer.
	for folder, most := range map[string]int{"adapters/rest": 15, "adapters/sqlstore": 2} {
		packages, arrows, up := arrowsBetweenFiles(t, folder)
		t.Logf("%s: %d packages; %d arrows between the files of a package, %d of them up", folder, packages, arrows, up)
		if up > most {
			t.Errorf("%s has %d arrows up, more than %d: move what two files use into a third one", folder, up, most)
		}
	}
}

func TestArrowsUpAreCounted(t *testing.T) {
	for text, want := range map[string]int{
		"a b, b c":           0,
		"a b, b c, a c":      0,
		"a b, b a":           1,
		"a b, b c, c a":      1,
		"a b, a c, b c, c a": 1,
		"a b, b a, b c, c b": 2,
		"":                   0,
	} {
		var arrows []arrow
		for pair := range strings.SplitSeq(text, ", ") {
			if from, target, ok := strings.Cut(pair, " "); ok {
				arrows = append(arrows, arrow{from, target})
			}
		}
		assert.Equal(t, text+": against", against(arrows), want)
	}
}

func TestAFieldIsNoArrowToAMethodOfItsName(t *testing.T) {
	method := parse(t, "method.go", []byte("package p\ntype t struct{}\nfunc (t) Owner() {}"))
	for text, want := range map[string]int{
		"package p\nfunc f(w struct{ Owner string }) string { return w.Owner }": 0,
		"package p\nfunc f(w interface{ Owner() }) { w.Owner() }":               1,
	} {
		if got := arrowsIn([]source{method, parse(t, "user.go", []byte(text))}); len(got) != want {
			t.Errorf("%s: %v, want %d", text, got, want)
		}
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// declared counts what a declaration of a package declares, by kind.
func declared(decl ast.Decl) map[string]int {
	kinds := map[string]int{}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			kinds["methods"]++
		} else {
			kinds["functions"]++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				kinds["types"]++
			case *ast.ValueSpec:
				kinds[map[token.Token]string{token.CONST: "constants", token.VAR: "variables"}[d.Tok]] += len(s.Names)
			}
		}
	}
	return kinds
}

// functionLines returns the lengths of the production functions, the shortest first.
func functionLines(t *testing.T) (lines []int) {
	t.Helper()
	for _, s := range sources(t) {
		if s.test() || s.generated() {
			continue
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				lines = append(lines, s.line(f.End())-s.line(f.Pos())+1)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// arrow says that one file uses what another file of its package declares.
type arrow struct{ from, to string }

// arrowsBetweenFiles counts, in all packages below a folder, which file uses which other, and how many of these arrows
// point up: against the order of the files that has the fewest such.
func arrowsBetweenFiles(t *testing.T, folder string) (packages, arrows, up int) {
	t.Helper()
	byDir := map[string][]source{}
	for _, s := range sources(t) {
		if !s.test() && !s.generated() && (s.dir() == folder || strings.HasPrefix(s.dir(), folder+"/")) {
			byDir[s.dir()] = append(byDir[s.dir()], s)
		}
	}
	for _, files := range byDir {
		found := arrowsIn(files)
		arrows += len(found)
		up += against(found)
	}
	return len(byDir), arrows, up
}

// arrowsIn returns the arrows between the files of a package. Of methods it sees those whose name no other type of the
// package has, where they are called: fields of other packages have the same names.
func arrowsIn(files []source) []arrow {
	owner := map[string]string{}
	for _, s := range files {
		for _, decl := range s.file.Decls {
			for _, name := range namesDeclared(decl) {
				if _, again := owner[name]; again && strings.HasPrefix(name, ".") {
					owner[name] = ""
				} else {
					owner[name] = s.path
				}
			}
		}
	}
	found := map[arrow]bool{}
	for _, s := range files {
		for _, decl := range s.file.Decls {
			for name := range namesUsed(decl) {
				if target := owner[name]; target != "" && target != s.path {
					found[arrow{s.path, target}] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// namesUsed returns the names in a declaration that can be names of its package.
func namesUsed(decl ast.Decl) map[string]bool {
	used, other := map[string]bool{}, map[*ast.Ident]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			other[n.Sel] = true
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok {
				used["."+method.Sel.Name] = true
			}
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				other[id] = true
			}
		case *ast.Field:
			for _, id := range n.Names {
				other[id] = true
			}
		case *ast.Ident:
			if !other[n] {
				used[n.Name] = true
			}
		}
		return true
	})
	for _, local := range namesIn(decl) {
		delete(used, local.text)
	}
	return used
}

// against returns how many arrows point up in an order of the files in which few do: a file whose arrows mostly leave
// comes first.
func against(arrows []arrow) (up int) {
	rest := slices.Clone(arrows)
	for len(rest) > 0 {
		degrees := map[string]int{}
		leaving, arriving := map[string]bool{}, map[string]bool{}
		for _, a := range rest {
			degrees[a.from]++
			degrees[a.to]--
			leaving[a.from], arriving[a.to] = true, true
		}
		// A file with arrows in one direction only costs nothing; of the others, the one with the largest surplus.
		next := slices.MaxFunc(slices.Sorted(maps.Keys(degrees)), func(a, b string) int {
			aFree, bFree := leaving[a] != arriving[a], leaving[b] != arriving[b]
			switch {
			case aFree && !bFree:
				return 1
			case bFree && !aFree:
				return -1
			}
			return cmp.Compare(degrees[a], degrees[b])
		})
		isLast := !leaving[next]
		rest = slices.DeleteFunc(rest, func(a arrow) bool {
			if a.to == next && !isLast {
				up++
			}
			return a.from == next || a.to == next
		})
	}
	return up
}

func namesDeclared(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		return []string{"." + d.Name.Name}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.Name != "_" {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return names
}
