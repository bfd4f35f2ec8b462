package prompt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// divided is the request for a rollout with these weights of versions 1, 2 and so on.
func divided(weights ...int) prompt.RolloutDraft {
	d := prompt.RolloutDraft{LabelMove: prompt.LabelMove{Label: "canary", Reason: "why"}}
	for i, w := range weights {
		d.Versions = append(d.Versions, prompt.WeightedRef{Ref: prompt.Ref{Number: i + 1}, Weight: w})
	}
	return d
}

// rollOut starts a rollout as the application does, with the versions that d names.
func rollOut(
	by identity.Actor, t *prompt.Template, versions map[int]*prompt.Version, d prompt.RolloutDraft,
	labels prompt.Labels,
) error {
	var others []*prompt.VersionInfo
	for _, w := range d.Versions[1:] {
		v := info(versions[w.Ref.Number])
		if err := t.Join(by, v, prompt.LabelMove{Label: "live"}); err != nil {
			return err
		}
		others = append(others, v)
	}
	return t.RollOut(by, versions[d.Versions[0].Ref.Number], others, d, labels)
}

func TestRollOut(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		d    prompt.RolloutDraft
		want error
	}{
		"an editor rolls out a label": {editor, divided(90, 10), nil},
		"a viewer may not":            {viewer, divided(90, 10), prompt.ErrVersionNotFound}, // version 2 is a draft
		"a stranger learns nothing":   {stranger, divided(90, 10), prompt.ErrNotFound},
		"another version was expected to have the label": {owner, func() prompt.RolloutDraft {
			d := divided(90, 10)
			d.Expected = &prompt.Ref{Number: 3}
			return d
		}(), prompt.ErrLabelChanged},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			require.ErrorIs(t, rollOut(tt.by, tmpl, versions, tt.d, labelled()), tt.want)
			if tt.want != nil {
				return
			}
			weights := []prompt.Weight{{Version: "ver1", Number: 1, Percent: 90},
				{Version: "ver2", Number: 2, Percent: 10}}
			ledger := []prompt.Activation{{Label: "canary", To: "ver1", ToNumber: 1, By: tt.by.User, At: now,
				Reason: "why", Weights: weights}}
			if d := cmp.Diff(ledger, tmpl.Activated); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(weights, tmpl.ChangedRollouts[0].Weights()); d != "" || !versions[2].Frozen {
				t.Errorf("frozen: %v, rollout:\n%s", versions[2].Frozen, d)
			}
			recorded(t, tmpl, tt.by, "prompt_version.updated", "prompt_version.updated",
				"prompt_template.rollout_changed")
		})
	}
	for name, tt := range map[string]struct {
		weights []int
		want    []string
	}{
		"weights that add up to less than 100 are refused": {[]int{50, 49}, []string{"/versions not_allowed_value"}},
		"weights that add up to more are refused":          {[]int{50, 51}, []string{"/versions not_allowed_value"}},
		"a weight of nothing is refused":                   {[]int{100, 0}, []string{"/versions/1/weight out_of_range"}},
		"a negative weight is refused": {[]int{101, -1}, []string{"/versions/0/weight out_of_range",
			"/versions/1/weight out_of_range"}},
		"one version is no rollout": {[]int{100}, []string{"/versions not_allowed_value"}},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			got := wrongFields(t, rollOut(owner, tmpl, versions, divided(tt.weights...), labelled()))
			assert.EqualSlice(t, "wrong fields", got, tt.want)
		})
	}
	t.Run("a version that is listed twice is refused", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		d := divided(50, 50)
		d.Versions[1].Ref.Number = 1
		got := wrongFields(t, rollOut(owner, tmpl, versions, d, labelled()))
		assert.EqualSlice(t, "wrong fields", got, []string{"/versions/1/version duplicate_item"})
	})
	t.Run("a protected template requires a manager", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		tmpl.Protected = true
		require.ErrorIs(t, rollOut(editor, tmpl, versions, divided(90, 10), labelled()), prompt.ErrForbidden)
		require.NoError(t, rollOut(manager, tmpl, versions, divided(90, 10), labelled()))
	})
	t.Run("at most 10 labels have a rollout", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		labels := prompt.Labels{}
		for i := range prompt.MaxRollouts {
			labels[fmt.Sprint("l", i)] = prompt.Labelled{Version: "ver3", Number: 3, Rollout: &prompt.Rollout{}}
		}
		require.ErrorIs(t, rollOut(owner, tmpl, versions, divided(90, 10), labels), prompt.ErrRolloutLimit)
	})
}

// running is a rollout of the label live between versions 3 and 1, as it is stored.
func running(t *testing.T, weights ...int) (*prompt.Template, map[int]*prompt.Version, prompt.Labels) {
	t.Helper()
	tmpl, versions := sharedTemplate()
	versions[3].Labels = []string{"live", "stable"}
	d := divided(weights...)
	d.Label, d.Versions[0].Ref.Number, d.Versions[1].Ref.Number = "live", 3, 1
	labels := labelled()
	require.NoError(t, rollOut(owner, tmpl, versions, d, labels))
	label := labels["live"]
	label.Rollout = &tmpl.ChangedRollouts[0]
	labels["live"] = label
	fresh, versions := sharedTemplate()
	versions[3].Labels = []string{"live", "stable"}
	return fresh, versions, labels
}

func TestRolloutsEnd(t *testing.T) {
	move := prompt.LabelMove{Label: "live", Reason: "done"}
	for name, end := range map[string]func(*prompt.Template, map[int]*prompt.Version, prompt.Labels) error{
		"by moving the label to the other version": func(t *prompt.Template, v map[int]*prompt.Version, labels prompt.Labels) error {
			return t.MoveLabel(owner, v[1], move, labels)
		},
		"by moving the label to the version that has it": func(t *prompt.Template, v map[int]*prompt.Version,
			labels prompt.Labels) error {
			return t.MoveLabel(owner, v[3], move, labels)
		},
		"by taking the label away": func(t *prompt.Template, v map[int]*prompt.Version, labels prompt.Labels) error {
			return t.RemoveLabel(owner, nil, v[3], move, labels)
		},
		"by another list of labels": func(t *prompt.Template, v map[int]*prompt.Version, labels prompt.Labels) error {
			return t.ChangeVersion(owner, nil, v[1], prompt.VersionChanges{Labels: &[]string{"live"}}, labels)
		},
		"by a new version with the label": func(t *prompt.Template, _ map[int]*prompt.Version, labels prompt.Labels) error {
			_, err := t.AddVersion(owner, prompt.VersionDraft{Content: prompt.Content{Text: "x"},
				Labels: []string{"live"}}, labels)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions, labels := running(t, 90, 10)
			require.NoError(t, end(tmpl, versions, labels))
			if len(tmpl.ChangedRollouts) != 1 || len(tmpl.ChangedRollouts[0].Parts) != 0 ||
				len(tmpl.Activated) != 1 || tmpl.Activated[0].Weights != nil {
				t.Errorf("rollouts = %+v, ledger = %+v", tmpl.ChangedRollouts, tmpl.Activated)
			}
			events := tmpl.Recorded()
			data := events[slices.IndexFunc(events, func(e event.Event) bool {
				return e.Type == "prompt_template.rollout_changed"
			})].Data
			assert.Equal(t, "the event says", fmt.Sprint(data["label"], data["weights"]), "live{[v3=90 v1=10] []}")
		})
	}
	t.Run("a version in a rollout is not deleted", func(t *testing.T) {
		tmpl, versions, labels := running(t, 90, 10)
		require.ErrorIs(t, tmpl.DeleteVersion(owner, nil, info(versions[3]), []prompt.Rollout{*labels["live"].Rollout}),
			prompt.ErrVersionInRollout)
	})
	t.Run("the same weights again change nothing", func(t *testing.T) {
		tmpl, versions, labels := running(t, 90, 10)
		d := divided(90, 10)
		d.Label, d.Versions[0].Ref.Number, d.Versions[1].Ref.Number = "live", 3, 1
		require.NoError(t, rollOut(owner, tmpl, versions, d, labels))
		if len(tmpl.Recorded()) != 0 || len(tmpl.ChangedRollouts) != 0 {
			t.Errorf("recorded %v", tmpl.Recorded())
		}
	})
}

// readers are the versions that a rollout chooses for 10,000 keys.
func readers(r *prompt.Rollout) []prompt.VersionID {
	out := make([]prompt.VersionID, 10_000)
	for i := range out {
		out[i] = r.Choose(fmt.Sprintf("user-%d", i)).Version
	}
	return out
}

func TestChoose(t *testing.T) {
	change := func(t *testing.T, labels prompt.Labels, weights ...int) *prompt.Rollout {
		t.Helper()
		tmpl, versions := sharedTemplate()
		versions[3].Labels = []string{"live", "stable"}
		d := divided(weights...)
		d.Label = "live"
		for i, number := range []int{3, 1, 2}[:len(weights)] {
			d.Versions[i].Ref.Number = number
		}
		require.NoError(t, rollOut(owner, tmpl, versions, d, labels))
		return &tmpl.ChangedRollouts[0]
	}
	t.Run("each version is chosen for its share of the keys", func(t *testing.T) {
		for _, weights := range [][]int{{50, 50}, {99, 1}, {1, 99}, {34, 33, 33}, {80, 15, 5}} {
			r := change(t, labelled(), weights...)
			counts := map[prompt.VersionID]int{}
			for _, v := range readers(r) {
				counts[v]++
			}
			for i, v := range []prompt.VersionID{"ver3", "ver1", "ver2"}[:len(weights)] {
				if deviation := counts[v]/100 - weights[i]; deviation < -2 || deviation > 2 {
					t.Errorf("%v: %s has %d of 10,000 keys", weights, v, counts[v])
				}
			}
		}
	})
	t.Run("other weights move only as many keys as they must", func(t *testing.T) {
		_, _, labels := running(t, 90, 10)
		previous := labels["live"].Rollout
		current := change(t, labels, 60, 30, 10)
		moves := 0
		previousVersions, versions := readers(previous), readers(current)
		for i := range previousVersions {
			if previousVersions[i] != versions[i] {
				moves++
				if previousVersions[i] != "ver3" {
					t.Fatalf("a key moved from %s, whose weight grew", previousVersions[i])
				}
			}
		}
		if moves < 2_800 || moves > 3_200 {
			t.Errorf("%d of 10,000 keys moved, want 30 %%", moves)
		}
		if current.Seed != previous.Seed {
			t.Error("the keys are divided again")
		}
	})
	t.Run("another rollout begins with other readers", func(t *testing.T) {
		one, two := readers(change(t, labelled(), 50, 50)), readers(change(t, labelled(), 50, 50))
		if slices.Equal(one, two) {
			t.Error("two rollouts chose the same versions for all keys")
		}
	})
}

// The clients are tested with the same cases.
func TestKeysChooseAsInTheCasesOfTheClients(t *testing.T) {
	text, err := os.ReadFile("testdata/rollouts.json")
	require.NoError(t, err)
	var cases []struct {
		Seed     string `json:"seed"`
		Versions []struct {
			ID    prompt.VersionID `json:"version_id"`
			Slots []int            `json:"slots"`
		} `json:"versions"`
		Keys map[string]prompt.VersionID `json:"keys"`
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	for _, tt := range cases {
		r := prompt.Rollout{Seed: tt.Seed}
		for _, v := range tt.Versions {
			part := prompt.RolloutPart{Version: v.ID}
			for _, slot := range v.Slots {
				part.Slots = append(part.Slots, byte(slot))
			}
			r.Parts = append(r.Parts, part)
		}
		for key, want := range tt.Keys {
			assert.Equal(t, tt.Seed+": "+key, r.Choose(key).Version, want)
		}
	}
	if len(cases) < 4 {
		t.Errorf("only %d cases", len(cases))
	}
}
