// Command contract checks openapi.yaml against the rules of a linter, and against the last release's contract:
//
//	go -C tools/contract run .
//
// It has a module of its own, so that its dependencies are not those of the program.
package main

import (
	"context"
	"fmt"
	"os"
)

// Files, as they are named from the folder of this program.
const (
	document   = "../../adapters/rest/openapi/openapi.yaml"
	releases   = "../../adapters/rest/openapi/released"
	ruleset    = "lint.yaml"
	intentions = "intended.yaml"
)

func main() {
	complaints, err := check(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(2)
	}
	for _, c := range complaints {
		fmt.Fprintln(os.Stderr, c)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}

// check lints the contract and compares it with the released one. It returns complaints, and an error only if it could
// not check.
func check(ctx context.Context) ([]string, error) {
	now, err := os.ReadFile(document)
	if err != nil {
		return nil, err
	}
	complaints, err := lint(ctx, now)
	if err != nil {
		return nil, err
	}
	before, wrong, err := released()
	if err != nil || before == nil {
		return append(complaints, wrong...), err
	}
	broken, err := breaks(before, now)
	if err != nil {
		return nil, err
	}
	decided, err := readIntended(intentions)
	return append(append(complaints, wrong...), refused(broken, decided)...), err
}
