package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// distFolder is the committed console.
const distFolder = "web/dist"

// sourcesFile has the fingerprint of the sources that it was built from.
const sourcesFile = distFolder + "/sources.txt"

// fingerprint returns a hash of everything that the console is built from. root is the folder of the repository.
func fingerprint(root string) (string, error) {
	var names []string
	for _, of := range []string{"web/src", "web/public", "clients/typescript/src"} {
		err := filepath.WalkDir(filepath.Join(root, of), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	for _, name := range []string{"index.html", "package-lock.json", "tsconfig.json", "vite.config.ts"} {
		names = append(names, filepath.Join(root, "web", name))
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name) //nolint:gosec // a file of the repository
		if err != nil {
			return "", err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return "", err
		}
		plain := strings.ReplaceAll(string(text), "\r\n", "\n")
		fmt.Fprintf(all, "%s %d\n%s", filepath.ToSlash(relative), len(text), plain)
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
