package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// mappedFiles returns the resident kilobytes of mapped files, nearly all of which are this binary.
func mappedFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, next, _ := strings.Cut(string(status), "RssFile:")
	size, err := strconv.Atoi(strings.Fields(next)[0])
	require.NoError(t, err)
	return size
}

func TestPagesOfTheBinaryThatOnlyTheStartNeededAreReleased(t *testing.T) {
	previous := mappedFiles(t)
	releaseMemory()
	current := mappedFiles(t)
	if current >= previous {
		t.Errorf("%d KB of files are mapped, and %d KB before", current, previous)
	}
}
