package services

import (
	"sync"
	"testing"
)

// Chromium returns the path of Chromium or Chrome. If there is none, root on Debian installs Chromium, which needs
// about a minute.
func Chromium(t testing.TB) string {
	t.Helper()
	path, err := chromium()
	if err != nil {
		t.Fatalf("this test needs Chromium: %v\nInstall it (Debian: apt-get install chromium; macOS: brew install "+
			"--cask chromium).", err)
	}
	return path
}

var chromium = sync.OnceValues(func() (string, error) {
	return installedAny("chromium", "chromium", "chromium-browser", "google-chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
})
