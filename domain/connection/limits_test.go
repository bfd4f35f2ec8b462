package connection_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestAdmit(t *testing.T) {
	limits := connection.ProbeLimits{WorkspacePerMinute: 3, TargetPerHour: 5}
	ago := func(all ...time.Duration) connection.Attempts {
		var a connection.Attempts
		for _, d := range all {
			a = append(a, start.Add(-d))
		}
		return a
	}
	const s, m = time.Second, time.Minute
	for name, tt := range map[string]struct {
		workspace, target connection.Attempts
		wait              time.Duration // 0: admitted
		left              [2]int        // attempts that are remembered
	}{
		"the first":                                  {nil, nil, 0, [2]int{1, 1}},
		"the last that may":                          {ago(59*s, 1*s), ago(59*m, 30*m, 20*m, 10*m), 0, [2]int{3, 5}},
		"a workspace that was too busy waits":        {ago(50*s, 40*s, 30*s), nil, 10 * s, [2]int{3, 0}},
		"so does a target, for all callers together": {nil, ago(59*m, 30*m, 20*m, 10*m, 5*m), 1 * m, [2]int{0, 5}},
		"the longer wait is told": {ago(50*s, 40*s, 30*s), ago(58*m, 30*m, 20*m, 10*m, 5*m), 2 * m,
			[2]int{3, 5}},
		"what is over is forgotten": {ago(90*s, 60*s, 59*s, 1*s),
			ago(2*time.Hour, time.Hour, time.Minute), 0, [2]int{3, 2}},
		"a limit that was lowered waits for the rest": {ago(50*s, 40*s, 30*s, 20*s, 10*s), nil, 30 * s, [2]int{5, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			err := limits.Admit(&tt.workspace, &tt.target, start)
			if tt.wait == 0 && err != nil {
				t.Fatal(err)
			}
			var f *fault.Error
			if tt.wait > 0 && (!errors.Is(err, connection.ErrProbeRateLimited) || !errors.As(err, &f) ||
				f.RetryAfter != tt.wait) {
				t.Fatalf("error = %#v, want one that waits %s", err, tt.wait)
			}
			if got := [2]int{len(tt.workspace), len(tt.target)}; got != tt.left {
				t.Errorf("remembered %v, want %v", got, tt.left)
			}
		})
	}
	if connection.ErrProbeRateLimited.RetryAfter != 0 {
		t.Error("the sentinel was changed")
	}
}

func TestTarget(t *testing.T) {
	parse := func(k connection.Kind, text string) connection.Credential {
		c, err := connection.ParseCredential(k, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
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
			if got := one.Target("org") == tt.other.Target(identity.OrgID(tt.org)); got != tt.same {
				t.Errorf("the same target: %v", got)
			}
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
	var workspace, target connection.Attempts
	admit := func(after time.Duration) error { return limits.Admit(&workspace, &target, start.Add(after)) }
	for i := range 60 {
		if err := admit(0); err != nil {
			t.Fatalf("preview %d: %v", i, err)
		}
	}
	refused := func(after, wait time.Duration) {
		t.Helper()
		var f *fault.Error
		if err := admit(after); !errors.Is(err, connection.ErrPreviewRateLimited) || !errors.As(err, &f) ||
			f.RetryAfter != wait {
			t.Errorf("after %s: %#v, want one that waits %s", after, err, wait)
		}
	}
	refused(0, time.Second)
	refused(500*time.Millisecond, 500*time.Millisecond) // a refused call does not count
	if err := admit(time.Second); err != nil {
		t.Error(err)
	}
	refused(time.Second, time.Second)
	for i := range 42 {
		if err := admit(2 * time.Minute); err != nil {
			t.Fatalf("preview %d after two minutes: %v", i, err)
		}
	}
	refused(2*time.Minute, 24*time.Second) // because of the target
	if len(workspace) != 1 || len(target) != 1 {
		t.Errorf("%d and %d times are remembered", len(workspace), len(target))
	}
}
