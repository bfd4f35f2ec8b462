package connection_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAdmit(t *testing.T) {
	limits := connection.ProbeLimits{WorkspacePerMinute: 3, TargetPerHour: 12}
	ago := func(all ...time.Duration) connection.Attempts {
		var a connection.Attempts
		for _, d := range all {
			a = append(a, start.Add(-d))
		}
		return a
	}
	call := func(n int, d time.Duration) connection.Attempts { // the last one d ago, and the others before it
		var all []time.Duration
		for i := range n {
			all = append(all, time.Duration(n-i)*d)
		}
		return ago(all...)
	}
	const s, m = time.Second, time.Minute
	for name, tt := range map[string]struct {
		counts connection.Counts
		wait   time.Duration // 0: admitted
		left   [2]int        // attempts that are remembered
	}{
		"the first":                     {connection.Counts{}, 0, [2]int{1, 1}},
		"the last that may":             {connection.Counts{Workspace: ago(59*s, 1*s), Target: call(11, m)}, 0, [2]int{3, 12}},
		"a workspace that was too busy": {connection.Counts{Workspace: ago(50*s, 40*s, 30*s)}, 10 * s, [2]int{3, 0}},
		"a workspace at its target":     {connection.Counts{Target: call(12, m)}, 48 * m, [2]int{0, 12}},
		"the longer wait is told": {connection.Counts{Workspace: ago(50*s, 40*s, 30*s), Target: call(12, m)}, 48 * m,
			[2]int{3, 12}},
		"what is over is forgotten": {connection.Counts{Workspace: ago(90*s, 60*s, 59*s, 1*s),
			Target: ago(2*time.Hour, time.Hour, time.Minute)}, 0, [2]int{3, 2}},
		"a limit that was lowered": {connection.Counts{Workspace: ago(50*s, 40*s, 30*s, 20*s, 10*s)}, 30 * s, [2]int{5, 0}},
		"a workspace whose target others attack": {connection.Counts{Failed: call(12, s)}, 0,
			[2]int{1, 1}},
		"the second new credential there": {connection.Counts{Failed: call(12, s), Target: ago(9 * m)}, 0,
			[2]int{1, 2}},
		"the third new credential there": {connection.Counts{Failed: call(12, s), Target: ago(9*m, 8*m)}, 51 * m,
			[2]int{0, 2}},
		"the third until the failures are over": {connection.Counts{Failed: append(ago(59*m), call(11, s)...),
			Target: ago(9*m, 8*m)}, 1 * m, [2]int{0, 2}},
		"a test, which has no failed sign-ins": {connection.Counts{Target: call(11, m)}, 0, [2]int{1, 12}},
		"the second new credential after twice as many failures": {connection.Counts{Failed: call(24, s),
			Target: ago(9 * m)}, 51 * m, [2]int{0, 1}},
		"the first after many more":     {connection.Counts{Failed: call(36, s)}, 0, [2]int{1, 1}},
		"a new one with fewer failures": {connection.Counts{Failed: call(11, s), Target: call(11, m)}, 0, [2]int{1, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			err := limits.Admit(&tt.counts, start)
			if tt.wait == 0 && err != nil {
				t.Fatal(err)
			}
			var f *fault.Error
			if tt.wait > 0 && (!errors.Is(err, connection.ErrProbeRateLimited) || !errors.As(err, &f) ||
				f.RetryAfter != tt.wait) {
				t.Fatalf("error = %#v, want one that waits %s", err, tt.wait)
			}
			assert.Equal(t, "remembered", [2]int{len(tt.counts.Workspace), len(tt.counts.Target)}, tt.left)
		})
	}
	t.Run("as many failures are kept as limit others", func(t *testing.T) {
		counts := connection.Counts{Failed: append(ago(time.Hour), call(36, s)...)}
		limits.Refuse(&counts, start)
		if n := len(counts.Failed); n != 36 || !counts.Failed[35].Equal(start) ||
			counts.Failed[0].Equal(ago(36 * s)[0]) {
			t.Errorf("%v is kept", counts.Failed)
		}
	})
	if connection.ErrProbeRateLimited.RetryAfter != 0 {
		t.Error("the sentinel was changed")
	}
}

func TestOnlyARefusedCredentialIsAFailedSignIn(t *testing.T) {
	for code, want := range map[connection.Code]bool{
		"": false, connection.AuthFailed: true, connection.AuthRejected: true, connection.SSHAuthFailed: true,
		connection.PortClosed: false, connection.DatabaseNotFound: false, connection.TLSUntrusted: false,
	} {
		r := connection.Report{Checks: []connection.Check{{Result: connection.OK}}}
		if code != "" {
			r.Checks = append(r.Checks, connection.Check{Result: connection.Failed, Code: code})
		}
		if got := r.RefusesCredential(); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}

func TestTarget(t *testing.T) {
	parse := func(k connection.Kind, text string) connection.Credential {
		c, err := connection.ParseCredential(k, []byte(text))
		require.NoError(t, err)
		return c
	}
	one := parse(connection.Postgres, `{"host": "db.example.com", "database": "a", "username": "u", "password": "p"}`)
	for name, tt := range map[string]struct {
		other connection.Credential
		org   string
		same  bool
	}{
		"another user, database and password": {
			parse(connection.Postgres, `{"host": "db.example.com", "database": "b", "username": "v"}`), "org", true},
		"the default port, spelled out": {
			parse(connection.Postgres, `{"host": "db.example.com", "port": 5432, "database": "a", "username": "u"}`),
			"org", true},
		"the host in other letters, with a dot": {parse(connection.Postgres, `{"host": "DB.Example.com.", "database": "a", "username": "u"}`), "org", true},
		"another port":                          {parse(connection.Postgres, `{"host": "db.example.com", "port": 5433, "database": "a", "username": "u"}`), "org", false},
		"another host":                          {parse(connection.Postgres, `{"host": "db2.example.com", "database": "a", "username": "u"}`), "org", false},
		"another org":                           {one, "org2", false},
		"a file":                                {parse(connection.SQLite, `{"file": "demo.db"}`), "org", false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "the same target", one.Target("org") == tt.other.Target(identity.OrgID(tt.org)), tt.same)
		})
	}
	if c := made(t); c.Target() != one.Target("org") {
		t.Error("a connection reaches another target than its credential")
	}
	a, b := parse(connection.SQLite, `{"file": "a.db"}`), parse(connection.SQLite, `{"file": "b.db"}`)
	if a.Target("org") == b.Target("org") {
		t.Error("two files are one target")
	}
}

func TestPreviewsMayComeInBurstsAndEvenlyAfterwards(t *testing.T) {
	limits := connection.PreviewLimits{WorkspacePerMinute: 60, TargetPerHour: 100}
	var counts connection.Counts
	admit := func(delay time.Duration) error { return limits.Admit(&counts, start.Add(delay)) }
	for i := range 60 {
		if err := admit(0); err != nil {
			t.Fatalf("preview %d: %v", i, err)
		}
	}
	refuses := func(delay, wait time.Duration) {
		t.Helper()
		var f *fault.Error
		if err := admit(delay); !errors.Is(err, connection.ErrPreviewRateLimited) || !errors.As(err, &f) ||
			f.RetryAfter != wait {
			t.Errorf("after %s: %#v, want one that waits %s", delay, err, wait)
		}
	}
	refuses(0, time.Second)
	refuses(500*time.Millisecond, 500*time.Millisecond) // a refused call does not count
	assert.NoError(t, admit(time.Second))
	refuses(time.Second, time.Second)
	for i := range 42 {
		if err := admit(2 * time.Minute); err != nil {
			t.Fatalf("preview %d after two minutes: %v", i, err)
		}
	}
	refuses(2*time.Minute, 24*time.Second) // because of the target
	if len(counts.Workspace) != 1 || len(counts.Target) != 1 {
		t.Errorf("%d and %d times are remembered", len(counts.Workspace), len(counts.Target))
	}
}
