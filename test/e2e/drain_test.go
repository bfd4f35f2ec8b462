package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestDrain tells a server to stop that may drain for longer than the test.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, set("server.drain", "5m"))
	ann := s.user(t, "member")
	listening := ann.stream(t, "")
	s.signal(t, syscall.SIGTERM)
	s.stderr.await(t, s, regexp.MustCompile(`"msg":"draining"`))
	t.Cleanup(func() {
		s.signal(t, syscall.SIGINT) // the second signal ends it at once
		s.wait(t)
	})

	listening.ends(patience)
	t.Run("it is not ready", func(t *testing.T) {
		a := ann.do(t, "GET", "/api/health/ready", nil).is(t, 503)
		if a.header.Get("Retry-After") == "" || a.at("code") != "unavailable" {
			t.Errorf("%s, Retry-After %q", a, a.header.Get("Retry-After"))
		}
		if r := s.run(t, "healthcheck", "--url", s.url); r.code != 1 || !strings.Contains(r.stderr, "not ready: 503") {
			t.Errorf("healthcheck ended with %d: %s", r.code, r.stderr)
		}
	})
	t.Run("it is alive, and serves requests on connections that end with them", func(t *testing.T) {
		ann.do(t, "GET", "/api/health/live", nil).is(t, 200)
		for n := range 3 {
			a := ann.do(t, "POST", templates, object{"name": fmt.Sprint("late ", n)}).is(t, 201)
			if !a.closes {
				t.Errorf("the connection stays open after %s", a)
			}
		}
	})
	t.Run("a reader of a stream is sent away without an error, which EventSource would not survive",
		func(t *testing.T) {
			a := ann.do(t, "GET", "/api/presence/stream", nil).is(t, 200)
			if a.text != "retry: 1000\n\n" || a.header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s: %q", a, a.text)
			}
			s.anonymous().do(t, "GET", "/api/presence/stream", nil).is(t, 401)
		})
}

// TestNoDrainOnATerminal ends a server that runs in a terminal, and that would drain for five minutes.
func TestNoDrainOnATerminal(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, sqlite, set("server.drain", "5m"), set("log.format", "text"))
	terminal := fixture.NewTerminal(t)
	process := d.command("serve", "--addr", "127.0.0.1:0")
	s := &server{deployment: d, process: process, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	process.Stdout, process.Stderr = terminal.TTY, s.stderr
	require.NoError(t, process.Start())
	go func() {
		_ = process.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() { _ = process.Process.Kill() })
	s.stderr.await(t, s, regexp.MustCompile(`msg=serving`))
	s.signal(t, syscall.SIGTERM)
	if code := s.wait(t); code != 0 { // wait fails long before the drain would end
		t.Errorf("it ended with %d: %s", code, s.stderr)
	}
	if log := s.stderr.String(); strings.Contains(log, "draining") || !strings.Contains(log, "msg=stopping") {
		t.Errorf("it wrote: %s", log)
	}
	if text := terminal.Close(); !greeting.MatchString(text) {
		t.Errorf("the terminal shows: %s", text)
	}
}
