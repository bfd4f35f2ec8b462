package arch

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

var fieldCode = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// A rule of the domain names what is wrong with a field by a code. A code that the contract does not list is found
// otherwise only by a request at random that breaks the rule.
func TestTheContractListsEachCodeOfAnInvalidField(t *testing.T) {
	text, err := os.ReadFile("../../adapters/rest/openapi/openapi.gen.json")
	require.NoError(t, err)
	var contract struct {
		Codes map[string]string `json:"x-field-codes"`
	}
	require.NoError(t, json.Unmarshal(text, &contract))
	count := 0
	for _, folder := range []string{"../../domain", "../../application"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if code, ok := codeOf(n); ok {
					if count++; contract.Codes[code] == "" {
						t.Errorf("%s: x-field-codes does not list %s", path, code)
					}
				}
				return true
			})
			return nil
		}))
	}
	if count == 0 {
		t.Error("no code was found")
	}
}

// codeOf returns the code of a call such as errs.Add("/name", "required", "Must be given.").
func codeOf(n ast.Node) (code string, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) != 3 {
		return "", false
	}
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	literal, isLiteral := call.Args[1].(*ast.BasicLit)
	if !isMethod || !isLiteral || method.Sel.Name != "Add" || literal.Kind != token.STRING {
		return "", false
	}
	code, err := strconv.Unquote(literal.Value)
	return code, err == nil && fieldCode.MatchString(code)
}
