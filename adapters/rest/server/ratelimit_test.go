package server

import (
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestLimiter(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type request struct {
		after   time.Duration // since start
		caller  string
		allowed bool
		limit   string // RateLimit
		retry   string // Retry-After
	}
	for name, requests := range map[string][]request{
		"a burst, then the steady rate": {
			{0, "a", true, `"default";r=2;t=1`, ""},
			{0, "a", true, `"default";r=1;t=1`, ""},
			{0, "a", true, `"default";r=0;t=2`, ""},
			{0, "a", false, `"default";r=0;t=2`, "1"},
			{400 * time.Millisecond, "a", false, `"default";r=0;t=2`, "1"},
			{500 * time.Millisecond, "a", true, `"default";r=0;t=2`, ""},
			{10 * time.Second, "a", true, `"default";r=2;t=1`, ""},
		},
		"callers do not share": {
			{0, "a", true, `"default";r=2;t=1`, ""}, {0, "a", true, `"default";r=1;t=1`, ""},
			{0, "a", true, `"default";r=0;t=2`, ""}, {0, "a", false, `"default";r=0;t=2`, "1"},
			{0, "b", true, `"default";r=2;t=1`, ""},
		},
		"the addresses of one IPv6 network do": {
			{0, "2001:db8::1", true, `"default";r=2;t=1`, ""}, {0, "2001:db8::2", true, `"default";r=1;t=1`, ""},
			{0, "2001:db8:0:0:ffff::3", true, `"default";r=0;t=2`, ""},
			{0, "2001:db8::4", false, `"default";r=0;t=2`, "1"}, {0, "2001:db8:0:1::1", true, `"default";r=2;t=1`, ""},
		},
		"what is refused costs nothing": {
			{0, "a", true, `"default";r=2;t=1`, ""}, {0, "a", true, `"default";r=1;t=1`, ""},
			{0, "a", true, `"default";r=0;t=2`, ""},
			{1, "a", false, `"default";r=0;t=2`, "1"}, {2, "a", false, `"default";r=0;t=2`, "1"},
			{3, "a", false, `"default";r=0;t=2`, "1"},
			{500 * time.Millisecond, "a", true, `"default";r=0;t=2`, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLimiter(120, 3)
			for i, r := range requests {
				w := httptest.NewRecorder()
				isAllowed := l.Allow(w, r.caller, start.Add(r.after))
				if isAllowed != r.allowed || w.Header().Get("Ratelimit") != r.limit ||
					w.Header().Get("Retry-After") != r.retry {
					t.Errorf("request %d: allowed %v, %v; want %+v", i, isAllowed, w.Header(), r)
				}
				assert.Equal(t, "policy", w.Header().Get("Ratelimit-Policy"), `"default";q=120;w=60`)
			}
		})
	}
	t.Run("who has been quiet is forgotten", func(t *testing.T) {
		l := NewLimiter(60, 10)
		for i := range 1000 {
			l.Allow(httptest.NewRecorder(), strconv.Itoa(i), start)
		}
		l.Allow(httptest.NewRecorder(), "later", start.Add(2*time.Minute))
		assert.Equal(t, "callers are remembered", len(l.buckets), 1)
	})
	t.Run("who waits as long as Retry-After says is let in", func(t *testing.T) {
		for _, perMinute := range []int{1, 7, 60, 601} {
			l := NewLimiter(perMinute, 1)
			l.Allow(httptest.NewRecorder(), "a", start)
			w := httptest.NewRecorder()
			if l.Allow(w, "a", start) {
				t.Fatalf("%d a minute: no limit", perMinute)
			}
			seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
			if err != nil || !l.Allow(httptest.NewRecorder(), "a", start.Add(time.Duration(seconds)*time.Second)) {
				t.Errorf("%d a minute: after %d s still refused", perMinute, seconds)
			}
		}
	})
}

func TestGroup(t *testing.T) {
	for caller, want := range map[string]string{
		"key_1": "key_1", "203.0.113.9": "203.0.113.9", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0":       "fe80::/64",
		"::ffff:203.0.113.9": "::ffff:203.0.113.9", "": "",
	} {
		if got := identity.AddressGroup(caller); got != want {
			t.Errorf("group(%q) = %q, want %q", caller, got, want)
		}
	}
}
