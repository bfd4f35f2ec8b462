package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMistakeNamesTheHelpOfItsCommand(t *testing.T) {
	for line, want := range map[string]string{
		"foo":                 "Run \"atrium --help\"",
		"token create":        "Run \"atrium token create --help\"",
		"token create --x":    "Run \"atrium token create --help\"",
		"payments events lis": "Run \"atrium payments events --help\"",
	} {
		var out, errs bytes.Buffer
		code := run(strings.Fields(line), nil, &out, &errs)
		got := errs.String()
		if code != exitUsage || !strings.HasPrefix(got, "atrium: ") || !strings.Contains(got, want) {
			t.Errorf("atrium %s: code %d, %q, want %q", line, code, got, want)
		}
	}
}

func TestAnErrorOfTheClientNamesTheProgramOnce(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	home := t.TempDir()
	key := filepath.Join(home, "key")
	if err := os.WriteFile(key, []byte("atk_unknown\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"login", server.URL, "--key-file", key}, []string{"HOME=" + home}, &out, &errs)
	if got := errs.String(); code != exitFailed || strings.Count(got, "atrium: ") != 1 {
		t.Errorf("code %d, %q, want the program named once", code, got)
	}
}
