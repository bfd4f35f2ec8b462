// Command clients generates what differs between operations in the clients for TypeScript, Go and Python: types,
// methods with their documentation, and the list of problem codes. The rest of each client is written by hand.
//
//	go run ./tools/clients CONTRACT FOLDER SAMPLES
//
// CONTRACT is openapi.gen.json, FOLDER has the clients, and SAMPLES is the file for sample calls of each operation. The
// name of a method comes from x-sdk of its operation: promptTemplates.versions.activate. It is none for operations that
// are pages, or that only other systems call.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: clients CONTRACT FOLDER SAMPLES")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(contract, folder, samplesFile string) error {
	text, err := os.ReadFile(contract)
	if err != nil {
		return err
	}
	d, err := load(text)
	if err != nil {
		return err
	}
	files, err := generate(d)
	if err != nil {
		return err
	}
	shown, err := samples(d)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := write(filepath.Join(folder, filepath.FromSlash(name)), content); err != nil {
			return err
		}
	}
	return write(samplesFile, shown)
}

// write leaves a file alone that has the content already, so that builds and editors do not read it again.
func write(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(content) {
		return nil
	}
	return os.WriteFile(path, content, 0o644) //nolint:gosec // source code
}

// generate returns the generated files of the clients, by their paths in the folder of clients.
func generate(d *document) (map[string][]byte, error) {
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
