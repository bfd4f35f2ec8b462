package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// need installs a program from a package of Debian if it is missing.
func need(t *testing.T, program, name string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		run(t, "apt-get", "install", "-y", "-qq", "--no-install-recommends", name)
	}
}

// TestThePackageForRPM looks into the package for each architecture.
func TestThePackageForRPM(t *testing.T) {
	need(t, "rpm", "rpm")
	for _, arch := range []string{"x86_64", "aarch64"} {
		pkg := file(t, "*."+arch+".rpm")
		files := run(t, "rpm", "-qlp", pkg)
		for _, name := range []string{"/usr/bin/atrium", "/usr/lib/systemd/system/atrium.service",
			"/etc/atrium/atrium.yaml",
			"/usr/share/man/man1/atrium.1.gz"} {
			if !strings.Contains(files, name+"\n") {
				t.Errorf("%s lacks %s", filepath.Base(pkg), name)
			}
		}
		if config := run(t, "rpm", "-qcp", pkg); !strings.Contains(config, "/etc/atrium/atrium.yaml") {
			t.Errorf("an upgrade would replace the configuration: %s", config)
		}
	}
}

// TestInstallingThePackageForRPM installs the package by rpm into a folder of its own, which has no shell for its
// scripts, installs it again over a changed configuration, and removes it.
func TestInstallingThePackageForRPM(t *testing.T) {
	need(t, "rpm", "rpm")
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	root, pkg := t.TempDir(), file(t, "*."+arch+".rpm")
	rpm := func(args ...string) string {
		t.Helper()
		// Debian's rpm knows nothing of the architectures of Fedora, and of what Debian's packages provide.
		return run(t, append([]string{"rpm", "--root", root, "--nodeps", "--noscripts", "--ignorearch", "--ignoreos"},
			args...)...)
	}
	run(t, "rpm", "--root", root, "--initdb")
	rpm("--install", pkg)
	if out := run(t, filepath.Join(root, "usr/bin/atrium"), "--version"); !strings.HasPrefix(out, "v") {
		t.Errorf("it prints %s", out)
	}
	config := filepath.Join(root, "etc/atrium/atrium.yaml")
	if out := run(t, filepath.Join(root, "usr/bin/atrium"), "config", "check", "--config", config); !strings.Contains(out,
		"valid") {
		t.Error(out)
	}
	if err := os.WriteFile(config, []byte("log: {format: json}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rpm("--upgrade", "--force", pkg)
	if kept, err := os.ReadFile(config); err != nil || !strings.Contains(string(kept), "json") {
		t.Errorf("an upgrade has replaced the configuration: %s, %v", kept, err)
	}
	run(t, "rpm", "--root", root, "--nodeps", "--noscripts", "--erase", "atrium")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/atrium")); !os.IsNotExist(err) {
		t.Errorf("the binary is still there: %v", err)
	}
	if kept, err := os.ReadFile(config + ".rpmsave"); err != nil || !strings.Contains(string(kept), "json") {
		t.Errorf("the changed configuration is gone: %s, %v", kept, err)
	}
}
