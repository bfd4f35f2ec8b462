// Command openapi joins the parts of the contract into one OpenAPI document, and adds what follows from the rest:
// the error responses of each operation, the headers and the examples of its successes. It writes the document as
// YAML, which people and linters read, and as JSON, which the binary serves. What the binary checks requests by is a
// third file, which is smaller.
//
//	go run ./tools/openapi spec openapi.yaml openapi.gen.json checks.gen.json
//
// docs/adr/0003-write-the-contract-by-hand.md describes the short forms that the parts use.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: openapi FOLDER TO.yaml TO.json CHECKS.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

// run joins the parts of the contract, the general part first, and writes it as YAML, JSON and the server's checks.
func run(folder, toYAML, toJSONFile, toChecks string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	// The general part comes first: it has the title and the description of the document.
	slices.SortStableFunc(files, func(a, b string) int {
		return cmp.Compare(rank(a), rank(b))
	})
	var parts []part
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the caller names the folder
		if err != nil {
			return err
		}
		parts = append(parts, part{name: file, text: text})
	}
	document, err := join(parts)
	if err == nil {
		err = expand(document)
	}
	if err == nil {
		err = expandEvents(document)
	}
	if err != nil {
		return err
	}
	asYAML, err := encode(document)
	if err != nil {
		return err
	}
	asJSON, err := toJSON(document)
	if err != nil {
		return err
	}
	forChecks, err := checks(asJSON)
	if err != nil {
		return err
	}
	return errors.Join(write(toYAML, asYAML), write(toJSONFile, asJSON), write(toChecks, forChecks))
}

func rank(file string) int {
	if filepath.Base(file) == "components.yaml" {
		return 0
	}
	return 1
}

func write(file string, text []byte) error {
	return os.WriteFile(file, text, 0o644) //nolint:gosec // a source file like the others
}

const generated = "# Code generated from spec/*.yaml by tools/openapi. DO NOT EDIT.\n"

func encode(document *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(generated)
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close()
}
