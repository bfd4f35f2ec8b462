package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheCommittedConsoleIsBuiltFromItsSources(t *testing.T) {
	want, err := fingerprint("../..")
	require.NoError(t, err)
	got, err := os.ReadFile("../../" + sourcesFile)
	require.NoError(t, err)
	if strings.TrimSpace(string(got)) != want {
		t.Error("web/dist is out of date: run .ci/run web")
	}
}

func TestTheCommittedCompressedFilesAreThoseBesideThem(t *testing.T) {
	compressedCount := 0
	err := filepath.WalkDir("../../"+distFolder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		base, isCompressed := strings.CutSuffix(name, ".br")
		if !isCompressed {
			if filepath.Ext(name) == ".js" && size(t, name) >= leastBytes {
				size(t, name+".br")
			}
			return nil
		}
		compressedCount++
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		text, err := io.ReadAll(brotli.NewReader(file))
		if err != nil {
			return err
		}
		if plain, err := os.ReadFile(base); err != nil || !bytes.Equal(plain, text) {
			t.Errorf("%s is not %s, compressed: %v", name, base, err)
		}
		return nil
	})
	if err != nil || compressedCount == 0 {
		t.Errorf("%d files, %v", compressedCount, err)
	}
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	require.NoError(t, err)
	return info.Size()
}
