package prompt_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCopyingDraft(t *testing.T) {
	tmpl, _ := sharedTemplate()
	tmpl.Protected = true
	for name, tt := range map[string]struct {
		c    prompt.Copying
		want string
	}{
		"a copy in the same workspace has another name": {prompt.Copying{}, "Greeting copy"},
		"also if the workspace is named":                {prompt.Copying{Workspace: "acme"}, "Greeting copy"},
		"a copy in another workspace has the same name": {prompt.Copying{Workspace: "other"}, "Greeting"},
		"a name that is given is taken":                 {prompt.Copying{Name: "New", Workspace: "other"}, "New"},
	} {
		t.Run(name, func(t *testing.T) {
			d := tt.c.Draft(tmpl)
			if d.Name != tt.want || d.Type != prompt.Text || !d.Protected || d.Tags[0] != "a" {
				t.Errorf("Draft = %+v", d)
			}
		})
	}
}

func TestNote(t *testing.T) {
	v := prompt.VersionInfo{CreatedAt: time.Date(2026, 3, 5, 23, 0, 0, 0, time.UTC)}
	assert.Equal(t, "Note", v.Note("Ann"), "(by Ann, 2026-03-05)")
	v.CommitMessage = "Better"
	assert.Equal(t, "Note", v.Note("Ann"), "Better (by Ann, 2026-03-05)")
	v.CommitMessage = strings.Repeat("ä", 500)
	got := v.Note("Ann")
	if n := utf8.RuneCountInString(got); n != 500 || !strings.HasSuffix(got, "ä… (by Ann, 2026-03-05)") {
		t.Errorf("Note has %d characters: %q", n, got)
	}
}

func TestAddVersionThatIsCopied(t *testing.T) {
	tmpl, _ := sharedTemplate()
	for _, tt := range []struct{ number, want int }{{9, 9}, {2, 10}} {
		v, err := tmpl.AddVersion(owner, prompt.VersionDraft{Content: prompt.Content{Text: "x"},
			Copied: &prompt.VersionInfo{Number: tt.number, Frozen: tt.number == 9}}, nil)
		require.NoError(t, err)
		if v.Number != tt.want || v.Frozen != (tt.number == 9) || v.Revision != 1 {
			t.Errorf("version = %+v", v.VersionInfo)
		}
	}
}
