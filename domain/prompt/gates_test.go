package prompt_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// gated returns the shared template, whose version 3 has the label live, with that label gated.
func gated() (*prompt.Template, map[int]*prompt.Version, prompt.Labels) {
	t, versions := sharedTemplate()
	t.GatedLabels = []string{"live"}
	return t, versions, prompt.Labels{"live": {Version: "ver3", Number: 3}, "stable": {Version: "ver3", Number: 3}}
}

// shareOut asks for live to be divided among two versions.
func shareOut() prompt.RolloutDraft {
	return prompt.RolloutDraft{LabelMove: prompt.LabelMove{Label: "live"},
		Versions: []prompt.WeightedRef{{Weight: 90}, {Weight: 10}}}
}

// Every way to give a label to a version, by name.
var labelling = map[string]func(*prompt.Template, identity.Actor, map[int]*prompt.Version, prompt.Labels) error{
	"a move": func(t *prompt.Template, by identity.Actor, v map[int]*prompt.Version, all prompt.Labels) error {
		return t.MoveLabel(by, v[1], prompt.LabelMove{Label: "live"}, all)
	},
	"a rollout": func(t *prompt.Template, by identity.Actor, v map[int]*prompt.Version, all prompt.Labels) error {
		return t.RollOut(by, v[3], []*prompt.VersionInfo{&v[1].VersionInfo}, shareOut(), all)
	},
	"joining a rollout": func(t *prompt.Template, by identity.Actor, v map[int]*prompt.Version, _ prompt.Labels) error {
		return t.Join(by, &v[1].VersionInfo, shareOut().LabelMove)
	},
	"a new version": func(t *prompt.Template, by identity.Actor, _ map[int]*prompt.Version, all prompt.Labels) error {
		_, err := t.AddVersion(by, prompt.VersionDraft{Labels: []string{"live"},
			Content: prompt.Content{Text: "Hi", Format: prompt.Mustache}}, all)
		return err
	},
	"a change of a version": func(t *prompt.Template, by identity.Actor, v map[int]*prompt.Version,
		all prompt.Labels) error {
		return t.ChangeVersion(by, nil, v[1], prompt.VersionChanges{Labels: new([]string{"live"})}, all)
	},
}

func TestNoWayAroundTheGatesOfALabel(t *testing.T) {
	for name, label := range labelling {
		for what, tt := range map[string]struct {
			by    identity.Actor
			alter func(*prompt.Template)
			want  error
		}{
			"a gate without conditions is open": {editor, func(*prompt.Template) {}, nil},
			"required checks hold":              {manager, func(t *prompt.Template) { t.RequiredChecks = []string{"eval"} }, prompt.ErrGated},
			"they do not hold another label": {manager, func(t *prompt.Template) {
				t.RequiredChecks, t.GatedLabels = []string{"eval"}, []string{"staging"}
			}, nil},
			"approvals hold an editor": {editor, func(t *prompt.Template) { t.Protected, t.Approvals = true, 1 }, prompt.ErrForbidden},
			"they do not hold a manager": {manager, func(t *prompt.Template) { t.Protected, t.Approvals = true, 1 },
				nil},
			"a protected label holds an editor":     {editor, func(t *prompt.Template) { t.ProtectedLabels = []string{"live"} }, prompt.ErrForbidden},
			"it does not hold a manager":            {manager, func(t *prompt.Template) { t.ProtectedLabels = []string{"live"} }, nil},
			"another protected label holds no one":  {editor, func(t *prompt.Template) { t.ProtectedLabels = []string{"staging"} }, nil},
			"a protected label that stays put does": {editor, func(t *prompt.Template) { t.ProtectedLabels = []string{"old"} }, nil},
		} {
			t.Run(name+": "+what, func(t *testing.T) {
				tmpl, versions, labels := gated()
				tt.alter(tmpl)
				require.ErrorIs(t, label(tmpl, tt.by, versions, labels), tt.want)
				if tt.want != nil {
					recorded(t, tmpl, tt.by)
				}
			})
		}
	}
}

func TestProtectedLabelsAreTakenAwayByManagersOnly(t *testing.T) {
	for by, want := range map[*identity.Actor]error{&editor: prompt.ErrForbidden, &manager: nil} {
		tmpl, versions, labels := gated()
		tmpl.ProtectedLabels = []string{"live"}
		require.ErrorIs(t, tmpl.RemoveLabel(*by, nil, versions[3], prompt.LabelMove{Label: "live"}, labels), want)
		tmpl, versions, labels = gated()
		tmpl.ProtectedLabels = []string{"live"}
		require.ErrorIs(t, tmpl.ChangeVersion(*by, nil, versions[3], prompt.VersionChanges{
			Labels: new([]string{"stable"})}, labels), want)
	}
}

func TestWhatAMoveOfALabelWaitsFor(t *testing.T) {
	tomorrow := now.Add(24 * time.Hour)
	success := func(v prompt.VersionID) prompt.Check {
		_, versions := sharedTemplate()
		return prompt.Check{Version: v, Name: "eval", Conclusion: prompt.Success, ContentHash: versions[1].ContentHash}
	}
	byAuthor := success("ver1")
	byAuthor.ByAuthor = true
	plain := func(*prompt.Template) {}
	needsEval := func(t *prompt.Template) { t.RequiredChecks = []string{"eval"} }
	needsApproval := func(t *prompt.Template) { t.Protected, t.Approvals = true, 2 }
	move := prompt.LabelMove{Label: "live"}
	for name, tt := range map[string]struct {
		by        identity.Actor
		alter     func(*prompt.Template)
		m         prompt.LabelMove
		versions  []int
		checks    []prompt.Check
		ready     bool
		approvals int
	}{
		"a check that is not reported":            {manager, needsEval, move, []int{1}, nil, false, 0},
		"a check that passed":                     {manager, needsEval, move, []int{1}, []prompt.Check{success("ver1")}, true, 0},
		"a check that another version passed":     {manager, needsEval, move, []int{1}, []prompt.Check{success("ver2")}, false, 0},
		"a check that an author reported":         {manager, needsEval, move, []int{1}, []prompt.Check{byAuthor}, false, 0},
		"no check of the version with the label":  {manager, needsEval, move, []int{3}, nil, true, 0},
		"no check that a manager bypasses":        {manager, needsEval, prompt.LabelMove{Label: "live", BypassChecks: true, Reason: "x"}, []int{1}, nil, true, 0},
		"the checks of each version of a rollout": {manager, needsEval, move, []int{3, 1, 2}, []prompt.Check{success("ver1")}, false, 0},
		"nothing if each version has passed": {manager, needsEval, move, []int{3, 1, 2},
			[]prompt.Check{success("ver1"), success("ver2")}, true, 0},
		"the approvals that an editor needs": {editor, needsApproval, move, []int{1}, nil, false, 2},
		"no approvals for a manager":         {manager, needsApproval, move, []int{1}, nil, true, 0},
		"a time":                             {manager, plain, prompt.LabelMove{Label: "live", NotBefore: tomorrow}, []int{1}, nil, false, 0},
		"a time, for a label without gates":  {editor, plain, prompt.LabelMove{Label: "staging", NotBefore: tomorrow}, []int{1}, nil, false, 0},
		"only the time, for such a label":    {manager, needsEval, prompt.LabelMove{Label: "staging", NotBefore: now.Add(1)}, []int{1}, nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions, labels := gated()
			tt.alter(tmpl)
			assert.That(t, tmpl.LabelWaits(tt.by, tt.m) || (tt.ready && tt.checks == nil), "the move waits for nothing")
			d := prompt.RolloutDraft{LabelMove: tt.m}
			var infos []*prompt.VersionInfo
			for i, n := range tt.versions {
				weight := 100 / len(tt.versions)
				if i == 0 {
					weight = 100 - weight*(len(tt.versions)-1)
				}
				d.Versions = append(d.Versions, prompt.WeightedRef{Weight: weight})
				infos = append(infos, &versions[n].VersionInfo)
			}
			plan, err := tmpl.PlanLabel(tt.by, infos, d, labels)
			require.NoError(t, err)
			r := tmpl.Seen(*plan, tt.by, tt.checks)
			if r.IsReady(now) != tt.ready || r.Approvals != tt.approvals {
				t.Errorf("ready = %v with %d approvals of %d, missing %q", r.IsReady(now), r.Approved(), r.Approvals,
					r.Missing)
			}
			recorded(t, tmpl, tt.by)
		})
	}
}

func TestWhoMayAskForALabel(t *testing.T) {
	for name, tt := range map[string]struct {
		by    identity.Actor
		alter func(*prompt.Template)
		m     prompt.LabelMove
		n     int
		want  error
	}{
		"an editor with approvals":              {editor, nil, prompt.LabelMove{Label: "live"}, 1, nil},
		"no editor without":                     {editor, func(t *prompt.Template) { t.Approvals = 0 }, prompt.LabelMove{Label: "live"}, 1, prompt.ErrForbidden},
		"no editor for another label":           {editor, nil, prompt.LabelMove{Label: "staging"}, 1, prompt.ErrForbidden},
		"no editor for a protected label":       {editor, func(t *prompt.Template) { t.ProtectedLabels = []string{"live"} }, prompt.LabelMove{Label: "live"}, 1, prompt.ErrForbidden},
		"no viewer":                             {viewer, nil, prompt.LabelMove{Label: "live"}, 1, prompt.ErrForbidden},
		"no stranger":                           {stranger, nil, prompt.LabelMove{Label: "live"}, 1, prompt.ErrNotFound},
		"no one for a version that is not":      {manager, nil, prompt.LabelMove{Label: "live"}, 9, prompt.ErrVersionNotFound},
		"no one who bypasses without a reason":  {manager, nil, prompt.LabelMove{Label: "live", BypassChecks: true}, 1, fault.ErrInvalid},
		"no editor who bypasses":                {editor, nil, prompt.LabelMove{Label: "live", BypassChecks: true, Reason: "x"}, 1, prompt.ErrForbidden},
		"no one for a time that has passed":     {manager, nil, prompt.LabelMove{Label: "live", NotBefore: now}, 1, fault.ErrInvalid},
		"no one who expects another version":    {manager, nil, prompt.LabelMove{Label: "live", Expected: &prompt.Ref{Number: 1}}, 1, prompt.ErrLabelChanged},
		"no one for a label that is not one":    {manager, nil, prompt.LabelMove{Label: "latest"}, 1, fault.ErrInvalid},
		"a manager who expects the right label": {manager, nil, prompt.LabelMove{Label: "live", Expected: &prompt.Ref{Number: 3}}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions, labels := gated()
			tmpl.Protected, tmpl.Approvals = true, 1
			if tt.alter != nil {
				tt.alter(tmpl)
			}
			_, err := tmpl.PlanLabel(tt.by, []*prompt.VersionInfo{info(versions[tt.n])},
				prompt.RolloutDraft{LabelMove: tt.m, Versions: []prompt.WeightedRef{{Weight: 100}}}, labels)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestARequestForALabelIsFulfilledOrCancelled(t *testing.T) {
	ask := func(t *testing.T) (*prompt.Template, map[int]*prompt.Version, prompt.Labels, prompt.ActivationRequest) {
		t.Helper()
		tmpl, versions, labels := gated()
		tmpl.Protected, tmpl.Approvals = true, 1
		plan, err := tmpl.PlanLabel(editor, []*prompt.VersionInfo{&versions[3].VersionInfo, &versions[2].VersionInfo},
			shareOut(), labels)
		require.NoError(t, err)
		r, err := tmpl.Request(editor, tmpl.Seen(*plan, editor, nil), nil)
		require.NoError(t, err)
		assert.Equal(t, "the version that the request is about", r.Version, "ver2")
		return tmpl, versions, labels, r
	}
	t.Run("its rollout begins, and the ledger names the author and the request", func(t *testing.T) {
		tmpl, versions, labels, r := ask(t)
		require.NoError(t, tmpl.FulfilLabel(editor, versions[3], []*prompt.VersionInfo{&versions[2].VersionInfo}, r,
			labels))
		require.NoError(t, tmpl.JoinFor(editor, &versions[2].VersionInfo, r))
		line := tmpl.Activated[0]
		if line.Request != r.ID || line.By != "eve" || len(line.Weights) != 2 || !versions[2].Frozen ||
			tmpl.OpenRequests != 0 || tmpl.ChangedRequests[1].State != prompt.Activated {
			t.Errorf("the ledger has %+v, version 2 is %+v", line, versions[2].VersionInfo)
		}
	})
	for name, tt := range map[string]struct {
		alter func(*prompt.Template, *prompt.Standing)
		want  prompt.Cause
	}{
		"it goes on": {func(*prompt.Template, *prompt.Standing) {}, ""},
		"another version with the label cancels it": {func(_ *prompt.Template, s *prompt.Standing) { s.Base = "ver1" }, prompt.BaseMoved},
		"an edit of any of its versions cancels it": {func(_ *prompt.Template, s *prompt.Standing) {
			s.Versions[1] = &prompt.VersionInfo{ContentHash: "other"}
		}, prompt.VersionChanged},
		"the deletion of one cancels it":             {func(_ *prompt.Template, s *prompt.Standing) { s.Versions[1] = nil }, prompt.VersionChanged},
		"the label's protection cancels an editor's": {func(t *prompt.Template, _ *prompt.Standing) { t.ProtectedLabels = []string{"live"} }, prompt.AccessLost},
		"the end of the gate cancels what needs a manager": {func(t *prompt.Template, _ *prompt.Standing) { t.GatedLabels = nil },
			prompt.AccessLost},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions, _, r := ask(t)
			s := prompt.Standing{Base: "ver3",
				Versions: []*prompt.VersionInfo{&versions[3].VersionInfo, &versions[2].VersionInfo}}
			tt.alter(tmpl, &s)
			_, cause := tmpl.Look(editor, r, s)
			assert.Equal(t, "cause", cause, tt.want)
		})
	}
}

func TestReportsOfAuthorsDoNotCount(t *testing.T) {
	for name, tt := range map[string]struct {
		reporters []identity.UserID
		edited    bool
		counts    bool
	}{
		"of someone else":                       {[]identity.UserID{"eve"}, true, true},
		"of who created the version":            {[]identity.UserID{"ann"}, true, false},
		"of who edited it last":                 {[]identity.UserID{"max"}, true, false},
		"with a key that the author made":       {[]identity.UserID{"service", "ann"}, true, false},
		"with a key of someone else":            {[]identity.UserID{"service", "eve"}, true, true},
		"with a key of the server's commands":   {[]identity.UserID{"eve", ""}, false, true},
		"of the author with a key of a command": {[]identity.UserID{"ann", ""}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			v := &versions[2].VersionInfo
			if v.CreatedBy = "ann"; tt.edited {
				v.EditedBy = "max"
			}
			c, err := tmpl.Report(editor, v, prompt.Check{Name: "eval", Conclusion: prompt.Success}, nil, tt.reporters)
			require.NoError(t, err)
			assert.Equal(t, "whether it passes", tmpl.Passes(&c, v.ContentHash), tt.counts)
		})
	}
	t.Run("an edit makes its editor an author", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		require.NoError(t, tmpl.ChangeVersion(editor, nil, versions[2], prompt.VersionChanges{
			Content: func(c prompt.Content) prompt.Content {
				c.Text = "Other"
				return c
			}}, nil))
		assert.Equal(t, "editor", versions[2].EditedBy, "eve")
	})
}

func TestGatedAndProtectedLabelsAreChecked(t *testing.T) {
	for name, tt := range map[string]struct {
		labels []string
		want   []string
	}{
		"labels":              {[]string{"live", "staging"}, nil},
		"a reserved word":     {[]string{"latest", "live"}, []string{"/gated_labels/0 not_allowed_value", "/protected_labels/0 not_allowed_value"}},
		"a label twice":       {[]string{"a", "a"}, []string{"/gated_labels/1 duplicate_item", "/protected_labels/1 duplicate_item"}},
		"more than ten":       {[]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}, []string{"/gated_labels too_many_items", "/protected_labels too_many_items"}},
		"characters of names": {[]string{"A b"}, []string{"/gated_labels/0 invalid_format", "/protected_labels/0 invalid_format"}},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			err := apply(tmpl, manager, nil, prompt.Changes{GatedLabels: &tt.labels, ProtectedLabels: &tt.labels})
			if got := wrongFields(t, err); len(got) != len(tt.want) ||
				(len(got) > 0 && (got[0] != tt.want[0] || got[1] != tt.want[1])) {
				t.Errorf("errors %q, want %q", got, tt.want)
			}
		})
	}
	tmpl, _ := sharedTemplate()
	require.ErrorIs(t, apply(tmpl, editor, nil, prompt.Changes{GatedLabels: new([]string)}), prompt.ErrForbidden)
	require.ErrorIs(t, apply(tmpl, editor, nil, prompt.Changes{ProtectedLabels: new([]string)}), prompt.ErrForbidden)
}
