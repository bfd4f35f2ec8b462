package prompt_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

// labelled are the labels of the template that sharedTemplate makes.
func labelled() prompt.Labels {
	return prompt.Labels{
		"live":   {Version: "ver3", Number: 3, By: "max"},
		"stable": {Version: "ver3", Number: 3, By: "eve"},
	}
}

func TestMoveLabel(t *testing.T) {
	for name, tt := range map[string]struct {
		by      identity.Actor
		version int // 0: none
		move    prompt.LabelMove
		want    error
	}{
		"an editor moves a label":               {editor, 1, prompt.LabelMove{Label: "live"}, nil},
		"an editor sets a new label on a draft": {editor, 2, prompt.LabelMove{Label: "new"}, nil},
		"the expected version is named by number": {owner, 1,
			prompt.LabelMove{Label: "live", Expected: &prompt.Ref{Number: 3}}, nil},
		"the expected version is named by id": {owner, 1,
			prompt.LabelMove{Label: "live", Expected: &prompt.Ref{ID: "ver3"}}, nil},
		"no version is expected to have a new label": {owner, 1,
			prompt.LabelMove{Label: "new", Expected: &prompt.Ref{}}, nil},
		"another version was expected": {owner, 1,
			prompt.LabelMove{Label: "live", Expected: &prompt.Ref{Number: 2}}, prompt.ErrLabelChanged},
		"no version was expected": {owner, 1,
			prompt.LabelMove{Label: "live", Expected: &prompt.Ref{}}, prompt.ErrLabelChanged},
		"a version was expected, and none has the label": {owner, 1,
			prompt.LabelMove{Label: "new", Expected: &prompt.Ref{Number: 3}}, prompt.ErrLabelChanged},
		"a reference such as active names no expected version": {owner, 1,
			prompt.LabelMove{Label: "live", Expected: &prompt.Ref{Active: true}}, prompt.ErrLabelChanged},
		"a viewer may not":               {viewer, 1, prompt.LabelMove{Label: "live"}, prompt.ErrForbidden},
		"a viewer is not told of drafts": {viewer, 2, prompt.LabelMove{Label: "live"}, prompt.ErrVersionNotFound},
		"a stranger learns nothing":      {stranger, 1, prompt.LabelMove{Label: "live"}, prompt.ErrNotFound},
		"a version that is not there":    {owner, 0, prompt.LabelMove{Label: "live"}, prompt.ErrVersionNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			v := versions[tt.version]
			require.ErrorIs(t, tmpl.MoveLabel(tt.by, v, tt.move, labelled()), tt.want)
			if tt.want != nil {
				previous, _ := sharedTemplate()
				unchanged(t, tmpl, previous)
				return
			}
			if !slices.Equal(v.Labels, []string{tt.move.Label}) || !v.Frozen || v.Revision != 2 {
				t.Errorf("version = %+v", v.VersionInfo)
			}
			recorded(t, tmpl, tt.by, "prompt_version.updated")
		})
	}
	t.Run("the ledger and the event say from where, by which user, and why", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		m := prompt.LabelMove{Label: "live", Reason: "better"}
		require.NoError(t, tmpl.MoveLabel(editor, versions[1], m, labelled()))
		want := []prompt.Activation{{Label: "live", From: "ver3", FromNumber: 3, To: "ver1", ToNumber: 1,
			By: "eve", At: now, Reason: "better"}}
		if d := cmp.Diff(want, tmpl.Activated); d != "" {
			t.Error(d)
		}
		data := tmpl.Recorded()[0].Data
		if data["reason"] != "better" || cmp.Diff(data["labels_taken_from"], map[string]int{"live": 3}) != "" {
			t.Errorf("event = %v", data)
		}
	})
	t.Run("repeating it changes nothing", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		m := prompt.LabelMove{Label: "live", Reason: "again"}
		require.NoError(t, tmpl.MoveLabel(owner, versions[3], m, labelled()))
		previous, _ := sharedTemplate()
		unchanged(t, tmpl, previous)
	})
	t.Run("a protected template requires a manager", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		tmpl.Protected = true
		m := prompt.LabelMove{Label: "live"}
		require.ErrorIs(t, tmpl.MoveLabel(editor, versions[1], m, labelled()), prompt.ErrForbidden)
		require.ErrorIs(t, tmpl.RemoveLabel(editor, nil, versions[3], m, labelled()), prompt.ErrForbidden)
		require.NoError(t, tmpl.MoveLabel(manager, versions[1], m, labelled()))
	})
	t.Run("a version has at most 10 labels", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		versions[1].Labels = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
		m := prompt.LabelMove{Label: "live"}
		require.ErrorIs(t, tmpl.MoveLabel(owner, versions[1], m, labelled()), prompt.ErrLabelLimit)
	})
	for _, label := range []string{"active", "previous", "latest", "v1", "v0", "A", ""} {
		t.Run("no label is called "+label, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			got := wrongFields(t, tmpl.MoveLabel(owner, versions[1], prompt.LabelMove{Label: label}, labelled()))
			if len(got) != 1 || got[0][:7] != "/label " {
				t.Errorf("wrong fields = %q", got)
			}
		})
	}
}

func TestRemoveLabel(t *testing.T) {
	for name, tt := range map[string]struct {
		by    identity.Actor
		label string
		move  *prompt.Ref
		at    revision.Match
		want  error
	}{
		"an editor removes a label":    {editor, "live", nil, nil, nil},
		"the expected version has it":  {owner, "live", &prompt.Ref{ID: "ver3"}, revision.Match{1}, nil},
		"another version was expected": {owner, "live", &prompt.Ref{Number: 1}, nil, prompt.ErrLabelChanged},
		"another revision was meant":   {owner, "live", nil, revision.Match{9}, revision.ErrMismatch},
		"a label that is not there":    {owner, "none", nil, nil, prompt.ErrLabelNotFound},
		"a viewer may not":             {viewer, "live", nil, nil, prompt.ErrForbidden},
		"a stranger learns nothing":    {stranger, "none", nil, nil, prompt.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			v := versions[3]
			if tt.label == "none" {
				v = nil
			}
			m := prompt.LabelMove{Label: tt.label, Expected: tt.move, Reason: "why"}
			require.ErrorIs(t, tmpl.RemoveLabel(tt.by, tt.at, v, m, labelled()), tt.want)
			if tt.want != nil {
				previous, _ := sharedTemplate()
				unchanged(t, tmpl, previous)
				return
			}
			want := []prompt.Activation{{Label: "live", From: "ver3", FromNumber: 3, By: tt.by.User, At: now,
				Reason: "why"}}
			if d := cmp.Diff(want, tmpl.Activated); d != "" || !slices.Equal(v.Labels, []string{"stable"}) {
				t.Errorf("labels %q, ledger:\n%s", v.Labels, d)
			}
		})
	}
}

func TestChangeVersionKeepsLabelsOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		by     identity.Actor
		at     revision.Match
		labels []string
		want   error
	}{
		"a label that another user gave is not dropped unseen": {owner, nil, []string{"new"}, prompt.ErrLabelChanged},
		"one of several is enough":                             {editor, nil, nil, prompt.ErrLabelChanged},
		"it is by a caller who has seen it":                    {owner, revision.Match{1}, []string{"new"}, nil},
		"a label of the caller's own is":                       {editor, nil, []string{"live"}, nil},
		"adding a label drops none":                            {owner, nil, []string{"stable", "new", "live"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			c := prompt.VersionChanges{Labels: &tt.labels}
			require.ErrorIs(t, tmpl.ChangeVersion(tt.by, tt.at, versions[3], c, labelled()), tt.want)
		})
	}
	t.Run("a label from before moves were recorded is dropped", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, versions[3], prompt.VersionChanges{Labels: &[]string{}},
			prompt.Labels{"live": {Version: "ver3", Number: 3}}), nil)
	})
}
