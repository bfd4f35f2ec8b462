package services

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// missing reports that a test needs a program that this machine does not have. In CI that is a failure. On a person's
// machine the test is left out, and says what it needs: the server needs neither Node.js nor Python.
func missing(t testing.TB, name string, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("this test needs %s: %v", name, err)
	}
	t.Skipf("left out, because this test needs %s: %v", name, err)
}

// Node returns the path of Node.js 20 or later. If there is none, root on Debian installs it. If that is older, npm
// installs Node.js 24 in the user's cache folder.
func Node(t testing.TB) string {
	t.Helper()
	path, err := node()
	if err != nil {
		missing(t, "Node.js 20 or later (Debian: apt-get install nodejs npm)", err)
	}
	return path
}

var node = sync.OnceValues(func() (string, error) {
	path, err := installed("node", "nodejs")
	if err != nil {
		return "", err
	}
	if isNode20(path) {
		return path, nil
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(folder, "atrium-tests", "node24")
	path = filepath.Join(folder, "node_modules", "node", "bin", "node")
	if isNode20(path) {
		return path, nil
	}
	npm, err := installed("npm", "npm")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(npm, "install", "--no-audit", "--no-fund", "--prefix", folder, "node@24.21.0").
		CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("npm install node: %w\n%s", err, out)
	}
	if !isNode20(path) {
		return "", errors.New("npm installed no Node.js that runs here")
	}
	return path, nil
})

func isNode20(path string) bool {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return false
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	number, err := strconv.Atoi(major)
	return err == nil && number >= 20
}

// NPM returns the path of npm, which must belong to a Node.js that is new enough for it.
func NPM(t testing.TB) string {
	t.Helper()
	path, err := installed("npm", "npm")
	if err != nil {
		missing(t, "npm (Debian: apt-get install npm)", err)
	}
	return path
}

// Packages installs the packages of a folder where the user's caches are, by the committed lock. needed is what must be
// in node_modules afterwards. It returns the cache.
func Packages(npm, source, needed string) (cache string, output []byte, err error) {
	cache, err = os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	cache = filepath.Join(cache, "atrium-tests", filepath.Base(source))
	lock, err := os.ReadFile(filepath.Join(source, "package-lock.json"))
	if err != nil {
		return "", nil, err
	}
	installed, err := os.ReadFile(filepath.Join(cache, "package-lock.json"))
	_, missing := os.Stat(filepath.Join(cache, "node_modules", needed))
	if err != nil || missing != nil || !bytes.Equal(lock, installed) {
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return "", nil, err
		}
		for _, name := range []string{"package.json", ".npmrc", "package-lock.json"} {
			content, err := os.ReadFile(filepath.Join(source, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(cache, name), content, 0o644)
			}
			if err != nil {
				return "", nil, err
			}
		}
		install := exec.Command(npm, "ci", "--no-audit", "--no-fund")
		install.Dir = cache
		if output, err := install.CombinedOutput(); err != nil {
			_ = os.Remove(filepath.Join(cache, "package-lock.json"))
			return "", output, err
		}
	}
	return cache, nil, nil
}

// Python returns the path of Python 3.11 or later. If there is none, root on Debian installs it.
func Python(t testing.TB) string {
	t.Helper()
	path, err := python()
	if err != nil {
		missing(t, "Python 3.11 or later (Debian: apt-get install python3)", err)
	}
	return path
}

// python returns what python3 runs. With a manager of versions, python3 is a script that needs more time than the
// programs of tests.
var python = sync.OnceValues(func() (string, error) {
	path, err := installed("python3", "python3")
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, "-c",
		"import sys; sys.exit(1) if sys.version_info < (3, 11) else print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// Mypy returns the path of mypy, the type checker of Python. If there is none, root on Debian installs it.
func Mypy(t testing.TB) string {
	t.Helper()
	path, err := installed("mypy", "mypy")
	if err != nil {
		missing(t, "mypy (Debian: apt-get install mypy)", err)
	}
	return path
}
