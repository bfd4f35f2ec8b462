package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// refusedNames are prepositions, adverbs, pronouns and verbs: as the name of a local they do not say what it is.
var refusedNames = wordSet(`about above across after again against along alone already also apart around as at away
	back be been before began begun behind being below beside besides between beyond both came did does down during
	each either enough even ever every few for forth from gave given gone got had has have having he held hence her
	here his how inside instead into is it its kept knew known laid later least led left less made many may mine more
	most much must near neither never no none nor not of off often on once onto only our outside over own per quite
	rather sent shall she should shown since so some soon spent still such taken than that their them then there these
	they this those through thus till to together told too toward twice under until up upon us used very wanted was
	we went were what when where whether which while who whole whom whose why will with within without would written
	wrong yet you`)

func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		words[word] = true
	}
	return words
}

// TestLocalsAndParametersAreNouns reads the names that are declared inside of functions. The pair of from and to stays,
// and in tests the pair of got and want.
func TestLocalsAndParametersAreNouns(t *testing.T) {
	all, participles, others := map[bool]int{}, map[bool]int{}, map[bool][]string{} // by whether the file is a test's
	for _, s := range sources(t) {
		if s.generated() || strings.HasPrefix(s.path, "ports/mocks/") {
			continue
		}
		for _, name := range localNames(s.file) {
			all[s.test()]++
			switch {
			case s.test() && name.text == "got":
			case refusedNames[name.text] && !name.inPair:
				others[s.test()] = append(others[s.test()], s.path+": "+name.text)
			case name.text == "now" && !name.isTime:
				t.Errorf("%s: now is for times", s.path)
			case isParticiple(name.text):
				participles[s.test()]++
			}
		}
	}
	for isTest, count := range all {
		limit := count * 12 / 1000
		t.Logf("tests %v: %d names, of which %d participles", isTest, count, participles[isTest])
		if bound := map[bool]int{true: count * 5 / 1000}[isTest]; len(others[isTest]) > bound {
			t.Errorf("tests %v: more than %d names are no nouns; see docs/style.md:\n%s", isTest, bound,
				strings.Join(others[isTest], "\n"))
		}
		if participles[isTest] > limit {
			t.Errorf("tests %v: %d names are participles, more than %d", isTest, participles[isTest], limit)
		}
	}
}

// isParticiple reports whether a name looks like a past participle.
func isParticiple(name string) bool {
	switch name {
	case "seed", "feed", "need", "speed", "embed":
		return false
	}
	return len(name) > 3 && strings.HasSuffix(name, "ed") && strings.ToLower(name) == name
}

// localName is a name that is declared inside of a function or in its signature.
type localName struct {
	text           string
	inPair, isTime bool
}

// localNames returns the parameters, results and variables of the functions of a file.
func localNames(f *ast.File) (names []localName) {
	for _, decl := range f.Decls {
		inDecl := namesIn(decl)
		hasFrom := slices.ContainsFunc(inDecl, func(n localName) bool { return n.text == "from" })
		for _, n := range inDecl {
			n.inPair = n.text == "from" || (n.text == "to" && hasFrom)
			names = append(names, n)
		}
	}
	return names
}

func namesIn(decl ast.Decl) (names []localName) {
	add := func(id *ast.Ident, isTime bool) {
		if id.Name != "_" {
			names = append(names, localName{text: id.Name, isTime: isTime})
		}
	}
	fields := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			kind := types.ExprString(field.Type)
			for _, id := range field.Names {
				add(id, strings.Contains(kind, "time.Time") || strings.Contains(kind, "Clock"))
			}
		}
	}
	variables := func(values []ast.Expr, list ...ast.Expr) {
		for i, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				add(id, len(values) != len(list) || looksLikeTime(values[i]))
			}
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			fields(n.Params)
			fields(n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				variables(n.Rhs, n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				variables(nil, n.Key, n.Value)
			}
		case *ast.DeclStmt:
			if decl, ok := n.Decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
				for _, spec := range decl.Specs {
					v, _ := spec.(*ast.ValueSpec)
					for _, id := range v.Names {
						add(id, v.Type == nil || strings.Contains(types.ExprString(v.Type), "time.Time"))
					}
				}
			}
		}
		return true
	})
	return names
}

// looksLikeTime reports whether an expression can be a time.
func looksLikeTime(e ast.Expr) bool {
	text := types.ExprString(e)
	for _, part := range []string{
		"time.", "now", "Now", "At", "clock", "Clock", "UTC", "correct", "start", "steady", "after(",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// TestConditionsWithBothOperatorsHaveParentheses finds && that stands beside || without parentheses.
func TestConditionsWithBothOperatorsHaveParentheses(t *testing.T) {
	for _, s := range sources(t) {
		if s.generated() {
			continue
		}
		for _, condition := range mixedConditions(s.file) {
			t.Errorf("%s: put parentheses around && in %s", s.path, condition)
		}
	}
}

func mixedConditions(f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.LOR {
			for _, operand := range []ast.Expr{b.X, b.Y} {
				if a, ok := operand.(*ast.BinaryExpr); ok && a.Op == token.LAND {
					found = append(found, types.ExprString(b))
				}
			}
		}
		return true
	})
	return found
}

// TestClosuresAssignAtMostOneOuterVariable checks production code: a closure that has several results returns them.
func TestClosuresAssignAtMostOneOuterVariable(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || s.generated() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncLit); ok {
				if names := outerAssignments(f); len(names) > 1 {
					t.Errorf("%s: a closure assigns %s", s.path, strings.Join(names, ", "))
				}
			}
			return true
		})
	}
}

// outerAssignments returns the variables that a closure assigns and does not declare.
func outerAssignments(f *ast.FuncLit) (names []string) {
	inner := map[string]bool{}
	for _, name := range localNames(&ast.File{Name: ast.NewIdent("x"), Decls: []ast.Decl{
		&ast.FuncDecl{Name: ast.NewIdent("f"), Type: f.Type, Body: f.Body}}}) {
		inner[name.text] = true
	}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" && !inner[id.Name] {
			inner[id.Name] = true
			names = append(names, id.Name)
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.IncDecStmt:
			add(n.X)
		}
		return true
	})
	return names
}

func TestNamesThatAreNoNounsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"at := 1; _ = at":                       1,
		"var wrong error; _ = wrong":            1,
		"for _, held := range x { _ = held }":   1,
		"_ = func(of int) {}":                   1,
		"_ = func(from, to int) {}":             0,
		"_ = func(to int) {}":                   1,
		"now := customer(); _ = now":            1,
		"now := time.Now(); _ = now":            0,
		"match, err := f(); _, _ = match, err":  0,
		"a.at = 1":                              0, // a field
		"from, to := f(); _, _ = from, to":      0,
		"_ = func(now time.Time) {}":            0,
		"_ = func(now *Customer) {}":            1,
		"with := 1; without := 2; use(without)": 2,
	} {
		t.Run(body, func(t *testing.T) {
			found := 0
			for _, name := range localNames(parse(t, "x.go", []byte("package x\nfunc f() { "+body+" }\n")).file) {
				if (refusedNames[name.text] && !name.inPair) || (name.text == "now" && !name.isTime) {
					found++
				}
			}
			assert.Equal(t, "found", found, want)
		})
	}
}

func TestOuterAssignmentsOfClosuresAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"func() { a, b = 1, 2 }":                  2,
		"func() { a++; a = 2 }":                   1,
		"func() { a := 1; a = 2; b = 3 }":         1,
		"func(a int) (b int) { a = 1; b = 2 }":    0,
		"func() { x.a = 1; y[0] = 2; _ = 3 }":     0,
		"func() { f(func() { a = 1; b = 2 }) }":   2,
		"func() { if a := 1; true { a = b(a) } }": 0,
	} {
		t.Run(body, func(t *testing.T) {
			var got []string
			ast.Inspect(parse(t, "x.go", []byte("package x\nvar v = "+body+"\n")).file, func(n ast.Node) bool {
				f, ok := n.(*ast.FuncLit)
				if ok && got == nil {
					got = outerAssignments(f)
				}
				return !ok
			})
			if len(got) != want {
				t.Errorf("found %q, want %d", got, want)
			}
		})
	}
}
