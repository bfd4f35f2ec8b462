package prompts_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestFoldersAndTags(t *testing.T) {
	small := []prompt.Entry{{Name: "a/b/x", Tags: []string{"t"}}}
	s := newMocked(t)
	s.lists.EXPECT().Outline(s.ctx, viewer, "a", prompts.MaxOutlined+1).Return(small, nil)
	folders, complete, err := s.Folders(s.ctx, viewer, "a")
	if err != nil || !complete || len(folders) != 1 || folders[0].Path != "a/b" {
		t.Errorf("Folders = %+v, %v, %v", folders, complete, err)
	}
	s.lists.EXPECT().Outline(s.ctx, viewer, "", prompts.MaxOutlined+1).
		Return(make([]prompt.Entry, prompts.MaxOutlined+1), nil)
	if tags, complete, err := s.Tags(s.ctx, viewer); err != nil || complete || len(tags) != 0 {
		t.Errorf("Tags = %+v, %v, %v", tags, complete, err)
	}
	s.lists.EXPECT().Outline(s.ctx, viewer, "", prompts.MaxOutlined+1).Return(nil, errOutage)
	if _, _, err := s.Tags(s.ctx, viewer); !errors.Is(err, errOutage) {
		t.Errorf("Tags = %v", err)
	}
}

func TestMoveFolder(t *testing.T) {
	for name, tt := range map[string]struct {
		by    identity.Actor
		found int
		rest  int // templates in the target
		want  error
	}{
		"an editor moves what is in a folder":         {owner, 1, 0, nil},
		"a viewer may not":                            {viewer, 1, 0, prompt.ErrForbidden},
		"a folder that was moved is not moved again":  {viewer, 0, 1, nil},
		"a folder without templates cannot be moved":  {viewer, 0, 0, prompt.ErrNothingToMove},
		"a folder with 201 templates cannot be moved": {owner, 201, 0, prompts.ErrFolderTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			found := make([]prompt.Entry, tt.found)
			for i := range found {
				found[i] = prompt.Entry{ID: "tpl", Name: "a/Greeting"}
			}
			s.lists.EXPECT().Outline(s.ctx, tt.by, "a", 201).Return(found, nil)
			if tt.found == 0 {
				s.lists.EXPECT().Outline(s.ctx, tt.by, "b", 1).Return(make([]prompt.Entry, tt.rest), nil)
			}
			if tt.found == 1 {
				s.expectUpdate(tt.by)
				s.folders.EXPECT().Reshares(s.ctx, tt.by, "Greeting", "b/Greeting").AnyTimes()
			}
			moves, err := s.MoveFolder(s.ctx, tt.by, "a/", "b")
			require.ErrorIs(t, err, tt.want)
			if err == nil && moves != tt.found {
				t.Errorf("moved %d, want %d", moves, tt.found)
			}
		})
	}
}
