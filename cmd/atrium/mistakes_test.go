package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
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

func TestNoErrorOfTheCommandLinePrintsAKey(t *testing.T) {
	const key = "atk_iH9BkBTHi6CsoepNIt5wOXPjadmFMa2sQeIXOTJs5zq2oG7Ui"
	home := t.TempDir()
	broken := filepath.Join(home, "key")
	require.NoError(t, os.WriteFile(broken, []byte(key[:20]+"ü"+key[20:]), 0o600))
	for _, line := range [][]string{
		{"login", "https://atrium.example.com", key}, {"login", "https://atrium.example.com", "--key-file", key},
		{"login", key}, {"login", "https://atrium.example.com", "--" + key}, {"whoami", "--profile", key},
		{"login", "https://atrium.example.com", "--key-file", broken}, {key}, {"logout", "--profile", key},
		{"listen", "--forward", "http://localhost", "--secret", "whsec_" + key[4:] + "ü"},
		{"api", "GET", "/api/me", "--config", key},
	} {
		var out, errs bytes.Buffer
		code := run(line, []string{"HOME=" + home}, &out, &errs)
		if got := out.String() + errs.String(); code == 0 || strings.Contains(got, key[4:20]) {
			t.Errorf("atrium %s: code %d, %q", line[0], code, got)
		}
	}
}

func TestAnErrorOfTheClientNamesTheProgramOnce(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	home := t.TempDir()
	key := filepath.Join(home, "key")
	require.NoError(t, os.WriteFile(key, []byte("atk_unknown\n"), 0o600))
	var out, errs bytes.Buffer
	code := run([]string{"login", server.URL, "--key-file", key}, []string{"HOME=" + home}, &out, &errs)
	if got := errs.String(); code != exitFailed || strings.Count(got, "atrium: ") != 1 {
		t.Errorf("code %d, %q, want the program named once", code, got)
	}
}
