package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// TestErrorsOfFilesSayWhatToDo runs commands on new data.
func TestErrorsOfFilesSayWhatToDo(t *testing.T) {
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	path := func(name string) string { return filepath.Join(folder, name) }
	ok := func(args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(append(args, "--data", data), nil, &out, &errs); code != 0 {
			t.Fatalf("atrium %q: code %d, %s", args, code, &errs)
		}
	}
	ok("migrate")
	ok("backup", path("whole.tar.gz"))
	full, err := os.ReadFile(path("whole.tar.gz"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path("cut.tar.gz"), full[:len(full)/2], 0o600))
	for _, tt := range []struct{ line, want string }{
		{"keys create --data " + data,
			"keyring.json exists already: it is never overwritten; atrium keys rotate adds a key"},
		{"backup " + path("whole.tar.gz") + " --data " + data, "whole.tar.gz exists already: name a new file"},
		{"backup " + path("none.tar.gz") + " --data " + path("none"), "there is no data in the folder " + path("none")},
		{"restore " + path("cut.tar.gz") + " --data " + path("new"), "cut.tar.gz: the backup is cut off"},
		{"healthcheck --url localhost:8080", "--url must be an http or https URL"},
		{"healthcheck --url http://127.0.0.1:1", "no server responds at http://127.0.0.1:1: dial tcp"},
	} {
		var out, errs bytes.Buffer
		code := run(strings.Fields(tt.line), nil, &out, &errs)
		if code == 0 || !strings.Contains(errs.String(), tt.want) {
			t.Errorf("atrium %s: code %d, %q, want %q", tt.line, code, &errs, tt.want)
		}
	}
}
