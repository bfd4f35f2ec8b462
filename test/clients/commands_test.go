package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestCommandsOfAServer uses the command line as a client of a URL, on a machine that has no data of its own.
func TestCommandsOfAServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	home := t.TempDir()
	keyFile := filepath.Join(home, "key.txt")
	require.NoError(t, os.WriteFile(keyFile, []byte(w.key+"\n"), 0o600))
	environ := []string{"HOME=" + home}
	run := func(stdin string, args ...string) (stdout, stderr string, code int) {
		c := exec.Command(suite.Binary(t), args...)
		var out, failedBuffer bytes.Buffer
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &failedBuffer
		c.Dir, c.Env = home, environ
		if err := c.Run(); err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String()+failedBuffer.String(), w.key) {
			t.Errorf("atrium %v prints the key", args)
		}
		return out.String(), failedBuffer.String(), c.ProcessState.ExitCode()
	}
	check := func(args ...string) string {
		t.Helper()
		out, failedText, code := run("", args...)
		if code != 0 {
			t.Fatalf("atrium %v ended with %d: %s", args, code, failedText)
		}
		return out
	}
	refuses := func(want string, args ...string) {
		t.Helper()
		if _, failedText, code := run("", args...); code == 0 || !strings.Contains(failedText, want) {
			t.Errorf("atrium %v ended with %d: %s", args, code, failedText)
		}
	}

	refuses("run atrium login", "whoami")
	refuses("there is no API key", "login", w.node.URL)
	refuses("unauthenticated", "login", w.node.URL, "--key-file", writeFile(t, "wrong"))
	out, text, code := run(w.key+"\n", "login", w.node.URL)
	if code != 0 || !strings.Contains(out, "owner@example.com") {
		t.Fatalf("login ended with %d: %s%s", code, out, text)
	}
	info, err := os.Stat(filepath.Join(home, ".config", "atrium", "profiles.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the key: %v, %v", info, err)
	}
	check("login", w.node.URL, "--profile", "other", "--workspace", "default", "--key-file", keyFile)
	assert.Contains(t, "profiles prints", check("profiles"), "other\t"+w.node.URL+"\tdefault\tcurrent")
	if out := check("whoami", "--profile", "default"); out != "owner@example.com\tdefault\tdefault\towner\n" {
		t.Errorf("whoami prints %q", out)
	}

	newText := check("api", "post", "/api/prompt-templates", "--body", `{"name": "support/greeting"}`)
	_, rest, _ := strings.Cut(newText, `"id": "`)
	id, _, _ := strings.Cut(rest, `"`)
	check("api", "POST", "/api/prompt-templates/"+id+"/versions", "-d",
		`{"text": "Hello {{customer}}: {{#items}}{{.}};{{/items}}"}`)
	refuses("prompt_version_not_found", "prompts", "get", "support/greeting")
	check("api", "POST", "/api/prompt-templates/"+id+"/versions/v1/activate")
	if out := check("prompts", "list", "--folder", "support"); out != "support/greeting\ttext\tv1\t"+id+"\n" {
		t.Errorf("prompts list prints %q", out)
	}
	if out := check("prompts", "get", "support/greeting"); !strings.HasPrefix(out, "Hello {{customer}}") {
		t.Errorf("prompts get prints %q", out)
	}
	if out := check("prompts", "render", "support/greeting", "-v", "customer=Ann", "-v", `items:=["a", "b"]`); out !=
		"Hello Ann: a;b;\n" {
		t.Errorf("prompts render prints %q", out)
	}
	refuses("missing_variables", "prompts", "render", "support/greeting")
	if out := check("prompts", "render", "support/greeting", "--partial"); !strings.Contains(out, "{{customer}}") {
		t.Errorf("prompts render --partial prints %q", out)
	}
	promptFiles(t, home, id, check, refuses)
	assert.Contains(t, "presence prints", check("presence", "--status", "away", "--text", "Lunch"), "\taway\tLunch\n")
	refuses("revision_mismatch", "api", "PATCH", "/api/prompt-templates/"+id, "-d", `{"description": "x"}`, "-H",
		`If-Match: "1-x"`)
	refuses("begins with /", "api", "GET", "//elsewhere/api/me")
	check("logout", "--profile", "other")
	refuses("run atrium login", "whoami")

	environ = append(environ, "ATRIUM_URL="+w.node.URL)
	refuses("set both ATRIUM_URL and ATRIUM_KEY", "whoami")
	environ = append(environ, "ATRIUM_KEY="+w.key)
	assert.Contains(t, "whoami without a login prints", check("whoami"), "owner@example.com")
	refuses("run atrium login", "whoami", "--profile", "other")
	environ = append(environ, "ATRIUM_SERVICE_HOST=10.0.0.1", "ATRIUM_COLOUR=blue")
	_, warning, code := run("", "config", "check")
	if code != 0 || strings.Count(warning, "ATRIUM_COLOUR") != 1 || strings.Contains(warning, "SERVICE") {
		t.Errorf("config check ended with %d: %s", code, warning)
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
