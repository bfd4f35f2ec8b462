package prompts_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestShareWith(t *testing.T) {
	for name, tt := range map[string]struct {
		by    identity.Actor
		user  identity.UserID
		reads bool
		want  error
	}{
		"a manager reads anybody's":    {manager, "vic", true, nil},
		"a viewer reads their own":     {viewer, "vic", true, nil},
		"and no one else's":            {viewer, "max", false, prompt.ErrForbidden},
		"a stranger is told nothing":   {stranger, "vic", false, prompt.ErrNotFound},
		"not even of one of their own": {stranger, "sam", false, prompt.ErrNotFound},
		"an outage":                    {manager, "vic", true, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(tt.by)
			if tt.reads {
				s.lists.EXPECT().Share(s.ctx, tt.by.Workspace, prompt.ID("tpl"),
					tt.user).Return(prompt.Share{User: tt.user}, tt.want)
			}
			got, err := s.ShareWith(s.ctx, tt.by, "tpl", tt.user)
			require.ErrorIs(t, err, tt.want)
			if err == nil && got.User != tt.user {
				t.Errorf("ShareWith = %+v", got)
			}
		})
	}
	t.Run("an outage while the template is read", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().Get(s.ctx, gomock.Any(), gomock.Any()).Return(nil, errOutage)
		_, err := s.ShareWith(s.ctx, owner, "tpl", "vic")
		require.ErrorIs(t, err, errOutage)
	})
}
