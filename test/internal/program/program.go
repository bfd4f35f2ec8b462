// Package program builds Atrium and runs it as operators do: as processes with a configuration, a database and a data
// directory. Suites that load or attack the whole program share it.
package program

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"  // to look at what is stored
	_ "modernc.org/sqlite" // to look at what is stored

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Patience is how long a test waits for something that should happen soon.
const Patience = proof.Patience

// PresentVersion is the version of the program that Present returns. .ci/run stamps it, too.
const PresentVersion = "dev"

// Present returns the path of the program of this tree, whose folder is dir, without the race detector. It is the one
// that ATRIUM_PROGRAM names, or is built as binary.
func Present(dir, binary string) (string, error) {
	if built := os.Getenv("ATRIUM_PROGRAM"); built != "" {
		return built, nil
	}
	return Build(dir, PresentVersion, binary)
}

// Build builds the program of the module in dir as it is released, without the race detector, and stamps it
// with a version. It returns the path of the binary.
func Build(dir, version, binary string) (string, error) {
	c := exec.Command("go", "build", "-ldflags", "-s -w -X main.version="+version, "-o", binary, "./cmd/atrium")
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", c.Args, err, out)
	}
	return binary, nil
}

// Deployment is a configuration, a data directory and a database, which any number of processes can serve.
type Deployment struct {
	Folder   string // the working directory of every process; the data directory is in it
	Database string // URL of PostgreSQL; empty for SQLite in Data
	Env      []string
}

// Deploy writes the configuration file and prepares the environment of the processes. They listen on free
// loopback ports and log warnings as JSON. settings are further environment variables.
func Deploy(t testing.TB, database, config string, settings ...string) *Deployment {
	t.Helper()
	d := &Deployment{Folder: t.TempDir(), Database: database}
	file := filepath.Join(d.Folder, "atrium.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	d.Env = append([]string{
		"HOME=" + d.Folder, "TMPDIR=" + os.TempDir(), "ATRIUM_CONFIG=" + file, "ATRIUM_DATA=" + d.Data(),
		"ATRIUM_SERVER_ADDR=127.0.0.1:0", "ATRIUM_METRICS_ADDR=127.0.0.1:0",
		"ATRIUM_LOG_FORMAT=json", "ATRIUM_LOG_LEVEL=warn",
	}, settings...)
	if database != "" {
		d.Env = append(d.Env, "ATRIUM_DATABASE_URL="+database)
	}
	return d
}

// Data is the data directory.
func (d *Deployment) Data() string { return filepath.Join(d.Folder, "data") }

// Command returns a command of the binary, ready to run.
func (d *Deployment) Command(binary string, args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir, c.Env = d.Folder, d.Env
	return c
}

// Owner creates a user who owns a workspace, and returns their API key. flags are further ones of user create.
func (d *Deployment) Owner(t testing.TB, binary, email string, flags ...string) string {
	t.Helper()
	var newCase struct{ Token string }
	args := append([]string{"user", "create", "--json", "--email", email, "--role", "owner"}, flags...)
	command := d.Command(binary, args...)
	var failedBuffer bytes.Buffer
	command.Stderr = &failedBuffer
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &newCase)
	}
	if err != nil {
		t.Fatalf("user create: %v: %s", err, failedBuffer.String())
	}
	return newCase.Token
}

// Open opens the database beside the running processes.
func (d *Deployment) Open(t testing.TB) *sql.DB {
	t.Helper()
	driver, source := "sqlite", filepath.Join(d.Data(), "atrium.db")+"?_pragma=busy_timeout(120000)"
	if d.Database != "" {
		driver, source = "postgres", d.Database
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	db.SetMaxIdleConns(16) // of tests that ask from many goroutines; connecting takes PostgreSQL 5 ms
	t.Cleanup(func() { db.Close() })
	return db
}

// Node is one running process of a deployment.
type Node struct {
	*Deployment
	URL    string
	Output *Output // what it has written so far

	process *exec.Cmd
	ended   chan struct{}
}

// Lines that a node writes when it is up: its version and URL, and the address of its metrics.
var (
	Greeting = regexp.MustCompile(`Atrium (\S+) at (http://\S+)`)
	Metrics  = regexp.MustCompile(`serving metrics","addr":"([^"]+)"`)
)

// Start runs a node, waits until it serves, and kills it when the test ends.
func (d *Deployment) Start(t testing.TB, binary string) *Node {
	t.Helper()
	n := &Node{Deployment: d, Output: &Output{}, process: d.Command(binary, "serve"), ended: make(chan struct{})}
	n.process.Stdout, n.process.Stderr = n.Output, n.Output
	require.NoError(t, n.process.Start())
	go func() {
		_ = n.process.Wait()
		close(n.ended)
	}()
	t.Cleanup(func() {
		_ = n.process.Process.Kill()
		<-n.ended
	})
	n.URL = n.Await(t, Greeting)[2]
	return n
}

// Await returns the first match of pattern in what the node writes.
func (n *Node) Await(t testing.TB, pattern *regexp.Regexp) []string {
	t.Helper()
	for late := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		if found := pattern.FindStringSubmatch(n.Output.String()); found != nil {
			return found
		}
		if !n.running() || time.Now().After(late) {
			t.Fatalf("the node has not written %q, but: %s", pattern, n.Output)
		}
	}
}

// Pid returns the id of the process.
func (n *Node) Pid() int { return n.process.Process.Pid }

func (n *Node) running() bool {
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// Kill ends the node as a power failure does.
func (n *Node) Kill(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGKILL)
}

// Stop ends the node as an operator does, and expects exit code 0.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	n.signal(t, syscall.SIGTERM)
	if code := n.process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the node ended with %d: %s", code, n.Output)
	}
}

func (n *Node) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := n.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(Patience):
		t.Fatalf("the node has not ended: %s", n.Output)
	}
}

// Output collects what a process writes. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
