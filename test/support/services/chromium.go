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

// HeadlessChromium returns the path of Chromium's headless shell: the same engine, network stack and protocol without
// the browser around them, which needs half the processor time. If there is none, root on Debian installs it, which
// needs about a minute. Systems without that package have Chromium, whose path is then returned.
func HeadlessChromium(t testing.TB) string {
	t.Helper()
	path, err := headlessChromium()
	if err != nil {
		return Chromium(t)
	}
	return path
}

// The first name is the program itself. The command that Debian has in PATH is a script that does not forward signals.
var headlessChromium = sync.OnceValues(func() (string, error) {
	return installedAny("chromium-headless-shell", "/usr/lib/chromium/chromium-headless-shell",
		"chromium-headless-shell", "chrome-headless-shell")
})

var chromium = sync.OnceValues(func() (string, error) {
	return installedAny("chromium", "chromium", "chromium-browser", "google-chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
})
