package services

import (
	"sync"
	"testing"
)

// Firefox returns the path of Firefox. If there is none, root on Debian installs its extended support release, which
// needs about a minute.
func Firefox(t testing.TB) string {
	t.Helper()
	path, err := firefox()
	if err != nil {
		t.Fatalf("this test needs Firefox: %v\nInstall it (Debian: apt-get install firefox-esr; macOS: brew install "+
			"--cask firefox).", err)
	}
	return path
}

var firefox = sync.OnceValues(func() (string, error) {
	return installedAny("firefox-esr", "firefox-esr", "firefox",
		"/Applications/Firefox.app/Contents/MacOS/firefox")
})
