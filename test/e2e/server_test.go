package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for statements of the tests themselves

	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// patience is the time limit for what should happen soon.
const patience = proof.Patience

// deployment is a configuration with its data, whether a server runs or not.
type deployment struct {
	folder   string // the working directory of every process
	data     string // the data directory, made by the first start
	database string // URL of the database; empty for the default
	env      []string
	flags    []string // of serve
	store    *openStore
	isPlain  bool // without the race detector
}

type option func(*deployment)

// set gives a configuration key a value: set("server.request_timeout", "2s").
func set(key, value string) option {
	return func(d *deployment) {
		d.env = append(d.env, "ATRIUM_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))+"="+value)
	}
}

// isPlain runs the program without the race detector, for tests of the limits of children and of their memory: the
// detector needs much more of both.
func isPlain(d *deployment) { d.isPlain = true }

// configured gives the deployment a configuration file.
func configured(yaml string) option {
	return func(d *deployment) {
		d.configure(yaml)
		d.env = append(d.env, "ATRIUM_CONFIG="+d.config())
	}
}

func (d *deployment) config() string { return filepath.Join(d.folder, "atrium.yaml") }

func (d *deployment) configure(yaml string) {
	if err := os.WriteFile(d.config(), []byte(yaml), 0o600); err != nil {
		panic(err)
	}
}

// deploy creates a deployment in which nothing has run yet. It logs everything, and its rate limits do not affect tests
// unless an option says otherwise.
func deploy(t *testing.T, engine string, options ...option) *deployment {
	t.Helper()
	folder := t.TempDir()
	d := &deployment{folder: folder, data: filepath.Join(folder, "data"), store: new(openStore)}
	d.env = []string{
		"HOME=" + folder, "TMPDIR=" + os.TempDir(),
		"GORACE=atexit_sleep_ms=0", // otherwise the race detector adds a second to every process
	}
	set("data", d.data)(d)
	set("server.addr", "127.0.0.1:0")(d)
	set("server.drain", "0s")(d)
	set("log.level", "debug")(d)
	set("log.format", "json")(d)
	for _, limit := range []string{"rate_limit.per_minute", "rate_limit.burst", "rate_limit.unauthenticated_per_minute",
		"rate_limit.downloads_per_minute", "rate_limit.sign_ins_per_minute", "rate_limit.sign_in_flows_per_minute",
		"concurrency.per_caller", "concurrency.per_workspace", "streams.per_workspace", "streams.per_address"} {
		set("server."+limit, "1000000")(d)
	}
	for _, limit := range []string{"setup_intents_per_hour", "open_setup_intents", "declines_per_day",
		"invalid_codes_per_hour"} {
		set("payments.card_limits."+limit, "0")(d)
	}
	if engine == postgres {
		d.database = services.Postgres(t)
		set("database.url", d.database)(d)
	}
	for _, o := range options {
		o(d)
	}
	t.Cleanup(d.closeStore)
	return d
}

// deployMigrated is deploy with a database that has the schema already, which saves a test the time of migrating it.
func deployMigrated(t *testing.T, engine string, options ...option) *deployment {
	t.Helper()
	if engine == postgres {
		d := deploy(t, sqlite) // its database is not made
		d.database = migrated.Postgres(t)
		for _, o := range append([]option{set("database.url", d.database)}, options...) {
			o(d)
		}
		return d
	}
	d := deploy(t, engine, options...)
	require.NoError(t, os.Mkdir(d.data, 0o700))
	migrated.SQLite(t, filepath.Join(d.data, "atrium.db"))
	return d
}

// start creates a deployment and serves it.
func start(t *testing.T, engine string, options ...option) *server {
	t.Helper()
	return deployMigrated(t, engine, options...).start(t)
}

// server is one running process of a deployment.
type server struct {
	*deployment
	url            string
	process        *exec.Cmd
	stdout, stderr *output
	ended          chan struct{}
}

var greeting = regexp.MustCompile(`Atrium \S+ at (http://\S+)`)

// start serves the deployment on a free port. Another call starts another node. The server is stopped with the test,
// unless the test has ended it.
func (d *deployment) start(t *testing.T) *server {
	t.Helper()
	s := d.launch(t)
	s.url = s.stdout.await(t, s, greeting)[1]
	return s
}

// another returns another node of the deployment. On SQLite, which has only one, it returns s.
func (s *server) another(t *testing.T) *server {
	t.Helper()
	if s.database == "" {
		return s
	}
	return s.deployment.start(t)
}

// launch is start without waiting until the server is ready.
func (d *deployment) launch(t *testing.T) *server {
	t.Helper()
	return d.spawn(t, d.command(append([]string{"serve", "--addr", "127.0.0.1:0"}, d.flags...)...))
}

// spawn starts a long-running process.
func (d *deployment) spawn(t *testing.T, process *exec.Cmd) *server {
	t.Helper()
	s := &server{deployment: d, process: process, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	s.process.Stdout, s.process.Stderr = s.stdout, s.stderr
	require.NoError(t, s.process.Start())
	go func() {
		_ = s.process.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		if s.running() {
			s.stop(t)
		}
		s.inspect(t)
		s.checkEvents(t)
	})
	return s
}

// inspect searches for text that no log of any test may hold.
func (s *server) inspect(t *testing.T) {
	t.Helper()
	log := s.stderr.String()
	for _, absent := range []string{"DATA RACE", `"msg":"panic"`, "goroutine "} {
		if i := strings.Index(log, absent); i >= 0 {
			t.Errorf("the log holds %q:\n%s", absent, log[max(0, i-500):min(len(log), i+4000)])
		}
	}
	if positions := anyToken.FindStringIndex(log); positions != nil {
		t.Errorf("the log holds a token:\n%s", log[max(0, positions[0]-500):positions[1]])
	}
}

// anyToken matches the beginning of Atrium's tokens: keys, invitations, embed tokens, their sessions, both kinds of
// tickets, sign-in links, codes and their browsers, and both secrets of sessions.
var anyToken = regexp.MustCompile(`\bat[kiestplbfon]_[0-9A-Za-z_-]{8}`)

func (s *server) running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// wait returns the exit code, -1 for a signal, once the process has ended.
func (s *server) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.ended:
		return s.process.ProcessState.ExitCode()
	case <-time.After(patience):
		_ = s.process.Process.Kill()
		t.Fatalf("the server has not ended\nit wrote: %s", s.stderr)
		return 0
	}
}

// stop ends the server as an operator does, and expects a clean exit.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t); code != 0 {
		t.Errorf("the server ended with %d\nit wrote: %s", code, s.stderr)
	}
}

// kill ends the server as a power failure does.
func (s *server) kill(t *testing.T) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	s.wait(t)
}

func (s *server) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	s.closeStore()
	if err := s.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

func (d *deployment) command(args ...string) *exec.Cmd {
	d.closeStore()
	file := binary
	if d.isPlain || slices.Contains([]string{"user", "token", "keys"}, args[0]) {
		file = plain
	}
	c := exec.Command(file, args...)
	c.Dir, c.Env = d.folder, d.env
	return c
}

// result is what a command wrote and how it ended.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command of the deployment to its end.
func (d *deployment) run(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := d.command(args...)
	c.Stdout, c.Stderr = &stdout, &stderr
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() }) // in case a start that should be refused is not
	defer late.Stop()
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// must is run for a command that is expected to succeed.
func (d *deployment) must(t *testing.T, args ...string) string {
	t.Helper()
	r := d.run(t, args...)
	if r.code != 0 {
		t.Fatalf("atrium %s ended with %d: %s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// output keeps what a process writes, for a test to wait for.
type output struct {
	mu   sync.Mutex
	text []byte
	more chan struct{} // closed by the next write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	close(o.more)
	o.more = make(chan struct{})
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// await returns the first match of pattern, which s is about to write.
func (o *output) await(t *testing.T, s *server, pattern *regexp.Regexp) []string {
	t.Helper()
	late := time.After(patience)
	for {
		o.mu.Lock()
		found, extra := pattern.FindStringSubmatch(string(o.text)), o.more
		o.mu.Unlock()
		if found != nil {
			return found
		}
		select {
		case <-extra:
		case <-s.ended:
			if found := pattern.FindStringSubmatch(o.String()); found != nil {
				return found
			}
			t.Fatalf("the server ended with %d before it wrote %q\nit wrote: %s", s.process.ProcessState.ExitCode(),
				pattern, s.stderr)
		case <-late:
			t.Fatalf("the server has not written %q\nit wrote: %s", pattern, s.stderr)
		}
	}
}
