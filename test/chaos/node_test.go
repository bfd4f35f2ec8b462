package chaos

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look at what is stored

	"github.com/atrium-hq/atrium/test/services"
)

// patience is how long anything may take that should happen soon, on a busy machine.
const patience = 30 * time.Second

// deployment is a database, and how its nodes are configured.
type deployment struct {
	folder   string
	database string // URL of PostgreSQL; empty for SQLite in data
	env      []string
}

// deploy makes a deployment whose connections may lead to the tests' own servers, and whose limits
// stand in no load's way. settings are further variables.
func deploy(t *testing.T, database string, settings ...string) *deployment {
	t.Helper()
	d := &deployment{folder: t.TempDir(), database: database}
	const config = "orgs: [{slug: default, egress: {allow: [127.0.0.0/8, '::1']}}]\n"
	if err := os.WriteFile(filepath.Join(d.folder, "atrium.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d.env = append([]string{
		"HOME=" + d.folder, "TMPDIR=" + os.TempDir(), "ATRIUM_CONFIG=" + filepath.Join(d.folder, "atrium.yaml"), "ATRIUM_DATA=" + d.data(),
		"ATRIUM_SERVER_ADDR=127.0.0.1:0", "ATRIUM_METRICS_ADDR=127.0.0.1:0", "ATRIUM_LOG_FORMAT=json", "ATRIUM_LOG_LEVEL=warn",
		"ATRIUM_SERVER_RATE_LIMIT_PER_MINUTE=1000000", "ATRIUM_SERVER_RATE_LIMIT_BURST=1000000",
		"ATRIUM_CONNECTIONS_PROBE_LIMITS_WORKSPACE_PER_MINUTE=10000", "ATRIUM_CONNECTIONS_PROBE_LIMITS_TARGET_PER_HOUR=10000",
	}, settings...)
	if database != "" {
		d.env = append(d.env, "ATRIUM_DATABASE_URL="+database)
	}
	return d
}

// on is deploy with a fresh database of an engine.
func on(t *testing.T, engine string, settings ...string) *deployment {
	t.Helper()
	if engine == postgres {
		return deploy(t, services.Postgres(t), settings...)
	}
	return deploy(t, "", settings...)
}

func (d *deployment) data() string { return filepath.Join(d.folder, "data") }

func (d *deployment) command(binary string, args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir, c.Env = d.folder, d.env
	return c
}

// token makes a person who owns the default workspace, and answers their key.
func (d *deployment) token(t *testing.T, binary string) string {
	t.Helper()
	var made struct{ Token string }
	out, err := d.command(binary, "user", "create", "--json", "--email", "ann@example.com", "--role", "owner").Output()
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil {
		t.Fatalf("user create: %v", err)
	}
	return made.Token
}

// open opens the database behind the back of the nodes.
func (d *deployment) open(t *testing.T) *sql.DB {
	t.Helper()
	driver, source := "sqlite", filepath.Join(d.data(), "atrium.db")+"?_pragma=busy_timeout(5000)"
	if d.database != "" {
		driver, source = "postgres", d.database
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// node is one running process of a deployment.
type node struct {
	*deployment
	url     string
	process *exec.Cmd
	wrote   *output
	ended   chan struct{}
}

var (
	greeting  = regexp.MustCompile(`Atrium (\S+) at (http://\S+)`)
	measuring = regexp.MustCompile(`serving metrics","addr":"([^"]+)"`)
)

// start runs a node until it answers, and its end is the test's.
func (d *deployment) start(t *testing.T, binary string) *node {
	t.Helper()
	n := &node{deployment: d, process: d.command(binary, "serve"), wrote: &output{}, ended: make(chan struct{})}
	n.process.Stdout, n.process.Stderr = n.wrote, n.wrote
	if err := n.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = n.process.Wait()
		close(n.ended)
	}()
	t.Cleanup(func() {
		_ = n.process.Process.Kill()
		<-n.ended
	})
	n.url = n.await(t, greeting)[2]
	return n
}

// await returns the first match of pattern in what the node writes.
func (n *node) await(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if found := pattern.FindStringSubmatch(n.wrote.String()); found != nil {
			return found
		}
		if !n.running() || time.Now().After(late) {
			t.Fatalf("the node has not written %q, but: %s", pattern, n.wrote)
		}
	}
}

func (n *node) running() bool {
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// kill ends the node as a power failure does.
func (n *node) kill(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGKILL)
}

// stop ends the node as an operator does.
func (n *node) stop(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGTERM)
	if code := n.process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the node ended with %d: %s", code, n.wrote)
	}
}

func (n *node) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := n.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(patience):
		t.Fatalf("the node has not ended: %s", n.wrote)
	}
}

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
