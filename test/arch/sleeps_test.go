package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// maxPauses is how many sleeps test/chaos and the browser tests may have together: they choose random moments for a
// failure, or pace a load or a typist. tools/bench may sleep too, as it generates load.
const maxPauses = 30

// sleepers are the other files that may sleep, with the reason.
var sleepers = map[string]string{
	"test/support/proof/proof.go":   "Poll is the only loop that waits for a condition",
	"test/support/fixture/proxy.go": "simulates a slow network",
}

// TestSleeps refuses time.Sleep in tests, except in function literals that are arguments of synctest.Test or of a
// function that calls it, and in functions that only such literals call: the clock is fake there, and nothing waits.
func TestSleeps(t *testing.T) {
	folders := map[string][]source{}
	for _, s := range sources(t) {
		if s.test() {
			folders[s.dir()] = append(folders[s.dir()], s)
		}
	}
	pauses, usedTexts := 0, map[string]bool{}
	for _, files := range folders {
		for s, positions := range sleepsOutside(files) {
			name := s.path[strings.LastIndex(s.path, "/")+1:]
			switch browser := strings.HasPrefix(name, "console_") || strings.HasPrefix(name, "firefox_"); {
			case s.dir() == "test/chaos", s.dir() == "test/e2e" && browser:
				pauses += len(positions)
			case sleepers[s.path] != "":
				usedTexts[s.path] = true
			default:
				for _, p := range positions {
					t.Errorf("%s:%d sleeps: wait for an event, or use proof.Eventually", s.path, s.line(p))
				}
			}
		}
	}
	if pauses > maxPauses {
		t.Errorf("test/chaos and the browser tests sleep in %d places, more than %d", pauses, maxPauses)
	}
	for path := range sleepers {
		if !usedTexts[path] {
			t.Errorf("%s does not sleep: take it off the list", path)
		}
	}
}

// place is where a name is used: in which function, and whether in a bubble of synctest.
type place struct {
	function string
	isBubble bool
}

// calls collects the functions of one folder, by their names. A function literal that is assigned to a name counts as
// a function.
type calls struct {
	starters  map[string]bool // functions that call synctest.Test
	uses      map[string][]place
	functions map[string]bool
	sleeps    map[source]map[token.Pos]place
}

// sleepsOutside returns where files of one folder sleep or receive from time.After outside of bubbles.
func sleepsOutside(files []source) map[source][]token.Pos {
	c := calls{map[string]bool{}, map[string][]place{}, map[string]bool{}, map[source]map[token.Pos]place{}}
	for _, s := range files {
		c.findStarters(s.file)
	}
	for _, s := range files {
		c.sleeps[s] = map[token.Pos]place{}
		for _, d := range s.file.Decls {
			c.visit(s, d, place{})
		}
	}
	bubbles := c.bubbles()
	foreign := map[source][]token.Pos{}
	for s, sleeps := range c.sleeps {
		for position, in := range sleeps {
			if !in.isBubble && !bubbles[in.function] {
				foreign[s] = append(foreign[s], position)
			}
		}
	}
	return foreign
}

// eachFunction calls visit for each function and each literal that has a name.
func eachFunction(f ast.Node, visit func(name string, body ast.Node)) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				visit(n.Name.Name, n.Body)
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[i].(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) && isLiteral(value) {
					visit(name.Name, value)
				}
			}
		}
		return true
	})
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.FuncLit)
	return ok
}

func (c *calls) findStarters(f *ast.File) {
	eachFunction(f, func(name string, body ast.Node) {
		ast.Inspect(body, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && isName(e, "synctest", "Test") && !strings.HasPrefix(name, "Test") {
				c.starters[name] = true
			}
			return true
		})
	})
}

// visit notes what n uses and where it sleeps.
func (c *calls) visit(s source, n ast.Node, in place) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				c.functions[n.Name.Name] = true
				c.visit(s, n.Body, place{n.Name.Name, in.isBubble})
			}
			return false
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 && isLiteral(n.Rhs[0]) {
				c.functions[name.Name] = true
				c.visit(s, n.Rhs[0], place{name.Name, in.isBubble})
				return false
			}
		case *ast.CallExpr:
			if name := callee(n); isName(n.Fun, "synctest", "Test") || c.starters[name] {
				c.uses[name] = append(c.uses[name], in)
				for _, argument := range n.Args {
					c.visit(s, argument, place{in.function, in.isBubble || isLiteral(argument)})
				}
				return false
			}
		case *ast.CommClause: // a case of a select may wait for a timer beside an event
			for _, statement := range n.Body {
				c.visit(s, statement, in)
			}
			return false
		case *ast.UnaryExpr:
			if call, ok := n.X.(*ast.CallExpr); ok && n.Op == token.ARROW && isName(call.Fun, "time", "After") {
				c.sleeps[s][n.Pos()] = in
			}
		case *ast.SelectorExpr:
			if isName(n, "time", "Sleep") {
				c.sleeps[s][n.Pos()] = in
			}
		case *ast.Ident:
			c.uses[n.Name] = append(c.uses[n.Name], in)
		}
		return true
	})
}

func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// bubbles returns the functions that are only used in bubbles, and in each other.
func (c *calls) bubbles() map[string]bool {
	bubbles := map[string]bool{}
	for name := range c.functions {
		bubbles[name] = len(c.uses[name]) > 0 && !strings.HasPrefix(name, "Test")
	}
	isOutside := func(p place) bool { return !p.isBubble && !bubbles[p.function] }
	for isChanged := true; isChanged; {
		isChanged = false
		for name := range c.functions {
			if bubbles[name] && slices.ContainsFunc(c.uses[name], isOutside) {
				bubbles[name], isChanged = false, true
			}
		}
	}
	return bubbles
}

func TestSleepsOutside(t *testing.T) {
	for body, want := range map[string]int{
		`func TestA(t *testing.T) { time.Sleep(1) }`:                                                 1,
		`func TestA(t *testing.T) { <-time.After(1) }`:                                               1,
		`func TestA(t *testing.T) { select { case <-time.After(1): } }`:                              0,
		`func TestA(t *testing.T) { synctest.Test(t, func(*testing.T) { time.Sleep(1) }) }`:          0,
		`func TestA(t *testing.T) { synctest.Test(t, func(*testing.T) { nap() }) }; ` + nap:          0,
		`func TestA(t *testing.T) { synctest.Test(t, func(*testing.T) { nap() }); nap() }; ` + nap:   1,
		`func TestA(t *testing.T) { nap := func() { time.Sleep(1) }; nap() }`:                        1,
		`func TestA(t *testing.T) { run(t, func() { time.Sleep(1) }) }; ` + run:                      0,
		`func TestA(t *testing.T) { run(t, nil); func() { time.Sleep(1) }() }; ` + run:               1,
		`func TestA(t *testing.T) { run(t, func() { nap() }) }; func TestB() { nap() };` + run + nap: 1,
	} {
		t.Run(body, func(t *testing.T) {
			found := 0
			s := parse(t, "x_test.go", []byte("package x\n"+body))
			for _, positions := range sleepsOutside([]source{s}) {
				found += len(positions)
			}
			assert.Equal(t, "sleeps", found, want)
		})
	}
}

const (
	nap = `func nap() { time.Sleep(1) };`
	run = `func run(t *testing.T, f func()) { synctest.Test(t, func(*testing.T) { f() }) };`
)
