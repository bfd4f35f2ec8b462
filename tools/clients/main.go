// Command clients generates what differs between operations in the clients for TypeScript, Go and Python: types,
// methods with their documentation, and the list of problem codes. The rest of each client is written by hand.
//
//	go run ./tools/clients CONTRACT FOLDER
//
// CONTRACT is openapi.gen.json, and FOLDER has the clients. The name of a method comes from x-sdk of its operation:
// promptTemplates.versions.activate. It is none for operations that are pages, or that only other systems call.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: clients CONTRACT FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(contract, folder string) error {
	text, err := os.ReadFile(contract)
	if err != nil {
		return err
	}
	files, err := generate(text)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if old, err := os.ReadFile(path); err == nil && string(old) == string(content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // source code
			return err
		}
	}
	return nil
}

// generate returns the generated files of the clients, by their paths in the folder of clients.
func generate(contract []byte) (map[string][]byte, error) {
	d, err := load(contract)
	if err != nil {
		return nil, err
	}
	golang, err := goFile(d)
	if err != nil {
		return nil, fmt.Errorf("go: %w", err)
	}
	return map[string][]byte{
		"typescript/src/api.gen.ts": tsFile(d),
		"go/api.gen.go":             golang,
		"python/atrium/_api_gen.py": pyFile(d),
	}, nil
}
