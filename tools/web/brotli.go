package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"
)

// leastBytes is the size from which a file has a compressed form beside it. Smaller ones are one packet in any form.
const leastBytes = 1000

// compress writes a compressed form beside each file of a built console, name.br for name, except its page, which has
// parts that differ for each request. The server has no code to compress them itself.
func compress(dist string) error {
	return filepath.WalkDir(dist, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".br") || entry.Name() == "index.html" {
			return err
		}
		plain, err := os.ReadFile(name) //nolint:gosec // a file of the repository
		if err != nil || len(plain) < leastBytes {
			return err
		}
		var out bytes.Buffer
		w := brotli.NewWriterLevel(&out, brotli.BestCompression)
		if _, err = w.Write(plain); err == nil {
			err = w.Close()
		}
		if err != nil || out.Len() >= len(plain) {
			return err
		}
		return os.WriteFile(name+".br", out.Bytes(), 0o644) //nolint:gosec // a source file like the others
	})
}
