package services

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// stripeMockVersion is of github.com/stripe/stripe-mock, which knows the API version of the stripe-go that
// go.mod names.
const stripeMockVersion = "v0.203.0"

const stripeMockScript = `
end=KILL
prepare() { chmod 700 "$folder/stripe-mock"; }
serve() { exec "$folder/stripe-mock" -http-addr "127.0.0.1:$port" -https-addr 127.0.0.1:0; }
`

// StripeMock returns the URL of a stripe-mock, which holds requests to the API's description and forgets
// them. It ends with the test. It is built from its module, which takes some seconds the first time.
func StripeMock(t testing.TB) string {
	t.Helper()
	server, err := StartStripeMock()
	if err != nil {
		t.Fatalf("this test needs stripe-mock: %v", err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

// StartStripeMock starts one that stops with Stop, or soon after the calling process ends.
func StartStripeMock() (*Server, error) {
	bin, err := stripeMockBin()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(bin)
	if err != nil {
		return nil, err
	}
	return startStripeMock(string(text))
}

// startStripeMock runs stripe-mock from the server's folder, because only the user who runs the tests may be able to
// read their cache.
func startStripeMock(text string) (*Server, error) {
	return program{
		name: "stripe-mock", script: stripeMockScript, files: map[string]string{"stripe-mock": text},
		url:   func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) },
		ready: stripeMockReady,
	}.start()
}

func stripeMockReady(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/customers", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer sk_test_123")
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

// stripeMockBin builds it once for each version and user.
var stripeMockBin = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "atrium-tests", "stripe-mock-"+stripeMockVersion)
	bin := filepath.Join(folder, "stripe-mock")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	c := exec.Command("go", "install", "github.com/stripe/stripe-mock@"+stripeMockVersion)
	c.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install: %w\n%s", err, out)
	}
	return bin, nil
})
