package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestStopUnderLoad compares three counts: responses that clients received, requests that the server logged, and
// effects. They differ if an accepted request fails. Another client reads a stream, which does not end by itself.
func TestStopUnderLoad(t *testing.T) {
	stops := proof.Sample(5, 100) // on each engine
	onEach(t, func(t *testing.T, engine string) {
		d := deploy(t, engine, set("log.level", "info"))
		s := d.start(t)
		ann, admin := s.user(t, "member"), s.user(t, "admin")
		var answeredCount, number atomic.Int64
		servedCount := 0
		var took []time.Duration // from the last answer, or the signal if that came later, to the end
		for range stops {
			var clients sync.WaitGroup
			var last atomic.Int64 // time of the last response
			listening := ann.at(s).stream(t, "")
			for range 4 {
				c := ann.at(s)
				clients.Go(func() {
					for {
						a, err := c.try(t, "POST", templates, object{"name": fmt.Sprint("load ", number.Add(1))})
						if err != nil {
							return // the server accepts no more requests
						}
						if a.status != 201 {
							t.Errorf("an accepted request failed: %s", a)
						}
						answeredCount.Add(1)
						last.Store(time.Now().UnixNano())
					}
				})
			}
			enoughCount := answeredCount.Load() + rand.Int64N(50)
			proof.Eventually(t, "it serves", func() bool { return answeredCount.Load() >= enoughCount }, s.stderr)
			reportedAt := time.Now()
			s.stop(t)
			end := time.Now()
			clients.Wait()
			listening.ends(patience)
			took = append(took, min(end.Sub(reportedAt), end.Sub(time.Unix(0, last.Load()))))
			servedCount += strings.Count(s.stderr.String(), `"route":"/api/prompt-templates","status":201`)
			if strings.Contains(s.stderr.String(), `"status":5`) {
				t.Errorf("the server answered 5xx:\n%s", s.stderr)
			}
			s = d.start(t)
		}
		done := 0
		for cursor := ""; cursor != "null"; {
			p := admin.at(s).get(t, "/api/events?limit=100&type=prompt_template.created"+cursor)
			done += len(p.items(t))
			if cursor = p.at("next_cursor"); cursor != "null" {
				cursor = "&cursor=" + cursor
			}
		}
		slices.Sort(took)
		slowest := took[len(took)-1]
		t.Logf("%d stops, %d requests accepted, none of which may fail; the process ended within %s of the last "+
			"answer, half of them within %s",
			stops, servedCount, slowest.Round(time.Millisecond), took[len(took)/2].Round(time.Millisecond))
		if proof.Running() && slowest > time.Second {
			t.Errorf("it took %s to end", slowest)
		}
		if n := int(answeredCount.Load()); n != servedCount || n != done || n == 0 {
			t.Errorf("clients were answered %d times, the server served %d requests, and %d took effect", n,
				servedCount, done)
		}
	})
}

// stuck is a request whose body never ends, so that it runs as long as the server allows.
func (c *client) stuck(t *testing.T) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.server.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", templates, c.token)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // 100 Continue: the handler reads the body
		t.Fatal(err)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	stopping := regexp.MustCompile(`"msg":"stopping"`)

	t.Run("a stop during the start is no failure", func(t *testing.T) {
		t.Parallel()
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer silent.Close()
		d := deploy(t, sqlite, set("database.url", "postgres://atrium@"+silent.Addr().String()+
			"/atrium?sslmode=disable"))
		s := d.launch(t)
		conn, err := silent.Accept() // it waits for its database, which does not answer
		require.NoError(t, err)
		defer conn.Close()
		s.signal(t, syscall.SIGTERM)
		if code := s.wait(t); code != 0 {
			t.Errorf("it ended with %d: %s", code, s.stderr)
		}
	})
	t.Run("a second signal ends the process at once", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite, set("server.shutdown_timeout", "1h"))
		s.user(t, "member").stuck(t)
		s.signal(t, syscall.SIGTERM)
		s.stderr.await(t, s, stopping)
		begin := time.Now()
		s.signal(t, syscall.SIGINT)
		if code := s.wait(t); code == 0 {
			t.Error("it ended with 0")
		}
		proof.Within(t, "the end", time.Since(begin), 5*time.Second)
	})
	t.Run("a request that does not end is cut off when the time is over", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite, set("server.shutdown_timeout", "1s"))
		s.user(t, "member").stuck(t)
		s.signal(t, syscall.SIGTERM)
		if code := s.wait(t); code != 1 || !strings.Contains(s.stderr.String(), "cut off after 1s") {
			t.Errorf("it ended with %d: %s", code, s.stderr)
		}
	})
	t.Run("a stopping server accepts no new connection", func(t *testing.T) {
		t.Parallel()
		s := start(t, sqlite, set("server.shutdown_timeout", "2s"))
		s.user(t, "member").stuck(t)
		s.signal(t, syscall.SIGTERM)
		s.stderr.await(t, s, stopping)
		proof.Eventually(t, "it takes no connections", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		s.wait(t)
	})
}

// reload gives the server another file, and expects the given log message.
func (s *server) reload(t *testing.T, config, report string) {
	t.Helper()
	const word = "the configuration was"
	previous := strings.Count(s.stderr.String(), word)
	s.configure(config)
	s.signal(t, syscall.SIGHUP)
	s.stderr.await(t, s, regexp.MustCompile(fmt.Sprintf(`(?s)(?:%s.*){%d}`, word, previous+1)))
	lines := strings.Split(strings.TrimSpace(s.stderr.String()), "\n")
	for i := len(lines) - 1; ; i-- {
		if strings.Contains(lines[i], word) {
			assert.Contains(t, "the log says", lines[i], report)
			return
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	const orgs = `
orgs:
  - {slug: default, hosts: [%s], cors_origins: [https://app.example.com]}
%s`
	s := start(t, sqlite, configured(fmt.Sprintf(orgs, "old.example.com", "")))
	ann := s.user(t, "member")
	answers := func(t *testing.T, host string) bool {
		t.Helper()
		return ann.do(t, "GET", "/api/me", nil, "Host: "+host).status == 200
	}

	t.Run("SIGHUP applies the orgs of the file", func(t *testing.T) {
		s.reload(t, fmt.Sprintf(orgs, "new.example.com", "  - {slug: second, hosts: [second.example.com]}"),
			"the configuration was reloaded")
		if answers(t, "old.example.com") || !answers(t, "new.example.com") {
			t.Error("the old host answers, or the new one does not")
		}
		s.user(t, "owner", "--org", "second").get(t, "/api/me", "Host: second.example.com").has(t,
			map[string]string{"org.slug": "second"})
	})
	t.Run("a reload names the settings that it does not apply, and removed orgs", func(t *testing.T) {
		s.reload(t, fmt.Sprintf(orgs, "new.example.com", "server: {request_timeout: 7s}\nmetrics: {addr: 127.0.0.1:0}"),
			"the configuration was reloaded")
		for _, want := range []string{`"keys":["server.request_timeout","metrics.addr"]`, `"org":"second"`} {
			if !strings.Contains(s.stderr.String(), want) {
				t.Errorf("the log does not say %s:\n%s", want, s.stderr)
			}
		}
	})
	t.Run("a reload reports a claim rule that admits no one", func(t *testing.T) {
		s.reload(t, `
orgs:
  - slug: default
    hosts: [new.example.com]
    claim_rules:
      - {claim: groups, value: eng, workspace: nowhere, role: member}
      - {claim: groups, value: eng, workspace: default, role: member}
`, "the configuration was reloaded")
		s.stderr.await(t, s, regexp.MustCompile(`claim_rules\[0\] of the org default names the workspace nowhere`))
		if strings.Contains(s.stderr.String(), "claim_rules[1]") {
			t.Errorf("the log says:\n%s", s.stderr)
		}
		if out := s.must(t, "doctor"); !strings.Contains(out,
			"WARNING claim rules    claim_rules[0] of the org default names the workspace nowhere") {
			t.Errorf("doctor says:\n%s", out)
		}
	})
	t.Run("a reload of an invalid file changes nothing, and says why", func(t *testing.T) {
		s.reload(t, fmt.Sprintf(orgs, "third.example.com", "  - {slug: UPPER, hosts: [x.example.com]}"),
			"orgs[1].slug: must be")
		s.reload(t, "orgs: [", "the configuration was not reloaded")
		if answers(t, "third.example.com") || !answers(t, "new.example.com") {
			t.Error("a part of an invalid file was taken over")
		}
	})
}
