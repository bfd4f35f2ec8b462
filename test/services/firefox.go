package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	if path, ok := findFirefox(); ok {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no firefox in PATH")
	}
	if out, err := exec.Command("sh", "-ec", installFirefox).CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install firefox-esr: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if path, ok := findFirefox(); ok {
		return path, nil
	}
	return "", errors.New("apt-get installed firefox-esr, but there is none in PATH")
})

const installFirefox = `
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends firefox-esr
`

func findFirefox() (path string, ok bool) {
	for _, name := range []string{"firefox-esr", "firefox", "/Applications/Firefox.app/Contents/MacOS/firefox"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}
