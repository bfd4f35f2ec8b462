package prompts_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestForcedDelete(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		uses []prompt.Use
		want error
	}{
		"the owner deletes what chats use":         {owner, uses(true), nil},
		"what nothing uses is deleted as usual":    {owner, nil, nil},
		"a manager may not, and is told of no use": {manager, uses(true), prompt.ErrForbidden},
		"nor is a stranger":                        {stranger, uses(true), prompt.ErrNotFound},
		"more than 1,000 uses prevent it":          {owner, make([]prompt.Use, 1001), prompt.ErrInUse},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectLock(tt.by)
			s.chats.EXPECT().Uses(s.ctx, tt.by.Workspace, prompt.ID("tpl"), nil, 1001).Return(tt.uses, nil)
			s.expectUpdate(tt.by)
			if tt.by.User == owner.User && len(tt.uses) > 1000 {
				s.chats.EXPECT().Uses(s.ctx, tt.by.Workspace, prompt.ID("tpl"), nil, 1000).
					Return(tt.uses[:min(len(tt.uses), 1000)], nil)
			}
			if len(tt.uses) > 1000 {
				s.chats.EXPECT().Visible(s.ctx, tt.by, gomock.Any(), gomock.Any()).Return(chat.Page{}, nil)
			}
			require.ErrorIs(t, s.Delete(s.ctx, tt.by, "tpl", nil, true), tt.want)
		})
	}
}

func TestInUseNamesOwnersToThoseWhoSeeMembers(t *testing.T) {
	all := []fault.Use{{ID: "ann", Name: "Ann"}, {ID: "sam"}}
	guest, limitedActor := owner, owner
	guest.Role = identity.NoRole
	limitedActor.Scopes = "prompts:write"
	for name, tt := range map[string]struct {
		by   identity.Actor
		want []fault.Use
	}{
		"a member sees each owner once":                     {owner, all},
		"someone who is in no workspace sees none":          {guest, nil},
		"a key without the scope for members sees none too": {limitedActor, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectLock(tt.by)
			s.prompts.EXPECT().Update(s.ctx, tt.by, prompt.ID("tpl"), gomock.Any()).Return(template(), nil)
			s.chats.EXPECT().Uses(s.ctx, tt.by.Workspace, prompt.ID("tpl"), nil, 1000).Return(uses(true), nil)
			s.chats.EXPECT().Visible(s.ctx, tt.by, gomock.Any(), gomock.Any()).
				Return(chat.Page{Items: []chat.Summary{{ID: "ctpl_1", Name: "Support"}}}, nil)
			err := s.Delete(s.ctx, tt.by, "tpl", nil, false)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Uses != 3 || len(f.UsedBy) != 1 || !reflect.DeepEqual(f.Owners, tt.want) {
				t.Errorf("Delete = %+v", err)
			}
		})
	}
}
