package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheProxyExampleSetsTheHeadersOfSecurity checks the example that operators copy. Its syntax is not checked.
func TestTheProxyExampleSetsTheHeadersOfSecurity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
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
