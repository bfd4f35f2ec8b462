package services

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

const openIDScript = `
end=KILL
prepare() { chmod 700 "$folder/openid"; }
serve() { exec "$folder/openid" "$port" "$@"; }
`

// The client of OpenIDProvider, and the person who can sign in there.
const (
	OpenIDClient, OpenIDSecret = "web", "secret"
	OpenIDPerson               = "test-user2"
	OpenIDPassword             = "verysecure"
)

// OpenIDProvider starts a real OpenID provider, built from its Go module, and returns its issuer. It ends with the
// test. Its page for signing in asks for a name and a password. It sends the browser back to redirect only.
func OpenIDProvider(t testing.TB, redirect string) (issuer string) {
	t.Helper()
	bin, err := openIDBin()
	if err != nil {
		t.Fatalf("this test needs an OpenID provider: %v", err)
	}
	text, err := os.ReadFile(bin)
	require.NoError(t, err)
	server, err := program{
		name: "openid", script: openIDScript, args: []string{redirect},
		files: map[string]string{"openid": string(text)},
		url:   func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d/", port) },
		ready: openIDReady,
	}.start()
	if err != nil {
		t.Fatalf("this test needs an OpenID provider: %v", err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

func openIDReady(ctx context.Context, issuer string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, issuer+".well-known/openid-configuration", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// openIDBin builds it, which takes some seconds the first time. Its module is not part of this one, so that
// Atrium does not have its dependencies. Without -trimpath, with which Go would compile all of the standard library
// again.
var openIDBin = sync.OnceValues(func() (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	source := filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "test", "support", "services",
		"openid")
	bin := filepath.Join(cache, "atrium-tests", "openid")
	c := exec.Command("go", "build", "-C", source, "-o", bin, ".")
	c.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", errors.New("go build: " + string(out))
	}
	return bin, nil
})
