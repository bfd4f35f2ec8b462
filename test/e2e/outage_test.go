package e2e

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// behind puts a proxy between the deployment and its PostgreSQL.
func behind(t *testing.T, p **fixture.Proxy) option {
	return func(d *deployment) {
		u, err := url.Parse(d.database)
		if err != nil {
			t.Fatal("the database has no URL")
		}
		*p = fixture.NewProxy(t, u.Host)
		u.Host = (*p).Addr()
		query := u.Query()
		query.Del("connect_timeout") // as operators have it
		u.RawQuery = query.Encode()
		set("database.url", u.String())(d)
	}
}

// deadline is server.request_timeout of these tests.
const deadline = 5 * time.Second

// timed is a response and its latency.
type timed struct {
	*answer
	took time.Duration
}

// wave sends reads and writes concurrently.
func (c *client) wave(t *testing.T, template string) []timed {
	t.Helper()
	calls := []func() (*answer, error){
		func() (*answer, error) { return c.try(t, "GET", templates, nil) },
		func() (*answer, error) { return c.try(t, "GET", template, nil) },
		func() (*answer, error) {
			return c.try(t, "PATCH", template, object{"description": time.Now().String()})
		},
		func() (*answer, error) { return c.try(t, "POST", templates, object{"name": time.Now().String()}) },
		func() (*answer, error) {
			return c.try(t, "POST", templates, object{"name": time.Now().String()},
				fmt.Sprint("Idempotency-Key: ", time.Now().UnixNano()))
		},
	}
	out, errs := make([]timed, len(calls)), make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			begin := time.Now()
			out[i].answer, errs[i] = call()
			out[i].took = time.Since(begin)
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return out
}

// recovers waits until all requests succeed again.
func (c *client) recovers(t *testing.T, template string) {
	t.Helper()
	for begin := time.Now(); ; {
		failures := 0
		for _, a := range c.wave(t, template) {
			if a.status >= 500 {
				failures++
			}
		}
		if failures == 0 {
			t.Logf("it recovered in %s", time.Since(begin))
			break
		}
		if time.Since(begin) > patience {
			t.Fatalf("after %s there are still %d failures\nthe server wrote: %s", time.Since(begin), failures,
				c.server.stderr)
		}
	}
	c.server.anonymous().get(t, "/api/health/ready")
}

func TestOutage(t *testing.T) {
	t.Parallel()
	var proxy *fixture.Proxy
	s := start(t, postgres, behind(t, &proxy), set("server.request_timeout", deadline.String()))
	ann := s.user(t, "member")
	template := ann.template(t, "survives")
	lives := func(t *testing.T) {
		t.Helper()
		begin := time.Now()
		s.anonymous().get(t, "/api/health/live")
		proof.Within(t, "health", time.Since(begin), time.Second)
	}

	t.Run("requests get 503 at once while the database is cut off, and recover with it", func(t *testing.T) {
		proxy.Cut()
		for range 4 {
			for _, a := range ann.wave(t, template) {
				a.problem(t, 503, "unavailable")
				if a.header.Get("Retry-After") == "" {
					t.Errorf("%s without Retry-After", a)
				}
				proof.Within(t, "the refusal", a.took, time.Second)
			}
			lives(t)
			s.anonymous().do(t, "GET", "/api/health/ready", nil).problem(t, 503, "unavailable")
		}
		proxy.Restore()
		ann.recovers(t, template)
	})
	t.Run("a request to a silent database ends at its deadline", func(t *testing.T) {
		proxy.Swallow(true)
		stop := make(chan struct{})
		var health sync.WaitGroup
		health.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					lives(t)
				}
			}
		})
		for range proof.Sample(1, 2) {
			for _, a := range ann.wave(t, template) {
				if (a.status != 503 && a.status != 504) || a.header.Get("Retry-After") == "" {
					t.Errorf("%s, Retry-After %q", a, a.header.Get("Retry-After"))
				}
				proof.Within(t, "the refusal", a.took, deadline+time.Second)
			}
		}
		close(stop)
		health.Wait()
		proxy.Swallow(false)
		ann.recovers(t, template)
	})
	t.Run("a start without a database fails with a reason and without the password", func(t *testing.T) {
		d := deploy(t, postgres, set("database.url", "postgres://someone:s3cret@127.0.0.1:1/atrium?sslmode=disable"))
		if r := d.run(t, "serve"); r.code != 1 || r.stderr == "" || containsAny(r.stderr, "s3cret", "goroutine") {
			t.Errorf("ended with %d: %s", r.code, r.stderr)
		}
	})
}
