package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Curl returns the path of curl. Where there is none, root on Debian installs it.
func Curl(t testing.TB) string {
	t.Helper()
	path, err := curl()
	if err != nil {
		t.Fatalf("this test needs curl: %v\nInstall it (Debian: apt-get install curl).", err)
	}
	return path
}

var curl = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("curl"); err == nil {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no curl in PATH")
	}
	if out, err := exec.Command("sh", "-ec", installCurl).CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install curl: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	return exec.LookPath("curl")
})

const installCurl = `
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends curl
`
