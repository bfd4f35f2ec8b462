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
	want := job.Job{ID: j.ID, Kind: "thing.check", Org: "org_a", Workspace: "wsp_a", Subject: "thg_1",
		Due: now.Add(time.Hour), CreatedAt: now}
	if d := cmp.Diff(want, j); d != "" || !id.Valid(job.Prefix, string(j.ID)) || j.Due.Location() != time.UTC {
		t.Errorf("id %q, (-want +got):\n%s", j.ID, d)
	}
}

func TestTheActorOfAJobIsTheSystemInItsWorkspace(t *testing.T) {
	j := job.New(identity.System("org_a", "wsp_a", "test", now), "thing.check", "thg_1", now)
	by := j.Actor(now.Add(time.Minute))
	if d := cmp.Diff(identity.System("org_a", "wsp_a", "thing.check "+string(j.ID), now.Add(time.Minute)),
		by); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
