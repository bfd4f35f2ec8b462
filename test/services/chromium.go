package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	if path, ok := findChromium(); ok {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no chromium in PATH")
	}
	if out, err := exec.Command("sh", "-ec", installChromium).CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install chromium: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if path, ok := findChromium(); ok {
		return path, nil
	}
	return "", errors.New("apt-get installed chromium, but there is none in PATH")
})

const installChromium = `
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends chromium
`

func findChromium() (path string, ok bool) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}
