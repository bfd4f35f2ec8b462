package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectCopied expects the reads and writes of a copy with the versions that are listed.
func (s *mockedService) expectCopied(by identity.Actor, versions *[]*prompt.Version) {
	author := &account.User{ID: "ann", Name: "Ann"}
	s.users.EXPECT().Get(s.ctx, by.Org, identity.UserID("ann")).AnyTimes().Return(author, nil, nil)
	s.users.EXPECT().Get(s.ctx, by.Org, identity.UserID("")).AnyTimes().Return(nil, nil, account.ErrUserNotFound)
	var keptTemplate *prompt.Template
	s.prompts.EXPECT().Add(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, t *prompt.Template) error {
		keptTemplate = t
		return nil
	})
	s.prompts.EXPECT().AddVersion(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID,
			change func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
			v, err := change(keptTemplate, nil)
			*versions = append(*versions, v)
			return err
		})
}

func TestCopy(t *testing.T) {
	listedOf := prompt.VersionPage{Items: []prompt.VersionSummary{version(2).Summary(), version(1).Summary()}}
	source := func() *prompt.Template {
		t := template()
		t.Active = prompt.Active{Version: "ver1", Number: 1}
		return t
	}
	t.Run("all versions keep their order, labels and states", func(t *testing.T) {
		s, versions := newMocked(t), []*prompt.Version{}
		s.prompts.EXPECT().Get(s.ctx, owner, prompt.ID("tpl")).Return(source(), nil)
		s.lists.EXPECT().Versions(s.ctx, owner.Workspace, prompt.ID("tpl"), true, page.Query{Limit: 200}).
			Return(listedOf, nil)
		for n, id := range map[int]prompt.VersionID{1: "ver1", 2: "ver2"} {
			v := version(n)
			v.CreatedBy, v.Labels = "ann", [][]string{nil, {"live"}, nil}[n]
			s.expectGetVersion(owner, prompt.Ref{ID: id}, v)
		}
		s.expectCopied(owner, &versions)
		by, got, err := s.Copy(s.ctx, owner, "tpl", prompt.Copying{})
		if err != nil || by.Workspace != "acme" || got.Name != "Greeting copy" || got.Active.Number != 1 {
			t.Fatalf("Copy = %+v, %v", got, err)
		}
		if len(versions) != 2 || versions[0].Number != 1 || !versions[0].Frozen || versions[0].Labels[0] != "live" ||
			versions[1].Number != 2 || versions[1].Frozen || versions[1].CommitMessage != "(by Ann, 0001-01-01)" {
			t.Errorf("versions = %+v", versions)
		}
	})
	t.Run("without history only the active version is copied, to another workspace of the caller", func(t *testing.T) {
		s, versions := newMocked(t), []*prompt.Version{}
		s.prompts.EXPECT().Get(s.ctx, viewer, prompt.ID("tpl")).Return(source(), nil)
		s.expectGetVersion(viewer, prompt.Ref{Active: true}, version(1))
		s.users.EXPECT().Get(s.ctx, viewer.Org, viewer.User).Return(&account.User{}, []account.Membership{
			{Workspace: account.Workspace{ID: "acme"}, Role: identity.Owner},
			{Workspace: account.Workspace{ID: "wsp_2"}, Role: identity.Member, Grouped: true}}, nil)
		s.expectCopied(viewer, &versions)
		s.elsewhere = "wsp_2"
		by, got, err := s.Copy(s.ctx, viewer, "tpl", prompt.Copying{Workspace: "wsp_2", Latest: true})
		if err != nil || by.Workspace != "wsp_2" || by.Role != identity.Member || !by.Grouped ||
			got.Workspace != "wsp_2" || got.Name != "Greeting" || len(versions) != 1 {
			t.Fatalf("Copy = %+v, %+v, %v", by, got, err)
		}
	})
	withKey := owner
	withKey.Key = "key_1"
	other := prompt.Copying{Workspace: "wsp_3", Latest: true}
	multiple := source()
	multiple.AllVersions.Count = 201
	for name, tt := range map[string]struct {
		by   identity.Actor
		of   *prompt.Template
		c    prompt.Copying
		want error
	}{
		"a stranger copies nothing":       {stranger, source(), prompt.Copying{}, prompt.ErrNotFound},
		"more than 200 versions":          {owner, multiple, prompt.Copying{}, prompts.ErrCopyTooLarge},
		"a key stays in its workspace":    {withKey, source(), other, prompts.ErrOtherWorkspace},
		"a workspace of others is hidden": {owner, source(), other, identity.ErrWorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.prompts.EXPECT().Get(s.ctx, tt.by, prompt.ID("tpl")).Return(tt.of, nil)
			if tt.c.Latest {
				s.expectGetVersion(tt.by, prompt.Ref{Active: true}, version(1))
				s.users.EXPECT().Get(s.ctx, tt.by.Org, gomock.Any()).AnyTimes().Return(&account.User{}, nil, nil)
			}
			_, _, err := s.Copy(s.ctx, tt.by, "tpl", tt.c)
			require.ErrorIs(t, err, tt.want)
		})
	}
}
