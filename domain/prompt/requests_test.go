package prompt_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// guarded returns the shared template, protected, with one approval for editors, and version 2.
func guarded() (*prompt.Template, *prompt.VersionInfo) {
	t, versions := sharedTemplate()
	t.Protected, t.Approvals = true, 1
	return t, &versions[2].VersionInfo
}

// asked returns eve's request for version 2, and the template that has recorded it.
func asked(t *testing.T, a prompt.Activating) (*prompt.Template, *prompt.VersionInfo, prompt.ActivationRequest) {
	t.Helper()
	tmpl, v := guarded()
	require.NoError(t, tmpl.MayRequest(editor, nil, v, a))
	r, err := tmpl.Request(editor, tmpl.Plan(editor, v, a, nil), nil)
	require.NoError(t, err)
	return tmpl, v, r
}

// standing is what decides about a request to activate v.
func standing(t *prompt.Template, v *prompt.VersionInfo) prompt.Standing {
	return prompt.Standing{Base: t.Active.Version, Versions: []*prompt.VersionInfo{v}}
}

func TestWhoMayRequestAnActivation(t *testing.T) {
	tomorrow := now.Add(24 * time.Hour)
	for name, tt := range map[string]struct {
		by    identity.Actor
		a     prompt.Activating
		alter func(*prompt.Template)
		want  error
	}{
		"an editor":                       {editor, prompt.Activating{}, nil, nil},
		"no viewer":                       {viewer, prompt.Activating{NotBefore: tomorrow}, nil, prompt.ErrVersionNotFound},
		"no stranger":                     {stranger, prompt.Activating{}, nil, prompt.ErrNotFound},
		"a manager, for later":            {manager, prompt.Activating{NotBefore: tomorrow}, nil, nil},
		"no editor where no approval can": {editor, prompt.Activating{}, func(t *prompt.Template) { t.Approvals = 0 }, prompt.ErrForbidden},
		"an editor for later, of a template without protection": {editor, prompt.Activating{NotBefore: tomorrow},
			func(t *prompt.Template) { t.Protected = false }, nil},
		"no one for a time that has passed":     {editor, prompt.Activating{NotBefore: now}, nil, fault.ErrInvalid},
		"no one for a time beyond a year":       {editor, prompt.Activating{NotBefore: now.Add(367 * 24 * time.Hour)}, nil, fault.ErrInvalid},
		"no editor without checks":              {editor, prompt.Activating{BypassChecks: true, Reason: "x"}, nil, prompt.ErrForbidden},
		"a manager without checks":              {manager, prompt.Activating{BypassChecks: true, Reason: "x"}, nil, nil},
		"no manager without checks or a reason": {manager, prompt.Activating{BypassChecks: true}, nil, fault.ErrInvalid},
		"no one who expects another active version": {editor, prompt.Activating{Expected: new(prompt.VersionID("ver3"))}, nil,
			prompt.ErrActiveChanged},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, v := guarded()
			if tt.alter != nil {
				tt.alter(tmpl)
			}
			require.ErrorIs(t, tmpl.MayRequest(tt.by, nil, v, tt.a), tt.want)
			recorded(t, tmpl, tt.by)
		})
	}
}

func TestWhatAnActivationWaitsFor(t *testing.T) {
	tomorrow := now.Add(24 * time.Hour)
	passed := func(hash string, c prompt.Conclusion) []prompt.Check {
		return []prompt.Check{{Version: "ver2", Name: "eval", Conclusion: c, ContentHash: hash}}
	}
	_, v := guarded()
	hash := v.ContentHash
	for name, tt := range map[string]struct {
		by        identity.Actor
		a         prompt.Activating
		required  []string
		checks    []prompt.Check
		ready     bool
		approvals int
	}{
		"an editor waits for approval":                       {editor, prompt.Activating{}, nil, nil, false, 1},
		"a manager waits for nothing":                        {manager, prompt.Activating{}, nil, nil, true, 0},
		"a manager waits for a time":                         {manager, prompt.Activating{NotBefore: tomorrow}, nil, nil, false, 0},
		"a manager waits for checks":                         {manager, prompt.Activating{}, []string{"eval"}, nil, false, 0},
		"a manager can bypass checks":                        {manager, prompt.Activating{BypassChecks: true}, []string{"eval"}, nil, true, 0},
		"a check that passed is not waited for":              {manager, prompt.Activating{}, []string{"eval"}, passed(hash, prompt.Success), true, 0},
		"nor one that was skipped":                           {manager, prompt.Activating{}, []string{"eval"}, passed(hash, prompt.Skipped), true, 0},
		"one that failed is":                                 {manager, prompt.Activating{}, []string{"eval"}, passed(hash, prompt.Failure), false, 0},
		"so is one that passed for another content":          {manager, prompt.Activating{}, []string{"eval"}, passed("old", prompt.Success), false, 0},
		"and one that passed under another name":             {manager, prompt.Activating{}, []string{"lint"}, passed(hash, prompt.Success), false, 0},
		"a check that passed does not replace the approvals": {editor, prompt.Activating{}, []string{"eval"}, passed(hash, prompt.Success), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, v := guarded()
			tmpl.RequiredChecks = tt.required
			r := tmpl.Plan(tt.by, v, tt.a, tt.checks)
			if r.IsReady(now) != tt.ready || r.Approvals != tt.approvals {
				t.Errorf("ready = %v with %d approvals of %d, missing %q", r.IsReady(now), r.Approved(), r.Approvals,
					r.Missing)
			}
			if direct := tmpl.Activate(tt.by, nil, v, nil, ""); len(tt.required) > 0 && tt.by.User == "max" {
				require.ErrorIs(t, direct, prompt.ErrGated)
			}
		})
	}
}

func TestDecisions(t *testing.T) {
	yes, no := prompt.Decision{Approves: true}, prompt.Decision{Comment: "Too long."}
	service := with(manager, func(a *identity.Actor) { a.Service = true })
	for name, tt := range map[string]struct {
		by    identity.Actor
		d     prompt.Decision
		want  error
		state prompt.RequestState
		event string
	}{
		"another user approves":          {manager, yes, nil, prompt.Waiting, "prompt_version.activation_approved"},
		"another user refuses":           {manager, no, nil, prompt.Refused, "prompt_version.activation_refused"},
		"no one decides about their own": {editor, yes, prompt.ErrForbidden, prompt.Waiting, ""},
		"a viewer does not decide":       {viewer, yes, prompt.ErrForbidden, prompt.Waiting, ""},
		"nor a stranger":                 {stranger, no, prompt.ErrNotFound, prompt.Waiting, ""},
		"nor a service key":              {service, yes, prompt.ErrForbidden, prompt.Waiting, ""},
		"a comment has at most 500 characters": {manager, prompt.Decision{Comment: string(make([]rune, 501))}, fault.ErrInvalid,
			prompt.Waiting, ""},
		"a comment reads as it is written": {manager, prompt.Decision{Comment: "fine\u202eton"}, fault.ErrInvalid,
			prompt.Waiting, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, r := asked(t, prompt.Activating{})
			tmpl, _ := guarded()
			got, err := tmpl.Decide(tt.by, r, tt.d)
			require.ErrorIs(t, err, tt.want)
			assert.Equal(t, "state", got.State, tt.state)
			if tt.event == "" {
				recorded(t, tmpl, tt.by)
			} else {
				recorded(t, tmpl, tt.by, tt.event)
			}
		})
	}
	t.Run("a request that ended is not decided", func(t *testing.T) {
		tmpl, _, r := asked(t, prompt.Activating{})
		r, err := tmpl.Withdraw(editor, r)
		require.NoError(t, err)
		_, err = tmpl.Decide(manager, r, yes)
		require.ErrorIs(t, err, prompt.ErrRequestEnded)
		_, err = tmpl.Withdraw(manager, r)
		require.ErrorIs(t, err, prompt.ErrRequestEnded)
	})
	t.Run("a second approval of one user counts once", func(t *testing.T) {
		tmpl, _, r := asked(t, prompt.Activating{})
		tmpl.Approvals = 2
		for range 2 {
			var err error
			r, err = tmpl.Decide(manager, r, yes)
			require.NoError(t, err)
		}
		if r, _ = tmpl.Look(editor, r,
			standing(tmpl, &prompt.VersionInfo{ContentHash: r.ContentHash})); r.IsReady(now) {
			t.Error("one user has approved twice")
		}
	})
}

func TestRequestsAreBoundToWhatTheyWereMadeFor(t *testing.T) {
	gone := with(editor, func(a *identity.Actor) { a.Role = identity.NoRole })
	for name, tt := range map[string]struct {
		author identity.Actor
		alter  func(*prompt.Template, *prompt.VersionInfo)
		want   prompt.Cause
	}{
		"a request goes on": {editor, nil, ""},
		"another active version cancels it": {editor, func(t *prompt.Template, _ *prompt.VersionInfo) { t.Active.Version = "ver3" },
			prompt.BaseMoved},
		"an edit of the version cancels it": {editor, func(_ *prompt.Template, v *prompt.VersionInfo) { v.ContentHash = "other" },
			prompt.VersionChanged},
		"the end of the author's membership cancels it": {gone, nil, prompt.AccessLost},
		"the end of the author's share cancels it": {with(editor, func(a *identity.Actor) { a.At = now.Add(1) }), nil,
			prompt.AccessLost},
		"a template that editors cannot activate at all cancels it": {editor,
			func(t *prompt.Template, _ *prompt.VersionInfo) { t.Approvals = 0 }, prompt.AccessLost},
		"the deletion of the template cancels it": {editor, func(t *prompt.Template, _ *prompt.VersionInfo) { t.DeletedAt = now },
			prompt.TemplateDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, v, r := asked(t, prompt.Activating{})
			if tt.alter != nil {
				tt.alter(tmpl, v)
			}
			if _, cause := tmpl.Look(tt.author, r, standing(tmpl, v)); cause != tt.want {
				t.Errorf("cause = %q, want %q", cause, tt.want)
			}
		})
	}
	t.Run("the deletion of the version cancels it", func(t *testing.T) {
		tmpl, _, r := asked(t, prompt.Activating{})
		if _, cause := tmpl.Look(editor, r, standing(tmpl, nil)); cause != prompt.VersionChanged {
			t.Errorf("cause = %q", cause)
		}
	})
	t.Run("after thirty days it expires, counted from its time", func(t *testing.T) {
		tmpl, v := guarded()
		r := tmpl.Plan(manager, v, prompt.Activating{NotBefore: now.Add(time.Hour)}, nil)
		for delay, want := range map[time.Duration]prompt.Cause{
			prompt.RequestLife: "", prompt.RequestLife + time.Hour: prompt.Expired,
		} {
			late := with(manager, func(a *identity.Actor) { a.At = now.Add(delay) })
			if _, cause := tmpl.Look(late, r, standing(tmpl, v)); cause != want {
				t.Errorf("after %s the cause is %q", delay, cause)
			}
		}
	})
}

func TestRequestsOfOneTemplate(t *testing.T) {
	tmpl, v, first := asked(t, prompt.Activating{Reason: "why"})
	recorded(t, tmpl, editor, "prompt_version.activation_requested")
	if v.Frozen || tmpl.Active.Version != "ver1" || tmpl.OpenRequests != 1 {
		t.Fatalf("frozen %v, active %s, %d wait", v.Frozen, tmpl.Active.Version, tmpl.OpenRequests)
	}
	again, err := tmpl.Request(editor, tmpl.Plan(editor, v, prompt.Activating{}, nil),
		[]prompt.ActivationRequest{first})
	require.NoError(t, err)
	if again.ID != first.ID {
		t.Error("the same request again is another one")
	}
	_, err = tmpl.Request(owner, tmpl.Plan(owner, v, prompt.Activating{}, nil), []prompt.ActivationRequest{first})
	require.ErrorIs(t, err, prompt.ErrRequested)
	full := make([]prompt.ActivationRequest, prompt.MaxRequests)
	_, err = tmpl.Request(editor, tmpl.Plan(editor, v, prompt.Activating{}, nil), full)
	require.ErrorIs(t, err, prompt.ErrRequestLimit)

	done := tmpl.Fulfil(editor, v, first)
	if done.State != prompt.Activated || tmpl.Active.Version != "ver2" || !v.Frozen || tmpl.OpenRequests != 0 {
		t.Fatalf("state %s, active %s, frozen %v", done.State, tmpl.Active.Version, v.Frozen)
	}
	if line := tmpl.Activated[0]; line.By != "eve" || line.Request != first.ID || line.Reason != "why" {
		t.Errorf("the ledger has %+v", line)
	}
}

func TestReports(t *testing.T) {
	good := prompt.Check{Name: "eval", Conclusion: prompt.Success, URL: "https://ci.example.com/1", Summary: "96 %"}
	for name, tt := range map[string]struct {
		by    identity.Actor
		alter func(*prompt.Check)
		have  int
		want  error
	}{
		"an editor reports":             {editor, nil, 0, nil},
		"a viewer does not":             {viewer, nil, 0, prompt.ErrVersionNotFound},
		"a stranger learns nothing":     {stranger, nil, 0, prompt.ErrNotFound},
		"an unknown conclusion":         {editor, func(c *prompt.Check) { c.Conclusion = "good" }, 0, fault.ErrInvalid},
		"a URL that a browser runs":     {editor, func(c *prompt.Check) { c.URL = "javascript:alert(1)" }, 0, fault.ErrInvalid},
		"a URL with a password":         {editor, func(c *prompt.Check) { c.URL = "https://a:b@example.com" }, 0, fault.ErrInvalid},
		"a result is a number":          {editor, func(c *prompt.Check) { c.Result = new(math.NaN()) }, 0, fault.ErrInvalid},
		"a result is at most 1e9":       {editor, func(c *prompt.Check) { c.Result = new(1e9 + 1) }, 0, fault.ErrInvalid},
		"a result of -1e9":              {editor, func(c *prompt.Check) { c.Result = new(-1e9) }, 0, nil},
		"a name with a space":           {editor, func(c *prompt.Check) { c.Name = "a b" }, 0, fault.ErrInvalid},
		"a version has at most 50":      {editor, nil, prompt.MaxChecks, prompt.ErrCheckLimit},
		"the fiftieth is still allowed": {editor, nil, prompt.MaxChecks - 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			c := good
			if tt.alter != nil {
				tt.alter(&c)
			}
			have := slices.Repeat([]prompt.Check{{Name: "x"}}, tt.have)
			got, err := tmpl.Report(tt.by, &versions[2].VersionInfo, c, have, nil)
			require.ErrorIs(t, err, tt.want)
			if err != nil {
				recorded(t, tmpl, tt.by)
				return
			}
			recorded(t, tmpl, tt.by, "prompt_version.checked")
			if got.By != tt.by.User || got.At != now || !tmpl.Passes(&got, versions[2].ContentHash) ||
				tmpl.Passes(&got, "other") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAThresholdDecidesAboutARequiredCheck(t *testing.T) {
	atLeast := prompt.Threshold{Name: "eval", AtLeast: new(0.9)}
	atMost := prompt.Threshold{Name: "eval", AtMost: new(2.0)}
	between := prompt.Threshold{Name: "eval", AtLeast: new(-1.0), AtMost: new(1.0)}
	for name, tt := range map[string]struct {
		threshold  prompt.Threshold
		conclusion prompt.Conclusion
		result     *float64
		passes     bool
	}{
		"a result that is high enough":                {atLeast, prompt.Success, new(0.95), true},
		"a bound is included":                         {atLeast, prompt.Success, new(0.9), true},
		"a result that is too low":                    {atLeast, prompt.Success, new(0.89), false},
		"no result":                                   {atLeast, prompt.Success, nil, false},
		"a skipped check has no result":               {atLeast, prompt.Skipped, nil, false},
		"a failure, whatever the result":              {atLeast, prompt.Failure, new(1.0), false},
		"a result that is low enough":                 {atMost, prompt.Neutral, new(2.0), true},
		"a result that is too high":                   {atMost, prompt.Success, new(2.01), false},
		"a result between the bounds":                 {between, prompt.Success, new(0.0), true},
		"a result below both bounds":                  {between, prompt.Success, new(-1.5), false},
		"a result above both bounds":                  {between, prompt.Success, new(1.5), false},
		"a threshold of another check is not for it":  {prompt.Threshold{Name: "cost", AtMost: new(0.0)}, prompt.Success, nil, true},
		"a check without a threshold needs no result": {prompt.Threshold{}, prompt.Success, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, v := guarded()
			tmpl.RequiredChecks, tmpl.Thresholds = []string{"eval"}, []prompt.Threshold{tt.threshold}
			check := prompt.Check{Version: v.ID, Name: "eval", Conclusion: tt.conclusion, Result: tt.result,
				ContentHash: v.ContentHash}
			r := tmpl.Plan(manager, v, prompt.Activating{}, []prompt.Check{check})
			assert.Equal(t, "ready", r.IsReady(now), tt.passes)
			judged := tmpl.Judge(v, check)[0]
			assert.Equal(t, "passed", judged.Passed, tt.passes)
			assert.Equal(t, "has a threshold", judged.Threshold != nil, tt.threshold.Name == "eval")
		})
	}
}

func TestThresholds(t *testing.T) {
	for name, tt := range map[string]struct {
		by         identity.Actor
		thresholds []prompt.Threshold
		want       error
	}{
		"a manager sets them":      {manager, []prompt.Threshold{{Name: "b", AtLeast: new(0.9)}, {Name: "a", AtMost: new(1.0)}}, nil},
		"an editor does not":       {editor, []prompt.Threshold{{Name: "eval", AtLeast: new(0.9)}}, prompt.ErrForbidden},
		"one needs a bound":        {manager, []prompt.Threshold{{Name: "eval"}}, fault.ErrInvalid},
		"one needs a name":         {manager, []prompt.Threshold{{AtLeast: new(0.9)}}, fault.ErrInvalid},
		"each check has one":       {manager, slices.Repeat([]prompt.Threshold{{Name: "eval", AtMost: new(1.0)}}, 2), fault.ErrInvalid},
		"bounds are in order":      {manager, []prompt.Threshold{{Name: "eval", AtLeast: new(1.0), AtMost: new(0.9)}}, fault.ErrInvalid},
		"a bound is a number":      {manager, []prompt.Threshold{{Name: "eval", AtLeast: new(math.Inf(1))}}, fault.ErrInvalid},
		"a template has up to ten": {manager, make([]prompt.Threshold, 11), fault.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			err := apply(tmpl, tt.by, nil, prompt.Changes{Thresholds: &tt.thresholds})
			require.ErrorIs(t, err, tt.want)
			if err != nil {
				return
			}
			assert.Equal(t, "sorted by name", tmpl.Thresholds[0].Name, "a")
			recorded(t, tmpl, tt.by, "prompt_template.updated")
			require.NoError(t, apply(tmpl, tt.by, nil, prompt.Changes{Thresholds: &tt.thresholds}))
			recorded(t, tmpl, tt.by, "prompt_template.updated") // the same again is no change
		})
	}
}
