package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestJSONIsOneDocument runs the commands with --json that need no server: their output is one document, which is an
// array if the command lists something. For those that call a server, see test/clients.
func TestJSONIsOneDocument(t *testing.T) {
	folder := t.TempDir()
	environ := []string{"ATRIUM_DATA=" + filepath.Join(folder, "data"), "ATRIUM_LOG_LEVEL=error"}
	const ann = " --email ann@example.com"
	steps := []struct{ args, want string }{ // in this order
		{"migrate", "{"},
		{"user list", "[]"},
		{"user create" + ann + " --role owner --workspace space", "{"},
		{"user create --email bob@example.com --role member --workspace space", "{"},
		{"user list", "["},
		{"user show" + ann, "{"},
		{"user update --operator" + ann, "{"},
		{"user disable" + ann, "{"},
		{"user enable" + ann, "{"},
		{"session list" + ann, "[]"},
		{"session end" + ann, "{"},
		{"user reset-passkeys" + ann, "{"},
		{"workspace list", "["},
		{"workspace restore space", "{"},
		{"token create --workspace space" + ann, "{"},
		{"token list --workspace space", "["},
		{"payments events list", "[]"},
		{"payments resume space", "{"},
		{"keys rotate", "{"},
		{"keys reseal", "{"},
		{"keys list", "["},
		{"events verify", "["},
		{"config check", "{"},
		{"config show", "["},
		{"doctor all", "{"},
		{"doctor oidc", "{"},
		{"doctor payments", "{"},
		{"backup " + filepath.Join(folder, "backup"), "{"},
		{"user erase --yes --email bob@example.com", "{"},
		{"profiles", "[]"},
		{"version", "{"},
	}
	// These need a server, an issuer, a gateway, an id, or a machine without data. They print one object each, except
	// the lists of test/clients, and events tail, which follows a stream and prints one line for each event.
	elsewhere := []string{"console", "events tail", "healthcheck", "keys create", "login", "logout",
		"payments events replay", "payments sandbox advance", "payments sandbox credit", "payments sandbox dispute",
		"payments sandbox provoke", "payments sandbox refund", "presence", "prompts diff", "prompts get", "prompts list", "prompts pull", "prompts push", "prompts render", "restore", "token revoke",
		"user link", "whoami"}
	for _, c := range (&kong.Application{Node: declared(t)}).Leaves(false) {
		path := strings.TrimPrefix(c.FullPath(), "atrium ")
		exists := slices.ContainsFunc(c.Flags, func(f *kong.Flag) bool { return f.Name == "json" })
		isKnown := slices.Contains(elsewhere, path)
		for _, step := range steps {
			isKnown = isKnown || strings.HasPrefix(step.args+" ", path+" ")
		}
		if exists != isKnown {
			t.Errorf("%s has --json: %v; this test knows it: %v", path, exists, isKnown)
		}
	}
	for _, step := range steps {
		var out, failedBuffer bytes.Buffer
		code := run(append(strings.Fields(step.args), "--json"), append(environ, "HOME="+folder), &out, &failedBuffer)
		if code != 0 || !json.Valid(out.Bytes()) || !strings.HasPrefix(out.String(), step.want) {
			t.Errorf("atrium %s ended with %d and printed %swant one document that begins with %s%s", step.args, code,
				out.String(), step.want, failedBuffer.String())
		}
	}
}
