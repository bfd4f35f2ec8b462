package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// requesting is a protected template of the team's member, with one approval for editors, the peer among them.
// Its first version is active.
type requesting struct {
	Adapter
	*testing.T
	team    *fixture.Team
	service *prompts.Service
	id      prompt.ID
	v       []*prompt.Version
}

func newRequesting(t *testing.T, a Adapter, d prompt.Draft, versions int) *requesting {
	t.Helper()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	d.Protected, d.Approvals = true, 1
	r := &requesting{Adapter: a, T: t, team: team, id: fixture.Template(t, a.Stores, team.Member, d).ID,
		service: prompts.NewService(a.Atomic, a.PromptStores, a.Users, noQuotas)}
	fixture.Share(t, a.Stores, team.Member, r.id, prompt.Grant{User: team.Peer.User, Role: access.Editor})
	fixture.Share(t, a.Stores, team.Member, r.id, prompt.Grant{User: team.Viewer.User, Role: access.Editor})
	for i := range versions {
		r.v = append(r.v, fixture.Version(t, a.Stores, team.Member, r.id, fmt.Sprint(i)))
	}
	if len(d.RequiredChecks) == 0 {
		fixture.Activate(t, a.Stores, team.Member, r.id, prompt.Ref{Number: 1})
	}
	return r
}

// ask makes a request of the peer.
func (r *requesting) ask(number int, a prompt.Activating) *prompt.ActivationRequest {
	r.Helper()
	_, request, err := r.service.ActivateVersion(r.Context(), r.team.Peer, r.id, prompt.Ref{Number: number}, nil, a)
	must(r, err)
	if request == nil {
		r.Fatal("the version was activated at once")
	}
	return request
}

// ends fails unless the request is in that state for that cause, and as many wait as are counted.
func (r *requesting) ends(id prompt.RequestID, s prompt.RequestState, c prompt.Cause) {
	r.Helper()
	got, err := r.PromptLists.Request(r.Context(), r.team.Workspace.ID, r.id, id)
	must(r, err)
	if got.State != s || got.Cause != c {
		r.Fatalf("the request is %s (%s), want %s (%s)", got.State, got.Cause, s, c)
	}
	r.counted()
}

// counted fails unless as many requests wait as are counted.
func (r *requesting) counted() {
	r.Helper()
	t, err := r.Prompts.Get(r.Context(), r.team.Member, r.id)
	must(r, err)
	open, err := r.PromptLists.OpenRequests(r.Context(), r.team.Workspace.ID, r.id)
	must(r, err)
	if t.OpenRequests != len(open) {
		r.Fatalf("%d requests wait, and %d are counted", len(open), t.OpenRequests)
	}
}

func (r *requesting) active() int {
	r.Helper()
	t, err := r.Prompts.Get(r.Context(), r.team.Member, r.id)
	must(r, err)
	return t.Active.Number
}

func promptRequests(t *testing.T, a Adapter) {
	ctx := t.Context()
	yes := prompt.Decision{Approves: true, Comment: "Good."}
	t.Run("a request is stored as it is, and found in its template only", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{}, 2)
		askedRequest := r.ask(2, prompt.Activating{Reason: "why", NotBefore: fixture.At.Add(time.Hour)})
		ws := r.team.Workspace.ID
		got, err := a.PromptLists.Request(ctx, ws, r.id, askedRequest.ID)
		must(t, err)
		same(t, "request", *got, *askedRequest)
		_, err = r.service.Decide(ctx, r.team.Member, r.id, askedRequest.ID, yes)
		must(t, err)
		got, err = a.PromptLists.Request(ctx, ws, "", askedRequest.ID)
		must(t, err)
		same(t, "decisions", got.Decisions, []prompt.Decision{{By: r.team.Member.User, Approves: true, Comment: "Good.",
			At: r.team.Member.At}})
		other := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		for ws, id := range map[identity.WorkspaceID]prompt.ID{other.Workspace.ID: "", ws: "ptpl_other"} {
			_, err := a.PromptLists.Request(ctx, ws, id, askedRequest.ID)
			wantErr(t, err, prompt.ErrRequestNotFound)
		}
		waiting := fixture.Pages(t, 1, func(q page.Query) (prompt.RequestPage, error) {
			return a.PromptLists.Requests(ctx, ws, r.id, prompt.Waiting, q)
		})
		endedOf, err := a.PromptLists.Requests(ctx, ws, r.id, prompt.Refused, page.Query{Limit: 10})
		must(t, err)
		if len(waiting) != 1 || len(endedOf.Items) != 0 {
			t.Errorf("%d wait, %d were refused", len(waiting), len(endedOf.Items))
		}
	})
	t.Run("an approval activates the version for the author of the request", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{}, 2)
		askedRequest := r.ask(2, prompt.Activating{Reason: "why"})
		_, err := r.service.Decide(ctx, r.team.Member, r.id, askedRequest.ID, yes)
		must(t, err)
		r.ends(askedRequest.ID, prompt.Activated, "")
		if line := ledger(t, a.Stores, r.team.Workspace.ID, r.id)[0]; line.By != r.team.Peer.User ||
			line.Request != askedRequest.ID || line.Reason != "why" || r.active() != 2 {
			t.Errorf("v%d is active, the ledger has %+v", r.active(), line)
		}
	})
	t.Run("a check activates the version that waits for it", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{RequiredChecks: []string{"eval"}}, 2)
		askedRequest := r.ask(2, prompt.Activating{})
		_, err := r.service.Decide(ctx, r.team.Member, r.id, askedRequest.ID, yes)
		must(t, err)
		for _, conclusion := range []prompt.Conclusion{prompt.Failure, prompt.Success} {
			r.ends(askedRequest.ID, prompt.Waiting, "")
			c := prompt.Check{Name: "eval", Conclusion: conclusion, URL: "https://ci.example.com/1", Summary: "all"}
			check, err := r.service.Report(ctx, r.team.Peer, r.id, prompt.Ref{Number: 2}, c)
			must(t, err)
			checks, err := r.service.Checks(ctx, r.team.Member, r.id, prompt.Ref{Number: 2})
			must(t, err)
			same(t, "checks", checks, []prompt.JudgedCheck{check})
		}
		r.ends(askedRequest.ID, prompt.Activated, "")
	})
	t.Run("a version waits for a result that meets the threshold, or for a lower threshold", func(t *testing.T) {
		low, below, high := 0.1+0.2, 0.8999, 0.9
		thresholds := []prompt.Threshold{{Name: "eval", AtLeast: &high}}
		r := newRequesting(t, a, prompt.Draft{RequiredChecks: []string{"eval"}, Thresholds: thresholds}, 2)
		waits := r.ask(2, prompt.Activating{})
		_, err := r.service.Decide(ctx, r.team.Member, r.id, waits.ID, yes)
		must(t, err)
		reported := func(result *float64) {
			t.Helper()
			_, err := r.service.Report(ctx, r.team.Peer, r.id, prompt.Ref{Number: 2},
				prompt.Check{Name: "eval", Conclusion: prompt.Success, Result: result})
			must(t, err)
			checks, err := r.service.Checks(ctx, r.team.Member, r.id, prompt.Ref{Number: 2})
			must(t, err)
			same(t, "result", checks[0].Result, result)
			same(t, "threshold", checks[0].Threshold, &thresholds[0])
			r.ends(waits.ID, prompt.Waiting, "")
		}
		reported(&below)
		reported(nil)
		reported(&low)
		_, err = r.service.Change(ctx, r.team.Member, r.id, nil,
			prompt.Changes{Thresholds: &[]prompt.Threshold{{Name: "eval", AtLeast: &low, AtMost: &low}}})
		must(t, err)
		r.ends(waits.ID, prompt.Activated, "")
	})
	t.Run("a schedule waits for its time", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{}, 2)
		due := fixture.At.Add(time.Hour)
		_, askedRequest, err := r.service.ActivateVersion(ctx, r.team.Member, r.id, prompt.Ref{Number: 2}, nil,
			prompt.Activating{NotBefore: due})
		must(t, err)
		system := identity.System(r.team.Org, r.team.Workspace.ID, "test", due.Add(-time.Microsecond))
		must(t, r.service.LookAt(ctx, system, askedRequest.ID))
		r.ends(askedRequest.ID, prompt.Waiting, "")
		system.At = due
		must(t, r.service.LookAt(ctx, system, askedRequest.ID))
		r.ends(askedRequest.ID, prompt.Activated, "")
		must(t, r.service.LookAt(ctx, system, askedRequest.ID))
		jobs, err := a.Jobs.History(ctx, r.team.Workspace.ID, string(askedRequest.ID), page.Query{Limit: 10})
		must(t, err)
		if len(jobs.Items) != 1 || jobs.Items[0].Kind != prompt.RequestJob {
			t.Errorf("jobs %+v", jobs.Items)
		}
	})
	requestsEnd(t, a)
	requestRaces(t, a)
}

// requestsEnd ends what a request rests on.
func requestsEnd(t *testing.T, a Adapter) {
	ctx := t.Context()
	for name, tt := range map[string]struct {
		change func(r *requesting) error
		want   prompt.Cause
	}{
		"another activation": {func(r *requesting) error {
			_, _, err := r.service.ActivateVersion(ctx, r.team.Member, r.id, prompt.Ref{Number: 3}, nil,
				prompt.Activating{})
			return err
		}, prompt.BaseMoved},
		"an edit": {func(r *requesting) error {
			_, _, err := r.service.ChangeVersion(ctx, r.team.Peer, r.id, prompt.Ref{Number: 2}, nil,
				prompt.VersionChanges{Content: func(c prompt.Content) prompt.Content { c.Text = "edited"; return c }})
			return err
		}, prompt.VersionChanged},
		"the deletion of the version": {func(r *requesting) error {
			return r.service.DeleteVersion(ctx, r.team.Member, r.id, prompt.Ref{Number: 2}, nil)
		}, prompt.VersionChanged},
		"the deletion of the template": {func(r *requesting) error {
			return r.service.Delete(ctx, r.team.Member, r.id, nil, false)
		}, prompt.TemplateDeleted},
		"the end of the author's share": {func(r *requesting) error {
			return r.service.Unshare(ctx, r.team.Member, r.id, r.team.Peer.User, nil)
		}, prompt.AccessLost},
		"a lower role of the author": {func(r *requesting) error {
			_, err := r.service.ChangeShare(ctx, r.team.Member, r.id, r.team.Peer.User, nil,
				prompt.ShareChanges{Role: new(access.Viewer)})
			return err
		}, prompt.AccessLost},
		"an approval after the author has left the workspace": {func(r *requesting) error {
			must(r, removeMember(r.T, a.Stores, r.team.Owner, r.team.Workspace.ID, r.team.Peer.User))
			askedRequests, err := a.PromptLists.OpenRequests(ctx, r.team.Workspace.ID, r.id)
			must(r, err)
			_, err = r.service.Decide(ctx, r.team.Member, r.id, askedRequests[0].ID, prompt.Decision{Approves: true})
			return err
		}, prompt.AccessLost},
	} {
		t.Run(name+" cancels a request", func(t *testing.T) {
			r := newRequesting(t, a, prompt.Draft{}, 3)
			askedRequest := r.ask(2, prompt.Activating{})
			must(t, tt.change(r))
			r.ends(askedRequest.ID, prompt.Cancelled, tt.want)
			if r.active() == 2 {
				t.Error("the version was activated")
			}
		})
	}
	t.Run("fewer approvals that are required can be enough", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{}, 2)
		_, err := r.service.Change(ctx, r.team.Member, r.id, nil, prompt.Changes{Approvals: new(2)})
		must(t, err)
		askedRequest := r.ask(2, prompt.Activating{})
		_, err = r.service.Decide(ctx, r.team.Member, r.id, askedRequest.ID, prompt.Decision{Approves: true})
		must(t, err)
		r.ends(askedRequest.ID, prompt.Waiting, "")
		_, err = r.service.Change(ctx, r.team.Member, r.id, nil, prompt.Changes{Approvals: new(1)})
		must(t, err)
		r.ends(askedRequest.ID, prompt.Activated, "")
	})
}

// requestRaces lets what activates versions race.
func requestRaces(t *testing.T, a Adapter) {
	ctx := t.Context()
	race := func(all ...func() error) {
		t.Helper()
		var wg sync.WaitGroup
		for _, do := range all {
			wg.Go(func() {
				if err := do(); err != nil && !errors.Is(err, prompt.ErrRequestEnded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	t.Run("approvals that race an activation activate a version once or not at all", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{}, 10)
		var all []func() error
		var askedRequests []prompt.RequestID
		for n := 2; n < 10; n++ {
			id := r.ask(n, prompt.Activating{}).ID
			askedRequests = append(askedRequests, id)
			all = append(all, func() error {
				_, err := r.service.Decide(ctx, r.team.Viewer, r.id, id, prompt.Decision{Approves: true})
				return err
			})
		}
		race(append(all, func() error {
			_, _, err := r.service.ActivateVersion(ctx, r.team.Member, r.id, prompt.Ref{Number: 10}, nil,
				prompt.Activating{})
			return err
		})...)
		r.oneOf(askedRequests, 10)
	})
	t.Run("a schedule that races a roll-back is activated before it or never", func(t *testing.T) {
		r := newRequesting(t, a, prompt.Draft{}, 4)
		fixture.Activate(t, a.Stores, r.team.Member, r.id, prompt.Ref{Number: 2})
		due := fixture.At.Add(time.Minute)
		_, askedRequest, err := r.service.ActivateVersion(ctx, r.team.Member, r.id, prompt.Ref{Number: 3}, nil,
			prompt.Activating{NotBefore: due})
		must(t, err)
		look := func() error {
			return r.service.LookAt(ctx, identity.System(r.team.Org, r.team.Workspace.ID, "test", due), askedRequest.ID)
		}
		race(look, look, func() error {
			_, _, err := r.service.ActivateVersion(ctx, fixture.Later(r.team.Member, time.Minute), r.id,
				prompt.Ref{Previous: true}, nil, prompt.Activating{Reason: "Roll back"})
			return err
		})
		got, err := a.PromptLists.Request(ctx, r.team.Workspace.ID, r.id, askedRequest.ID)
		must(t, err)
		lines := ledger(t, a.Stores, r.team.Workspace.ID, r.id)
		switch got.State {
		case prompt.Activated: // the roll-back went to what was active before the schedule: version 2
			if len(lines) != 4 || (r.active() != 2 && r.active() != 3) {
				t.Errorf("v%d is active after %d activations", r.active(), len(lines))
			}
		case prompt.Cancelled:
			if len(lines) != 3 || r.active() != 1 || got.Cause != prompt.BaseMoved {
				t.Errorf("v%d is active after %d activations: %s", r.active(), len(lines), got.Cause)
			}
		default:
			t.Errorf("the request is %s", got.State)
		}
	})
}

// oneOf fails unless at most one of the requests was fulfilled, all others were cancelled, and the ledger is a chain
// that ends at the active version, which last activated, or one of the requests.
func (r *requesting) oneOf(askedRequests []prompt.RequestID, last int) {
	r.Helper()
	fulfilledCount := 0
	for _, id := range askedRequests {
		got, err := r.PromptLists.Request(r.Context(), r.team.Workspace.ID, r.id, id)
		must(r, err)
		if got.State == prompt.Activated {
			fulfilledCount++
		} else if got.Cause != prompt.BaseMoved {
			r.Errorf("the request for v%d is %s (%s)", got.Number, got.State, got.Cause)
		}
	}
	lines := ledger(r, r.Stores, r.team.Workspace.ID, r.id)
	for i, line := range lines[:len(lines)-1] {
		if line.From != lines[i+1].To {
			r.Errorf("line %d begins at %s, and the one before ends at %s", i, line.From, lines[i+1].To)
		}
	}
	if fulfilledCount > 1 || len(lines) != 2+fulfilledCount || r.active() != last {
		r.Errorf("%d requests were fulfilled, with %d lines, and v%d is active", fulfilledCount, len(lines), r.active())
	}
	r.counted()
}
