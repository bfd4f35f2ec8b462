package services

import "testing"

// Curl returns the path of curl. Where there is none, root on Debian installs it.
func Curl(t testing.TB) string {
	t.Helper()
	path, err := installed("curl", "curl")
	if err != nil {
		t.Fatalf("this test needs curl: %v\nInstall it (Debian: apt-get install curl).", err)
	}
	return path
}
