package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// gateWalk is a template that people change at random, and what a gated label needs, as told by what they did.
type gateWalk struct {
	*prompts.Service
	t       *testing.T
	random  *rand.Rand
	people  []identity.Actor // the owner, an editor and a manager
	id      prompt.ID
	clock   time.Time
	passed  map[string]bool     // version, check: reported by another than the authors
	results map[string]*float64 // version, check
	authors map[prompt.VersionID][]identity.UserID
	fields  map[prompt.VersionID]int // how many variables a version requires: more than before breaks the contract
	waivers map[prompt.RequestID]waiver
	entered int // versions that got a gated label, or a part of its readers
	waited  int // requests that were made
}

// waiver is what a caller asked to go without.
type waiver struct{ checks, contract bool }

// No version gets a gated label, or a part of its readers, that has not passed the required checks, lacks approvals or
// breaks the contract, unless a manager said so, whichever way the label moves.
func TestNoGatedLabelNamesAVersionThatHasNotPassed(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		w := &gateWalk{t: t, random: rand.New(rand.NewPCG(proof.Seed(t), 2)), clock: team.Member.At,
			people: []identity.Actor{team.Member, team.Peer, team.Viewer}, passed: map[string]bool{},
			results: map[string]*float64{},
			authors: map[prompt.VersionID][]identity.UserID{},
			fields:  map[prompt.VersionID]int{}, waivers: map[prompt.RequestID]waiver{}}
		w.Service = prompts.NewService(s.Atomic, s.PromptStores, s.Users,
			func(context.Context, identity.Actor) (quota.Limits, error) {
				return quota.Limits{Amounts: quota.Default()}, nil
			})
		w.id = fixture.Template(t, s, team.Member, prompt.Draft{Name: "gated", Compatibility: prompt.Backward,
			Protected: true, Approvals: 1, RequiredChecks: []string{"eval"},
			GatedLabels: []string{"live", "canary"}}).ID
		for i, role := range []access.Role{access.Editor, access.Manager} {
			_, err := w.Share(t.Context(), team.Member, w.id, prompt.Grant{User: w.people[i+1].User, Role: role})
			require.NoError(t, err)
		}
		isPoor := func() bool { return w.entered < 10 || w.waited < 10 }
		// some walks of 400 steps meet few versions that pass
		for n := 0; n < proof.Sample(400, 5000) || (isPoor() && n < 5000); n++ {
			w.step()
		}
		if isPoor() {
			t.Errorf("only %d versions got a gated label, and %d requests were made", w.entered, w.waited)
		}
	})
}

func (w *gateWalk) anyOf(labels ...string) string { return labels[w.random.IntN(len(labels))] }

// version returns one of the last eight versions at random.
func (w *gateWalk) version(t *prompt.Template) prompt.Ref {
	return prompt.Ref{Number: max(1, t.LastNumber-w.random.IntN(8))}
}

// step does something, and checks what gated labels name afterwards.
func (w *gateWalk) step() {
	w.t.Helper()
	w.clock = w.clock.Add(time.Minute)
	by, ctx := w.people[w.random.IntN(len(w.people))], w.t.Context()
	by.At = w.clock
	t, err := w.Get(ctx, by, w.id)
	require.NoError(w.t, err)
	before := w.named(t)
	m := prompt.LabelMove{Label: w.anyOf("live", "live", "canary", "free"), Reason: "why",
		Acknowledged: w.random.IntN(4) == 0, BypassChecks: w.random.IntN(10) == 0}
	if w.random.IntN(10) == 0 {
		m.NotBefore = w.clock.Add(5 * time.Minute)
	}
	given := waiver{m.BypassChecks, m.Acknowledged}
	switch w.random.IntN(10) {
	case 0, 1:
		given.checks = false
		w.add(by, m)
	case 2:
		w.edit(by, w.version(t))
		given = waiver{}
	case 3, 4, 5:
		_, _, r, err := w.MoveLabel(ctx, by, w.id, w.version(t), m)
		w.asked(r, given, err)
	case 6:
		d := prompt.RolloutDraft{LabelMove: m, Versions: []prompt.WeightedRef{{Ref: w.version(t), Weight: 60},
			{Ref: w.version(t), Weight: 40}}}
		_, r, err := w.RollOut(ctx, by, w.id, d)
		w.asked(r, given, err)
	case 7:
		w.report(by, w.version(t))
		given = waiver{}
	case 8:
		w.decide(by)
		given = waiver{}
	case 9:
		w.configure(by)
		given = waiver{}
	}
	t, err = w.Get(ctx, by, w.id)
	require.NoError(w.t, err)
	w.check(t, before, w.named(t), given)
}

// add adds a version, sometimes at once with a label.
func (w *gateWalk) add(by identity.Actor, m prompt.LabelMove) {
	text, fields := "", w.random.IntN(3)
	for i := range fields {
		text += fmt.Sprintf("{{v%d}}", i)
	}
	d := prompt.VersionDraft{Content: prompt.Content{Text: text + fmt.Sprint(w.random.IntN(1000))},
		Acknowledged: m.Acknowledged}
	if w.random.IntN(3) == 0 {
		d.Labels = []string{m.Label}
	}
	_, v, err := w.AddVersion(w.t.Context(), by, w.id, d)
	if w.refused(err); err == nil {
		w.fields[v.ID], w.authors[v.ID] = fields, []identity.UserID{by.User}
	}
}

// edit changes a draft's text, or a version's labels.
func (w *gateWalk) edit(by identity.Actor, ref prompt.Ref) {
	c := prompt.VersionChanges{Labels: new([]string{w.anyOf("live", "canary", "free")})}
	if w.random.IntN(2) == 0 {
		c = prompt.VersionChanges{Content: func(old prompt.Content) prompt.Content {
			old.Text += "."
			return old
		}}
	}
	_, v, err := w.ChangeVersion(w.t.Context(), by, w.id, ref, nil, c)
	if w.refused(err); err == nil && c.Content != nil {
		w.authors[v.ID] = append(w.authors[v.ID], by.User)
		for _, name := range []string{"eval", "lint"} {
			delete(w.passed, string(v.ID)+name)
		}
	}
}

func (w *gateWalk) report(by identity.Actor, ref prompt.Ref) {
	name, conclusion := w.anyOf("eval", "lint"), []prompt.Conclusion{prompt.Success, prompt.Failure}[w.random.IntN(2)]
	result := []*float64{nil, new(0.5), new(0.9), new(1.0)}[w.random.IntN(4)]
	c, err := w.Report(w.t.Context(), by, w.id, ref, prompt.Check{Name: name, Conclusion: conclusion, Result: result})
	if w.refused(err); err == nil {
		authors := w.authors[c.Version]
		isAuthor := by.User == authors[0] || by.User == authors[len(authors)-1]
		w.passed[string(c.Version)+name] = conclusion == prompt.Success && !isAuthor
		w.results[string(c.Version)+name] = result
	}
}

// decide approves or refuses a request that waits.
func (w *gateWalk) decide(by identity.Actor) {
	open, err := w.Requests(w.t.Context(), by, w.id, prompt.Waiting, page.Query{Limit: 20})
	require.NoError(w.t, err)
	if len(open.Items) == 0 {
		return
	}
	r := open.Items[w.random.IntN(len(open.Items))]
	_, err = w.Decide(w.t.Context(), by, w.id, r.ID, prompt.Decision{Approves: w.random.IntN(4) > 0})
	w.refused(err)
}

// configure changes what the gates ask for.
func (w *gateWalk) configure(by identity.Actor) {
	c := prompt.Changes{RequiredChecks: &[][]string{{}, {"eval"}, {"eval", "lint"}}[w.random.IntN(3)]}
	switch w.random.IntN(4) {
	case 0:
		c = prompt.Changes{Thresholds: &[][]prompt.Threshold{{}, {{Name: "eval", AtLeast: new(0.9)}},
			{{Name: "lint", AtMost: new(0.9)}}}[w.random.IntN(3)]}
	case 1, 2:
		c = prompt.Changes{Approvals: new(w.random.IntN(2)), Protected: new(w.random.IntN(2) == 0)}
	}
	_, err := w.Change(w.t.Context(), by, w.id, nil, c)
	w.refused(err)
}

// asked remembers what the author of a request goes without.
func (w *gateWalk) asked(r *prompt.ActivationRequest, given waiver, err error) {
	w.refused(err)
	if r == nil || err != nil {
		return
	}
	if _, isRepeated := w.waivers[r.ID]; !isRepeated {
		w.waivers[r.ID] = given
		w.waited++
	}
}

// refused fails the test unless err is nil or a refusal.
func (w *gateWalk) refused(err error) {
	w.t.Helper()
	if _, ok := errors.AsType[*fault.Error](err); err != nil && !ok {
		w.t.Fatal(err)
	}
}

// named returns the versions that each gated label gives to readers, the one that has it first.
func (w *gateWalk) named(t *prompt.Template) map[string][]prompt.VersionID {
	w.t.Helper()
	versions := map[string][]prompt.VersionID{}
	for _, label := range t.GatedLabels {
		_, v, err := w.Version(w.t.Context(), w.people[0], w.id, prompt.Ref{Label: label})
		if errors.Is(err, prompt.ErrVersionNotFound) {
			continue
		}
		require.NoError(w.t, err)
		versions[label] = []prompt.VersionID{v.ID}
	}
	rollouts, err := w.Rollouts(w.t.Context(), w.people[0], w.id)
	require.NoError(w.t, err)
	for _, r := range rollouts {
		for _, part := range r.Parts[1:] {
			if versions[r.Label] != nil {
				versions[r.Label] = append(versions[r.Label], part.Version)
			}
		}
	}
	return versions
}

// check fails the test if a version that a gated label newly gives to readers has not passed. given is what the caller
// of the last step went without.
func (w *gateWalk) check(t *prompt.Template, before, after map[string][]prompt.VersionID, given waiver) {
	w.t.Helper()
	for label, versions := range after {
		if slices.Equal(before[label], versions) {
			continue
		}
		moves, err := w.Activations(w.t.Context(), w.people[0], w.id, label, page.Query{Limit: 1})
		require.NoError(w.t, err)
		move := moves.Items[0]
		waived := given
		if move.Request != "" {
			waived = w.waivers[move.Request]
		}
		for _, v := range versions {
			if slices.Contains(before[label], v) {
				continue
			}
			w.entered++
			for _, name := range t.RequiredChecks {
				if !w.hasPassed(t, v, name) && !(waived.checks && move.By != w.people[1].User) {
					w.t.Fatalf("%s names %s, which has not passed %s: %+v", label, v, name, move)
				}
			}
			if base := before[label]; len(base) > 0 && w.fields[v] > w.fields[base[0]] && !waived.contract {
				w.t.Fatalf("%s names %s, which breaks the contract: %+v", label, v, move)
			}
		}
		if t.Protected && move.By == w.people[1].User {
			w.approved(t, label, move)
		}
	}
}

// hasPassed reports whether another than the authors reported that v passes a check, with the result that t needs now.
func (w *gateWalk) hasPassed(t *prompt.Template, v prompt.VersionID, name string) bool {
	result := w.results[string(v)+name]
	for _, h := range t.Thresholds {
		if h.Name == name && (result == nil || (name == "eval" && *result < 0.9) || (name == "lint" && *result > 0.9)) {
			return false
		}
	}
	return w.passed[string(v)+name]
}

// approved fails the test unless an editor's move has the approvals that it needs.
func (w *gateWalk) approved(t *prompt.Template, label string, move prompt.Activation) {
	w.t.Helper()
	if move.Request == "" {
		w.t.Fatalf("an editor moved %s of a protected template: %+v", label, move)
	}
	r, err := w.Request(w.t.Context(), w.people[0], w.id, move.Request)
	require.NoError(w.t, err)
	if r.Approved() < t.Approvals || slices.ContainsFunc(r.Decisions, func(d prompt.Decision) bool {
		return d.By == r.By
	}) {
		w.t.Fatalf("%s was moved with the decisions %+v", label, r.Decisions)
	}
}
