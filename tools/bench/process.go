package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// machine is where programs run.
type machine struct {
	dir     string // for everything that they write
	binary  string // Atrium
	engines []engine
	round   time.Duration // how long each of those that take turns is loaded at a time
	report
}

// buildAtrium builds Atrium as releases do, and returns the path of a copy of the binary, as an installation creates
// one. The kernel keeps what the linker has just written in pieces of up to 2 MB. Since Linux 6.18, it maps a whole
// piece as soon as one page of it is used, so that a process seems to need 7 to 16 MB more.
func buildAtrium(ctx context.Context, dir string) (path string, err error) {
	linked, path := filepath.Join(dir, "linked"), filepath.Join(dir, "atrium")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", linked, "./cmd/atrium")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ./cmd/atrium: %w\n%s", err, out)
	}
	from, err := os.Open(linked)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return path, errors.Join(err, to.Close(), os.Remove(linked))
}

// program is a server that runs.
type program struct {
	addr    string
	metrics string        // where it tells what it has used
	ready   time.Duration // from before the exec until it answered
	cmd     *exec.Cmd
}

// serveAtrium starts Atrium on d, as a service manager would: with the default log, in a file.
// Only the limits of callers are raised, which would end every load, and Prometheus may scrape. flags are
// further ones.
func (m *machine) serveAtrium(ctx context.Context, d database, data string, flags ...string) (*program, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	cmd := m.atrium(ctx, d, data, append([]string{"serve", "--addr", addr}, flags...)...)
	cmd.Env = append(cmd.Env, "ATRIUM_SERVER_RATE_LIMIT_PER_MINUTE=1000000", "ATRIUM_SERVER_RATE_LIMIT_BURST=1000000",
		"ATRIUM_SERVER_CONCURRENCY_PER_CALLER=1000", "ATRIUM_SERVER_CONCURRENCY_PER_WORKSPACE=1000",
		"ATRIUM_SERVER_STREAMS_PER_WORKSPACE=1000000", "ATRIUM_SERVER_STREAMS_PER_ADDRESS=1000000",
		"ATRIUM_CONNECTIONS_PREVIEW_LIMITS_WORKSPACE_PER_MINUTE=100000",
		"ATRIUM_CONNECTIONS_PREVIEW_LIMITS_TARGET_PER_HOUR=100000",
		"ATRIUM_PAYMENTS_CARD_LIMITS_SETUP_INTENTS_PER_HOUR=0", "ATRIUM_PAYMENTS_CARD_LIMITS_OPEN_SETUP_INTENTS=0",
		"ATRIUM_METRICS_ADDR="+metrics)
	p, err := start(ctx, cmd, addr, "/api/health/ready", data+".log")
	if err == nil {
		p.metrics = metrics
	}
	return p, err
}

// beside is an Atrium and a floor on the same database.
type beside struct {
	atrium, floor *program
	owner         person
	prompt        published // which both of them can be asked for
}

// serveBeside starts both. flags are Atrium's.
func (m *machine) serveBeside(ctx context.Context, d database, data string, flags ...string) (b beside, err error) {
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if b.owner, err = m.createUser(ctx, d, data, "owner"); err != nil {
		return b, err
	}
	if b.atrium, err = m.serveAtrium(ctx, d, data, flags...); err != nil {
		return b, err
	}
	if b.prompt, err = publish(ctx, b.atrium, b.owner.Token, "sales/summarise-call"); err != nil {
		return b, err
	}
	b.floor, err = m.serveFloor(ctx, d)
	return b, err
}

func (b beside) stop() {
	for _, p := range []*program{b.floor, b.atrium} {
		if p != nil {
			p.stop()
		}
	}
}

// serveFloor starts the floor on d.
func (m *machine) serveFloor(ctx context.Context, d database) (*program, error) {
	p, err := m.serveSelf(ctx, floorArgument, d)
	if err == nil {
		p.metrics = p.addr
	}
	return p, err
}

// serveSelf starts what this program becomes by an argument.
func (m *machine) serveSelf(ctx context.Context, what string, d database) (*program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	return start(ctx, exec.CommandContext(ctx, self, what, addr, d.url), addr, "/ready",
		filepath.Join(m.dir, what+".log"))
}

// atrium is a command of Atrium's on d. It inherits no settings.
func (m *machine) atrium(ctx context.Context, d database, data string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.binary, append(args, "--data", data)...)
	cmd.Env = []string{"ATRIUM_DATABASE_URL=" + d.url}
	return cmd
}

// person is a user that createUser created.
type person struct {
	User      string `json:"user_id"`
	Workspace string `json:"workspace_id"`
	Token     string `json:"token"`
}

func (m *machine) createUser(
	ctx context.Context, d database, data, role string, flags ...string,
) (p person, err error) {
	if out, err := m.atrium(ctx, d, data, "migrate").CombinedOutput(); err != nil {
		return p, fmt.Errorf("atrium migrate: %w: %s", err, out)
	}
	args := append([]string{"user", "create", "--email", role + "@example.com", "--role", role, "--json"}, flags...)
	out, err := m.atrium(ctx, d, data, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return p, fmt.Errorf("atrium user create: %w: %s", err, exit.Stderr)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(out, &p)
}

// start runs a server until it answers path with 200. It writes what it has to say to log.
func start(ctx context.Context, cmd *exec.Cmd, addr, path, log string) (*program, error) {
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{addr: addr, cmd: cmd}
	for p.ready < 30*time.Second && ctx.Err() == nil {
		status, _, err := p.get(ctx, path, "")
		p.ready = time.Since(begun)
		if err == nil && status == http.StatusOK {
			return p, nil
		}
		time.Sleep(time.Millisecond)
	}
	p.stop()
	said, _ := os.ReadFile(log) // it may have said nothing
	return nil, fmt.Errorf("%s was not ready after %s:\n%s", filepath.Base(cmd.Path), p.ready, said)
}

// stop ends the program and waits for it.
func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = p.cmd.Wait()
}

// get answers one GET, on a connection of its own.
func (p *program) get(ctx context.Context, path, token string) (status int, body []byte, err error) {
	return p.send(ctx, http.MethodGet, path, token, "")
}

func (p *program) send(ctx context.Context, method, path, token, body string) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	var buf bytes.Buffer
	_, err = buf.ReadFrom(resp.Body)
	return resp.StatusCode, buf.Bytes(), err
}

// post sends body and reads what was made, or changed, into made.
func (p *program) post(ctx context.Context, path, token, body string, made any) error {
	status, answer, err := p.send(ctx, http.MethodPost, path, token, body)
	if err != nil {
		return err
	}
	if status >= 300 {
		return fmt.Errorf("POST %s: %d %s", path, status, answer)
	}
	return json.Unmarshal(answer, made)
}

// freeAddress is an address of this machine on which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
