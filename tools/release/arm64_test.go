package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheBinaryForARM64 runs the binary for arm64, by QEMU on a machine of another architecture: its version, its
// checks, and a server until it is ready.
func TestTheBinaryForARM64(t *testing.T) {
	folder := t.TempDir()
	run(t, "tar", "-xzf", file(t, "*_linux_arm64.tar.gz"), "-C", folder, "--strip-components=1")
	command := []string{filepath.Join(folder, "atrium")}
	if runtime.GOARCH != "arm64" {
		need(t, "qemu-aarch64-static", "qemu-user-static")
		command = append([]string{"qemu-aarch64-static"}, command...)
	}
	t.Setenv("ATRIUM_DATA", filepath.Join(folder, "data"))
	atrium := func(args ...string) string {
		t.Helper()
		return run(t, append(command, args...)...)
	}
	if out := atrium("version"); !strings.HasPrefix(out, "v") || !strings.Contains(out, "linux/arm64") {
		t.Errorf("version: %s", out)
	}
	atrium("migrate")
	if out := atrium("doctor"); !strings.Contains(out, "schema up to date") {
		t.Errorf("doctor: %s", out)
	}
	var log bytes.Buffer
	server := exec.Command(command[0], append(command[1:], "serve", "--addr", "127.0.0.1:18082")...)
	server.Stdout, server.Stderr = &log, &log
	server.Env = append(os.Environ(), "ATRIUM_SERVER_DRAIN=0s")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for late := time.Now().Add(2 * time.Minute); !ready && time.Now().Before(late); time.Sleep(time.Second) {
		out, err := exec.Command("curl", "-fsS", "http://127.0.0.1:18082/api/health/ready").CombinedOutput()
		ready = err == nil && strings.Contains(string(out), "ok")
	}
	_ = server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil || !ready {
		t.Errorf("ready: %v; the server ended with %v: %s", ready, err, log.String())
	}
}
