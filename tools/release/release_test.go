// Package release checks the release that make release-snapshot builds in dist/: its archives, packages, checksums and
// install.sh. The tests install the package for Debian, so they need root on Debian, and remove it again.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const dist = "../../dist"

// file returns the only file of the release that matches a pattern.
func file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("dist has %v for %s (%v): run make release-snapshot", found, pattern, err)
	}
	return found[0]
}

func run(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

func TestChecksumsCoverEveryFile(t *testing.T) {
	sums, err := os.ReadFile(file(t, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed[name] = sum
	}
	for _, pattern := range []string{"*_linux_amd64.tar.gz", "*_linux_arm64.tar.gz", "*_amd64.deb", "*_arm64.deb",
		"*.x86_64.rpm", "*.aarch64.rpm"} {
		path := file(t, pattern)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(content)); listed[filepath.Base(path)] != sum {
			t.Errorf("%s has %s, listed is %q", path, sum, listed[filepath.Base(path)])
		}
	}
	for _, name := range []string{"install.sh", "compose.yaml", "atrium.cdx.json", "NOTICES"} {
		if listed[name] == "" {
			t.Errorf("%s has no checksum", name)
		}
	}
}

func TestArchivesHaveLicencesAndBill(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		archive, err := os.Open(file(t, "*_linux_"+arch+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		unzipped, err := gzip.NewReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		content := map[string][]byte{}
		for in := tar.NewReader(unzipped); ; {
			header, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			_, name, _ := strings.Cut(header.Name, "/")
			if content[name], err = io.ReadAll(in); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"atrium", "LICENSE", "NOTICES", "CHANGELOG.md", "atrium.example.yaml",
			"atrium.service",
			"man/man1/atrium.1", "man/man1/atrium-user.1", "completions/_atrium"} {
			if len(content[name]) == 0 {
				t.Errorf("the archive for %s has no %s", arch, name)
			}
		}
		if !strings.Contains(string(content["NOTICES"]), "github.com/lib/pq") {
			t.Error("NOTICES lacks a module")
		}
		var bill struct {
			Format     string `json:"bomFormat"`
			Components []struct{ PURL string }
		}
		if err := json.Unmarshal(content["atrium.cdx.json"], &bill); err != nil || bill.Format != "CycloneDX" ||
			len(bill.Components) < 30 {
			t.Errorf("the bill of materials has %d components, %v", len(bill.Components), err)
		}
		for _, purl := range []string{"pkg:golang/github.com/lib/pq@", "pkg:npm/react@"} {
			if !slices.ContainsFunc(bill.Components,
				func(c struct{ PURL string }) bool { return strings.HasPrefix(c.PURL, purl) }) {
				t.Errorf("the bill of materials lacks %s", purl)
			}
		}
	}
}

// TestInstallScript installs from a server of the release's files, and from one whose archive was changed.
func TestInstallScript(t *testing.T) {
	tampered := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := os.ReadFile(filepath.Join(dist, path.Base(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if tampered && strings.HasSuffix(r.URL.Path, ".tar.gz") {
			content[len(content)/2] ^= 1
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	install := func(prefix string, args ...string) (string, error) {
		c := exec.Command("sh", append([]string{"../../deploy/install.sh"}, args...)...)
		c.Env = append(os.Environ(), "PREFIX="+prefix, "ATRIUM_RELEASES="+server.URL, "no_proxy=127.0.0.1")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{nil, {"v1.2.3"}} {
		prefix := t.TempDir()
		if out, err := install(prefix, args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out := run(t, prefix+"/bin/atrium", "--version"); !strings.HasPrefix(out, "v") {
			t.Errorf("it prints %s", out)
		}
		if _, err := os.Stat(prefix + "/share/man/man1/atrium.1"); err != nil {
			t.Error(err)
		}
	}
	tampered = true
	prefix := t.TempDir()
	out, err := install(prefix)
	if err == nil || !strings.Contains(out, "nothing was installed") {
		t.Errorf("a changed archive: %v\n%s", err, out)
	}
	if left, _ := os.ReadDir(prefix); len(left) > 0 {
		t.Errorf("it has left %v", left)
	}
}

// TestThePackageForDebian installs the package, starts the server as the unit does, and removes the package.
func TestThePackageForDebian(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("installing a package needs root")
	}
	if out, err := exec.Command("dpkg-query", "-W", "atrium").CombinedOutput(); err == nil {
		t.Fatalf("this machine has the package already: %s", out)
	}
	if _, err := os.Stat("/var/lib/atrium"); err == nil {
		t.Fatal("this machine has /var/lib/atrium already")
	}
	t.Cleanup(func() {
		run(t, "dpkg", "--purge", "atrium")
		_ = exec.Command("userdel", "atrium").Run()
		_ = os.RemoveAll("/var/lib/atrium")
	})
	run(t, "dpkg", "--install", file(t, "*_"+runtime.GOARCH+".deb"))

	version := strings.TrimSpace(run(t, "/usr/bin/atrium", "--version"))
	if !strings.HasPrefix(version, "v") {
		t.Errorf("version %q", version)
	}
	for _, name := range []string{"/etc/atrium/atrium.yaml", "/usr/share/man/man1/atrium.1.gz",
		"/usr/share/doc/atrium/copyright", "/usr/share/doc/atrium/NOTICES", "/usr/share/doc/atrium/atrium.example.yaml",
		"/usr/share/bash-completion/completions/atrium"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if out := run(t, "atrium", "config", "check", "--config", "/etc/atrium/atrium.yaml"); !strings.Contains(out,
		"valid") {
		t.Error(out)
	}
	const unit = "/usr/lib/systemd/system/atrium.service"
	if out := run(t, "systemd-analyze", "verify", unit); out != "" {
		t.Errorf("the unit: %s", out)
	}
	serveAsTheUnit(t, unit)

	changed := "/etc/atrium/atrium.yaml"
	if err := os.WriteFile(changed, []byte("log: {format: json}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "dpkg", "--install", "--force-confdef", "--force-confold", file(t, "*_"+runtime.GOARCH+".deb"))
	if kept, err := os.ReadFile(changed); err != nil || !strings.Contains(string(kept), "json") {
		t.Errorf("an upgrade has replaced the configuration: %s, %v", kept, err)
	}
	run(t, "dpkg", "--remove", "atrium")
	if _, err := os.Stat("/var/lib/atrium/atrium.db"); err != nil {
		t.Errorf("removing the package has removed the data: %v", err)
	}
	if _, err := os.Stat("/usr/bin/atrium"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the binary is still there: %v", err)
	}
}

// serveAsTheUnit runs the unit's command as its user, without systemd, until it is ready, and stops it.
func serveAsTheUnit(t *testing.T, unit string) {
	t.Helper()
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\nExecStart=")
	line, _, _ := strings.Cut(after, "\n")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "/usr/bin/atrium" {
		t.Fatalf("the unit starts %q", line)
	}
	run(t, "install", "-d", "-m", "700", "-o", "atrium", "-g", "atrium", "/var/lib/atrium") // StateDirectory=
	var log bytes.Buffer
	words = append(words, "--addr", "127.0.0.1:18080")
	server := exec.Command(words[0], words[1:]...)
	server.Dir, server.Stdout, server.Stderr = "/", &log, &log
	server.SysProcAttr = &syscall.SysProcAttr{Credential: credential(t, "atrium")}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for late := time.Now().Add(30 * time.Second); !ready && time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
		ready = exec.Command("/usr/bin/atrium", "healthcheck", "--url", "http://127.0.0.1:18080").Run() == nil
	}
	_ = server.Process.Signal(syscall.SIGTERM)
	if err := server.Wait(); err != nil || !ready {
		t.Fatalf("ready: %v; the server ended with %v: %s", ready, err, log.String())
	}
	info, err := os.Stat("/var/lib/atrium/first-api-key")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the first API key: %v, %v", info, err)
	}
}

// credential returns the ids of a user.
func credential(t *testing.T, name string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
