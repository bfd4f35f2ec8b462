package chat_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestThemes(t *testing.T) {
	good := chat.Theme{Scheme: "auto", Light: chat.Palette{Primary: "#0B6e4f"}, Dark: chat.Palette{Text: "#ffffff"},
		Radius: new(0), Font: `"Inter", system-ui`, Position: "left", AvatarURL: "https://cdn.example/a.png"}
	c := sharedTemplate()
	require.NoError(t, c.Change(editor, nil, chat.Changes{Theme: &good}, facts(t)))
	if !c.Theme.Same(good) || c.Revision != 8 {
		t.Errorf("theme %+v", c.Theme)
	}
	bad := chat.Theme{Scheme: "dim", Light: chat.Palette{Primary: "red"}, Dark: chat.Palette{Surface: "#fff"},
		Radius: new(33), Font: "x;}*{", Position: "top", AvatarURL: "http://cdn.example/a.png"}
	want := []string{"/theme/avatar_url invalid_format", "/theme/dark/surface invalid_format",
		"/theme/font invalid_format", "/theme/light/primary invalid_format", "/theme/position not_allowed_value", "/theme/radius out_of_range",
		"/theme/scheme not_allowed_value"}
	got := faulty(t, sharedTemplate().Change(editor, nil, chat.Changes{Theme: &bad}, facts(t)))
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAThemeOfATokenReplacesMembersOfItsTemplates(t *testing.T) {
	base := chat.Theme{Scheme: "dark", Light: chat.Palette{Primary: "#111111", Text: "#222222"}, Radius: new(4),
		Font: "a"}
	got := chat.Theme{Light: chat.Palette{Primary: "#333333"}, Radius: new(0), Position: "left"}.WithDefaults(base)
	want := chat.Theme{Scheme: "dark", Light: chat.Palette{Primary: "#333333", Text: "#222222"}, Radius: new(0),
		Font: "a", Position: "left"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
