package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestParseRef(t *testing.T) {
	versionID := id.New(prompt.VersionPrefix)
	for s, want := range map[string]prompt.Ref{
		"active": {Active: true}, "latest": {Latest: true}, versionID: {ID: prompt.VersionID(versionID)},
		"v1": {Number: 1}, "v12": {Number: 12}, "v2147483647": {Number: 1<<31 - 1},
		"production": {Label: "production"}, "v": {Label: "v"}, "v1.2": {Label: "v1.2"}, "v-1": {Label: "v-1"},
		"12": {Label: "12"}, "a_b-c.d": {Label: "a_b-c.d"},
		strings.Repeat("x", 36): {Label: strings.Repeat("x", 36)},
		"ver_123":               {Label: "ver_123"}, // no identifier of a version
		// What names none.
		"": {}, "v0": {}, "v2147483648": {}, "v99999999999999999999": {}, "Production": {}, "a b": {}, "ä": {},
		"a/b": {}, "v1\n": {},
		strings.Repeat("x", 37): {},
	} {
		t.Run(fmt.Sprintf("%q", s), func(t *testing.T) {
			assert.Equal(t, "ParseRef", prompt.ParseRef(s), want)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`v?[0-9a-z_.-]{0,40}`)).Draw(t, "ref")
		ref := prompt.ParseRef(s)
		namedCount := 0
		for _, ok := range []bool{ref.ID != "", ref.Number != 0, ref.Label != "", ref.Active, ref.Latest} {
			if ok {
				namedCount++
			}
		}
		if namedCount > 1 || ref.Number < 0 {
			t.Fatalf("ParseRef(%q) = %+v names several", s, ref)
		}
	})
}

func TestAddVersion(t *testing.T) {
	add := func(tmpl *prompt.Template, d prompt.VersionDraft) (*prompt.Version, error) {
		if d.Content.Text == "" {
			d.Content.Text = "Hello {{name}}"
		}
		return tmpl.AddVersion(owner, d, nil)
	}
	t.Run("it is a draft with the next number", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		v, err := add(tmpl, prompt.VersionDraft{CommitMessage: "why"})
		require.NoError(t, err)
		if !id.Valid(prompt.VersionPrefix, string(v.ID)) || v.Template != tmpl.ID || v.Number != 4 ||
			tmpl.LastNumber != 4 || v.Frozen || v.CommitMessage != "why" ||
			v.ContentHash != v.Content.Hash() || len(v.Content.Variables) != 1 || v.Revision != 1 ||
			v.CreatedBy != "ann" || v.CreatedAt != now || !v.FirstActivatedAt.IsZero() {
			t.Fatalf("got %+v", v)
		}
		recorded(t, tmpl, owner, "prompt_version.created")
		if data := tmpl.Recorded()[0].Data; data["version_id"] != v.ID || data["version_number"] != 4 {
			t.Errorf("data = %v", data)
		}
		if tmpl.Active.Version != "ver1" || tmpl.Revision != 7 {
			t.Error("the template itself changed")
		}
		counted(t, tmpl, prompt.Summary{Count: 4, Latest: v.ID, LatestNumber: 4},
			prompt.Summary{Count: 2, Latest: "ver3", LatestNumber: 3})
	})
	t.Run("a number is never given twice, though the newest version was deleted", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		tmpl.AllVersions = prompt.Summary{Count: 1, Latest: "ver1", LatestNumber: 1}
		if v, err := add(tmpl, prompt.VersionDraft{}); err != nil || v.Number != 4 {
			t.Fatalf("got %+v, %v", v, err)
		}
	})
	t.Run("labels freeze it, and are kept in order", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		labels := []string{"stable", "canary"}
		v, err := add(tmpl, prompt.VersionDraft{Labels: labels})
		if err != nil || !v.Frozen || !slices.Equal(v.Labels, []string{"canary", "stable"}) || labels[0] != "stable" {
			t.Fatalf("got %+v, %v; the caller's are %q", v, err, labels)
		}
		counted(t, tmpl, prompt.Summary{Count: 4, Latest: v.ID, LatestNumber: 4},
			prompt.Summary{Count: 3, Latest: v.ID, LatestNumber: 4})
	})
	t.Run("it is activated at once if asked", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		v, err := add(tmpl, prompt.VersionDraft{Activate: true, Reason: "why"})
		require.NoError(t, err)
		step := prompt.Activation{From: "ver1", FromNumber: 1, To: v.ID, ToNumber: 4, By: "ann", At: now, Reason: "why"}
		if !v.Frozen || v.FirstActivatedAt != now || tmpl.Active.Version != v.ID || tmpl.Active.Number != 4 ||
			!cmp.Equal(tmpl.Activated, []prompt.Activation{step}) {
			t.Fatalf("got %+v of %+v", v, tmpl)
		}
		recorded(t, tmpl, owner, "prompt_version.created", "prompt_template.activated")
	})
	t.Run("an editor cannot activate one of a protected template, and a manager can", func(t *testing.T) {
		for by, want := range map[*identity.Actor]error{&editor: prompt.ErrForbidden, &manager: nil} {
			tmpl, _ := sharedTemplate()
			tmpl.Protected = true
			_, err := tmpl.AddVersion(*by, prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Activate: true}, nil)
			require.ErrorIs(t, err, want)
		}
	})
	t.Run("a reason needs an activation, and has at most 500 characters", func(t *testing.T) {
		for _, d := range []prompt.VersionDraft{{Reason: "why"}, {Activate: true, Reason: strings.Repeat("ä", 501)}} {
			tmpl, _ := sharedTemplate()
			previous, _ := sharedTemplate()
			_, err := add(tmpl, d)
			require.ErrorIs(t, err, fault.ErrInvalid)
			unchanged(t, tmpl, previous)
		}
	})
	t.Run("a base that is the latest is accepted", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		_, err := add(tmpl, prompt.VersionDraft{Base: "ver3"})
		require.NoError(t, err)
	})
	t.Run("any other is outdated", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		_, err := add(tmpl, prompt.VersionDraft{Base: "ver1"})
		require.ErrorIs(t, err, prompt.ErrBaseOutdated)
		unchanged(t, tmpl, previous)
	})
	t.Run("variables that were declared are checked, not made up", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		_, err := add(tmpl, prompt.VersionDraft{VariablesDeclared: true})
		require.ErrorIs(t, err, prompt.ErrUndeclaredVariable)
		unchanged(t, tmpl, previous)
	})
	t.Run("a chat's content is none of a text's", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		_, err := tmpl.AddVersion(owner,
			prompt.VersionDraft{Content: prompt.Content{Messages: []prompt.Message{{Role: "user", Content: "x"}}}}, nil)
		if len(wrongFields(t, err)) == 0 {
			t.Fatal("it was accepted")
		}
		unchanged(t, tmpl, previous)
	})
}

// TestLabels checks new and changed versions against the same rules.
func TestLabels(t *testing.T) {
	long := strings.Repeat("ä", 500)
	for _, tt := range []struct {
		name    string
		labels  []string
		message string
		want    []string
	}{
		{"ten labels and a message of 500 characters", strings.Split("abcdefghij", ""), long, nil},
		{"eleven labels", strings.Split("abcdefghijk", ""), "", []string{"/labels too_many_items"}},
		{"every character that is allowed", []string{"az09_.-"}, "", nil},
		{"36 characters", []string{strings.Repeat("x", 36)}, "", nil},
		{"37 characters", []string{strings.Repeat("x", 37)}, "", []string{"/labels/0 invalid_format"}},
		{"an empty label", []string{""}, "", []string{"/labels/0 invalid_format"}},
		{"a capital", []string{"ok", "Live"}, "", []string{"/labels/1 invalid_format"}},
		{"a comma", []string{"a,b"}, "", []string{"/labels/0 invalid_format"}},
		{"a line break", []string{"a\n"}, "", []string{"/labels/0 invalid_format"}},
		{"reserved words", []string{"active", "latest", "v1", "v007", id.New(prompt.VersionPrefix)}, "",
			[]string{"/labels/0 not_allowed_value", "/labels/1 not_allowed_value", "/labels/2 not_allowed_value",
				"/labels/3 not_allowed_value", "/labels/4 not_allowed_value"}},
		{"what only looks reserved", []string{"actives", "v1.0", "v", "version1"}, "", nil},
		{"twice the same", []string{"a", "b", "a"}, "", []string{"/labels/2 duplicate_item"}},
		{"a message of 501 characters", nil, long + "x", []string{"/commit_message too_long"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			_, err := tmpl.AddVersion(owner, prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Labels: tt.labels,
				CommitMessage: tt.message}, nil)
			assert.EqualSlice(t, "AddVersion: wrong", wrongFields(t, err), tt.want)
			err = tmpl.ChangeVersion(owner, nil, versions[1],
				prompt.VersionChanges{Labels: &tt.labels, CommitMessage: &tt.message}, nil)
			assert.EqualSlice(t, "ChangeVersion: wrong", wrongFields(t, err), tt.want)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.OneOf(rapid.StringMatching(`[a-z0-9_.-]{1,36}`),
			rapid.StringMatching(`v?[0-9]{1,3}|active|latest`)).Draw(t, "label")
		tmpl, _ := sharedTemplate()
		_, err := tmpl.AddVersion(owner, prompt.VersionDraft{Content: prompt.Content{Text: "x"},
			Labels: []string{label}}, nil)
		isNumber := strings.Trim(label, "0123456789") == "" // which looks like a version's
		if reads := prompt.ParseRef(label) == (prompt.Ref{Label: label}); (err == nil) != (reads && !isNumber) {
			t.Fatalf("label %q: %v, read as %+v", label, err, prompt.ParseRef(label))
		}
	})
}

func TestChangeVersion(t *testing.T) {
	text := func(s string) func(prompt.Content) prompt.Content {
		return func(c prompt.Content) prompt.Content { c.Text = s; return c }
	}
	laterActor := with(owner, func(a *identity.Actor) { a.At = now.Add(time.Minute) })
	t.Run("a draft's content may change", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		v := versions[2]
		previous := v.ContentHash
		require.ErrorIs(t, tmpl.ChangeVersion(laterActor, nil, v,
			prompt.VersionChanges{Content: text("Bye {{x}}"), InferVariables: true}, nil), nil)
		if v.Content.Text != "Bye {{x}}" || len(v.Content.Variables) != 1 || v.ContentHash != v.Content.Hash() ||
			v.Revision != 2 || v.UpdatedAt != laterActor.At || v.Frozen {
			t.Fatalf("got %+v", v)
		}
		recorded(t, tmpl, laterActor, "prompt_version.updated")
		if data := tmpl.Recorded()[0].Data; data["content_hash"] != (event.Change{From: previous, To: v.ContentHash}) ||
			data["version_number"] != 2 {
			t.Errorf("data = %v", data)
		}
	})
	t.Run("its variables stay declared unless they are to be inferred", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		versions[2].Content.Variables = []prompt.Variable{{Name: "declared", Type: "string"}}
		require.ErrorIs(t,
			tmpl.ChangeVersion(owner, nil, versions[2], prompt.VersionChanges{Content: text("Bye {{x}}")}, nil),
			prompt.ErrUndeclaredVariable)
	})
	t.Run("those that were inferred follow the text, and those that come with it do not", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		v := versions[2]
		require.NoError(t, tmpl.ChangeVersion(owner, nil, v, prompt.VersionChanges{Content: text("Bye {{x}}")}, nil))
		require.NoError(t, tmpl.ChangeVersion(owner, nil, v, prompt.VersionChanges{Content: text("Bye {{y}}")}, nil))
		if len(v.Content.Variables) != 1 || v.Content.Variables[0].Name != "y" {
			t.Fatalf("variables are %+v", v.Content.Variables)
		}
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, v,
			prompt.VersionChanges{Content: text("Bye {{z}}"), VariablesDeclared: true}, nil),
			prompt.ErrUndeclaredVariable)
		describedContent := func(c prompt.Content) prompt.Content {
			c.Variables = []prompt.Variable{{Name: "y", Type: "string", Required: true, Description: "name"}}
			return c
		}
		require.ErrorIs(t,
			tmpl.ChangeVersion(owner, nil, v, prompt.VersionChanges{Content: describedContent, VariablesDeclared: true},
				nil), nil)
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, v, prompt.VersionChanges{Content: text("Bye {{z}}")}, nil),
			prompt.ErrUndeclaredVariable)
	})
	t.Run("all that is wrong with a body is said at once", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		previous, _ := sharedTemplate()
		bad := prompt.Content{Text: "{{#x}} {{y}}", Format: prompt.Mustache,
			Variables: []prompt.Variable{{Name: "0", Type: "string"}}, Tools: []byte(`{}`)}
		want := []string{"/tools wrong_type", "/variables/0/name invalid_format", "/text unsupported_syntax",
			"/labels/0 not_allowed_value", "/commit_message too_long"}
		labels, message := []string{"latest"}, strings.Repeat("x", 501)
		_, err := tmpl.AddVersion(owner, prompt.VersionDraft{Content: bad, VariablesDeclared: true, Labels: labels,
			CommitMessage: message}, nil)
		assert.EqualSlice(t, "AddVersion: wrong", wrongFields(t, err), want)
		err = tmpl.ChangeVersion(owner, nil, versions[2], prompt.VersionChanges{
			Content: func(prompt.Content) prompt.Content { return bad }, VariablesDeclared: true, Labels: &labels,
			CommitMessage: &message,
		}, nil)
		assert.EqualSlice(t, "ChangeVersion: wrong", wrongFields(t, err), want)
		unchanged(t, tmpl, previous)
		if versions[2].Content.Text != "Hello" || versions[2].CommitMessage != "" || len(versions[2].Labels) != 0 {
			t.Errorf("the version has changed: %+v", versions[2])
		}
	})
	t.Run("a frozen version keeps its content for ever", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		previous, _ := sharedTemplate()
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, versions[1],
			prompt.VersionChanges{Content: text("x"), CommitMessage: new("x")}, nil), prompt.ErrVersionFrozen)
		unchanged(t, tmpl, previous)
	})
	t.Run("but not its message and labels", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		v := versions[3]
		require.ErrorIs(t, tmpl.ChangeVersion(laterActor, nil, v,
			prompt.VersionChanges{CommitMessage: new("why"), Labels: &[]string{"z", "live"}}, nil), nil)
		if v.CommitMessage != "why" || !slices.Equal(v.Labels, []string{"live", "z"}) || v.Revision != 2 {
			t.Fatalf("got %+v", v)
		}
		recorded(t, tmpl, laterActor, "prompt_version.updated")
	})
	t.Run("the event says from which versions labels were taken", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		labels := prompt.Labels{"live": {Number: 3}, "stable": {Number: 3}, "old": {Number: 1}}
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, versions[1],
			prompt.VersionChanges{Labels: &[]string{"live", "old", "new"}}, labels), nil)
		_, err := tmpl.AddVersion(owner, prompt.VersionDraft{Content: prompt.Content{Text: "x"},
			Labels: []string{"stable"}}, labels)
		require.NoError(t, err)
		_, err = tmpl.AddVersion(owner, prompt.VersionDraft{Content: prompt.Content{Text: "x"},
			Labels: []string{"fresh"}}, labels)
		require.NoError(t, err)
		var got []any
		for _, e := range tmpl.Recorded() {
			got = append(got, e.Data["labels_taken_from"])
		}
		if fmt.Sprint(got) != "[map[live:3] map[stable:3] <nil>]" {
			t.Errorf("the events say %v", got)
		}
	})
	t.Run("the first label freezes a draft", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		require.ErrorIs(t,
			tmpl.ChangeVersion(owner, nil, versions[2], prompt.VersionChanges{Labels: &[]string{"live"}}, nil),
			nil)
		if !versions[2].Frozen {
			t.Fatal("still a draft")
		}
		counted(t, tmpl, prompt.Summary{Count: 3, Latest: "ver3", LatestNumber: 3},
			prompt.Summary{Count: 3, Latest: "ver3", LatestNumber: 3})
	})
	t.Run("and taking it off does not thaw it", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		require.NoError(t, tmpl.ChangeVersion(owner, nil, versions[3], prompt.VersionChanges{Labels: &[]string{}}, nil))
		if v := versions[3]; !v.Frozen || len(v.Labels) != 0 {
			t.Fatalf("got %+v", v)
		}
	})
	t.Run("content and label may come together", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, versions[2],
			prompt.VersionChanges{Content: text("x"), Labels: &[]string{"live"}}, nil), nil)
		if v := versions[2]; v.Content.Text != "x" || !v.Frozen {
			t.Fatalf("got %+v", v)
		}
	})
	t.Run("what is sent as it is changes nothing", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		previous, _ := sharedTemplate()
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, versions[2],
			prompt.VersionChanges{Content: text("Hello"), CommitMessage: new(""), Labels: &[]string{}}, nil), nil)
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, versions[3],
			prompt.VersionChanges{Labels: &[]string{"stable", "live"}}, nil), nil)
		unchanged(t, tmpl, previous)
		if versions[2].Revision != 1 || versions[2].Frozen || versions[3].Revision != 1 {
			t.Fatal("a version changed")
		}
	})
	t.Run("a version that is not there is not found", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil, nil, prompt.VersionChanges{}, nil), prompt.ErrVersionNotFound)
		require.ErrorIs(t, tmpl.ChangeVersion(owner, nil,
			&prompt.Version{VersionInfo: prompt.VersionInfo{ID: "ver1", Template: "another"}}, prompt.VersionChanges{},
			nil), prompt.ErrVersionNotFound)
		require.ErrorIs(t, tmpl.ChangeVersion(stranger, nil, nil, prompt.VersionChanges{}, nil), prompt.ErrNotFound)
	})
}

func TestDiff(t *testing.T) {
	_, versions := sharedTemplate()
	versions[2].Content.Text = "Bye"
	d := prompt.Diff(versions[1], versions[2])
	if !strings.Contains(d.Unified, "--- v1") || !strings.Contains(d.Unified, "+++ v2") ||
		!strings.Contains(d.Unified, "+Bye") {
		t.Errorf("diff = %q", d.Unified)
	}
}
