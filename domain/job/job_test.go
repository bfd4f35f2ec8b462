package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

func TestAJobBelongsToTheWorkspaceOfWhoAskedForIt(t *testing.T) {
	by := identity.System("org_a", "wsp_a", "test", now)
	j := job.New(by, "thing.check", "thg_1", now.Add(time.Hour).In(time.FixedZone("east", 3600)))
	want := job.Job{ID: j.ID, Kind: "thing.check", Org: "org_a", Workspace: "wsp_a", Subject: "thg_1", Due: now.Add(time.Hour), CreatedAt: now}
	if d := cmp.Diff(want, j); d != "" || !id.Valid(job.Prefix, string(j.ID)) || j.Due.Location() != time.UTC {
		t.Errorf("id %q, (-want +got):\n%s", j.ID, d)
	}
}

func TestTheActorOfAJobIsTheSystemInItsWorkspace(t *testing.T) {
	j := job.New(identity.System("org_a", "wsp_a", "test", now), "thing.check", "thg_1", now)
	by := j.Actor(now.Add(time.Minute))
	if d := cmp.Diff(identity.System("org_a", "wsp_a", "thing.check "+string(j.ID), now.Add(time.Minute)), by); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRetriesWaitTwiceAsLongEachTimeUntilTheAttemptsEnd(t *testing.T) {
	p := job.Policy{Attempts: 100}
	for _, tt := range []struct {
		name    string
		attempt int
		chance  float64
		wait    time.Duration
		again   bool
	}{
		{"after the first attempt ten seconds", 1, 0.5, 10 * time.Second, true},
		{"at least a quarter less", 1, 0, 7500 * time.Millisecond, true},
		{"at most a quarter more", 1, 1, 12500 * time.Millisecond, true},
		{"after the second twice that", 2, 0.5, 20 * time.Second, true},
		{"after the ninth less than an hour", 9, 0.5, 2560 * time.Second, true},
		{"after the tenth an hour", 10, 0.5, time.Hour, true},
		{"never more, whatever the number", 99, 0.5, time.Hour, true},
		{"one that never began waits like the first", 0, 0.5, 10 * time.Second, true},
		{"after the last one there is none", 100, 0.5, 0, false},
		{"nor after one beyond", 101, 0.5, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if wait, again := p.Retry(job.Job{Attempt: tt.attempt}, tt.chance); wait != tt.wait || again != tt.again {
				t.Errorf("Retry = %s, %v", wait, again)
			}
		})
	}
}
