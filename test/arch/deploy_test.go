package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheProxyExampleSetsTheHeadersOfSecurity checks the example that operators copy. Its syntax is not checked.
func TestTheProxyExampleSetsTheHeadersOfSecurity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "nginx.conf"))
	require.NoError(t, err)
	for _, line := range []string{
		`add_header Strict-Transport-Security "max-age=63072000" always;`,
		`return 308 https://$host$request_uri;`,
		`proxy_set_header X-Forwarded-For $remote_addr;`,
		`proxy_set_header X-Forwarded-Host $host;`,
		`proxy_set_header X-Forwarded-Proto $scheme;`,
	} {
		if !strings.Contains(string(text), "\n    "+line) {
			t.Errorf("deploy/nginx.conf lacks %q", line)
		}
	}
}

// TestTheImageHasTheModulesThatReplaceOthers checks that the image's modules can be downloaded: make image, which
// builds it, takes minutes, and is not in make test.
func TestTheImageHasTheModulesThatReplaceOthers(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(text)
	}
	previous, _, found := strings.Cut(read("deploy/Containerfile"), "go mod download")
	if !found {
		t.Fatal("deploy/Containerfile does not download the modules")
	}
	for _, folder := range regexp.MustCompile(`(?m)=> \./(\S+)$`).FindAllStringSubmatch(read("go.mod"), -1) {
		if line := "\nCOPY " + folder[1] + "/go.mod "; !strings.Contains(previous, line) {
			t.Errorf("deploy/Containerfile lacks %q before go mod download", line)
		}
	}
}
