package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

// folder returns a folder that max manages.
func folder(path string) *prompt.SharedFolder {
	return &prompt.SharedFolder{Path: path, Resource: access.Resource{Subject: access.Subject{Workspace: "acme",
		Grants: access.Grants{{User: "max", By: access.ByFolder, Folder: path, Role: access.Manager}}}}}
}

var vics = prompt.FolderShare{ID: "pfsh", Folder: "a",
	Share: prompt.Share{User: "vic", Role: access.Viewer, Revision: 1}}

func (s *mockedService) expectUpdateShare(by identity.Actor) {
	s.folders.EXPECT().UpdateShare(s.ctx, by, vics.ID, gomock.Any()).DoAndReturn(func(_ context.Context,
		_ identity.Actor, _ prompt.FolderShareID, change func(*prompt.SharedFolder, prompt.FolderShare) error) error {
		return change(folder("a"), vics)
	})
}

func TestFolderShares(t *testing.T) {
	q := page.Query{Limit: 5}
	want := prompt.FolderSharePage{Items: []prompt.FolderShare{vics}}
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a manager lists them": {manager, nil}, "others may not": {viewer, prompt.ErrFolderForbidden}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.folders.EXPECT().Folder(s.ctx, tt.by, "a").Return(folder("a"), nil)
			if tt.want == nil {
				s.folders.EXPECT().Shares(s.ctx, identity.WorkspaceID("acme"), "a", q).Return(want, nil)
			}
			got, err := s.FolderShares(s.ctx, tt.by, "a/", q)
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && len(got.Items) != 1 {
				t.Errorf("FolderShares = %+v", got)
			}
		})
	}
	t.Run("a manager of a template lists those of its folders", func(t *testing.T) {
		s := newMocked(t)
		tpl := template()
		tpl.Name = "a/b/Greeting"
		s.prompts.EXPECT().Get(s.ctx, manager, prompt.ID("tpl")).Return(tpl, nil)
		s.folders.EXPECT().Shares(s.ctx, identity.WorkspaceID("acme"), "a/b", q).Return(want, nil)
		got, err := s.InheritedShares(s.ctx, manager, "tpl", q)
		if err != nil || len(got.Items) != 1 {
			t.Errorf("InheritedShares = %+v, %v", got, err)
		}
	})
	t.Run("a template at the top inherits none", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		if got, err := s.InheritedShares(s.ctx, manager, "tpl", q); err != nil || len(got.Items) != 0 {
			t.Errorf("InheritedShares = %+v, %v", got, err)
		}
		s.expectGet(viewer)
		_, err := s.InheritedShares(s.ctx, viewer, "tpl", q)
		require.ErrorIs(t, err, prompt.ErrForbidden)
	})
	t.Run("everyone reads their own", func(t *testing.T) {
		for by, want := range map[*identity.Actor]error{&manager: nil, &viewer: nil,
			&owner: prompt.ErrFolderShareNotFound} {
			s := newMocked(t)
			s.folders.EXPECT().Share(s.ctx, *by, vics.ID).Return(folder("a"), vics, nil)
			got, err := s.FolderShare(s.ctx, *by, vics.ID)
			require.ErrorIs(t, err, want)
			if (got == vics) != (want == nil) {
				t.Errorf("%s reads %+v", by.User, got)
			}
		}
	})
}

func TestShareFolder(t *testing.T) {
	s := newMocked(t)
	s.users.EXPECT().Member(s.ctx, identity.WorkspaceID("acme"), identity.UserID(""),
		"sam@example.com").Return(identity.UserID("sam"), nil)
	s.folders.EXPECT().Update(s.ctx, manager, "a", identity.UserID("sam"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, path string, user identity.UserID,
			change func(*prompt.SharedFolder, prompt.Recipient, *prompt.FolderShare) error) error {
			return change(folder(path), recipient(user), nil)
		})
	got, err := s.ShareFolder(s.ctx, manager, "a/", prompt.Grant{Email: "sam@example.com", Role: access.Editor})
	if err != nil || got.User != "sam" || got.Role != access.Editor || got.Folder != "a" {
		t.Errorf("ShareFolder = %+v, %v", got, err)
	}
}

func TestChangeAndEndFolderShares(t *testing.T) {
	s := newMocked(t)
	s.expectUpdateShare(manager)
	got, err := s.ChangeFolderShare(s.ctx, manager, vics.ID, revision.Match{1},
		prompt.ShareChanges{Role: new(access.Editor)})
	if err != nil || got.Role != access.Editor || got.Revision != 2 {
		t.Errorf("ChangeFolderShare = %+v, %v", got, err)
	}
	s.expectUpdateShare(viewer)
	require.NoError(t, s.UnshareFolder(s.ctx, viewer, vics.ID, nil))
	s.expectUpdateShare(owner)
	require.ErrorIs(t, s.UnshareFolder(s.ctx, owner, vics.ID, nil), prompt.ErrFolderShareNotFound)
}

func TestAMoveBetweenFoldersThatAreSharedDifferentlyRequiresTheManagerRole(t *testing.T) {
	editor := actor("eve")
	share := func() *prompt.Template {
		tpl := template()
		tpl.Grants.Set(access.Grant{User: "eve", Role: access.Editor})
		return tpl
	}
	for name, tt := range map[string]struct {
		by       identity.Actor
		to       string
		asked    bool
		reshares bool
		want     error
	}{
		"an editor moves where no share reaches":   {editor, "b/Greeting", true, false, nil},
		"an editor does not change who has access": {editor, "b/Greeting", true, true, prompt.ErrForbidden},
		"a manager does":            {manager, "b/Greeting", true, true, nil},
		"a name in the same folder": {editor, "Hello", false, false, nil},
	} {
		for _, isComplete := range []bool{false, true} {
			if isComplete && !tt.asked {
				continue
			}
			t.Run(name, func(t *testing.T) {
				s := newMocked(t)
				s.prompts.EXPECT().Update(s.ctx, tt.by, prompt.ID("tpl"),
					gomock.Any()).DoAndReturn(func(_ context.Context,
					_ identity.Actor, _ prompt.ID, change func(*prompt.Template) error) (*prompt.Template, error) {
					tpl := share()
					if isComplete {
						tpl.Name = "a/Greeting"
					}
					return tpl, change(tpl)
				})
				previous := "Greeting"
				if isComplete {
					previous = "a/Greeting"
					s.lists.EXPECT().Outline(s.ctx, tt.by, "a", 201).Return([]prompt.Entry{{ID: "tpl", Name: previous}},
						nil)
				}
				if tt.asked {
					s.folders.EXPECT().Reshares(s.ctx, tt.by, previous, tt.to).Return(tt.reshares, nil)
				}
				var err error
				if isComplete {
					_, err = s.MoveFolder(s.ctx, tt.by, "a", "b")
				} else {
					_, err = s.Change(s.ctx, tt.by, "tpl", nil, prompt.Changes{Name: &tt.to})
				}
				require.ErrorIs(t, err, tt.want)
			})
		}
	}
}
