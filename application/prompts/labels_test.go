package prompts_test

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMoveLabel(t *testing.T) {
	m := prompt.LabelMove{Label: "live", Reason: "better"}
	t.Run("it returns the version that has the label, and its template", func(t *testing.T) {
		s := newMocked(t)
		s.expectEditVersion(owner, prompt.Ref{Number: 2}, func() *prompt.Version { return version(2) })
		reading, v, _, err := s.MoveLabel(s.ctx, owner, "tpl", prompt.Ref{Number: 2}, m)
		if err != nil || reading.ID != "tpl" || !slices.Equal(v.Labels, []string{"live"}) {
			t.Fatalf("MoveLabel = %+v, %+v, %v", reading, v, err)
		}
	})
	t.Run("a viewer may not", func(t *testing.T) {
		s := newMocked(t)
		s.expectEditVersion(viewer, prompt.Ref{Number: 1}, func() *prompt.Version { return version(1) })
		_, _, _, err := s.MoveLabel(s.ctx, viewer, "tpl", prompt.Ref{Number: 1}, m)
		require.ErrorIs(t, err, prompt.ErrForbidden)
	})
}

func TestRemoveLabel(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		used bool
		want error
	}{
		"a label that nothing uses is removed":    {owner, false, nil},
		"a label that a chat template uses stays": {owner, true, prompt.ErrInUse},
		"a viewer learns nothing of its uses":     {viewer, false, prompt.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectEditVersion(tt.by, prompt.Ref{Label: "live"}, func() *prompt.Version {
				v := version(1)
				v.Labels = []string{"live"}
				return v
			})
			if tt.by.User == owner.User {
				s.chats.EXPECT().Uses(s.ctx, owner.Workspace, prompt.ID("tpl"), []string{"live"}, 1000).
					Return(uses(tt.used), nil)
			}
			if tt.used {
				s.chats.EXPECT().Visible(s.ctx, owner, chat.Filter{Prompt: "tpl", Refs: []string{"live"}},
					page.Query{Limit: 20}).Return(chat.Page{}, nil)
			}
			require.ErrorIs(t, s.RemoveLabel(s.ctx, tt.by, "tpl", nil, prompt.LabelMove{Label: "live"}), tt.want)
		})
	}
}
