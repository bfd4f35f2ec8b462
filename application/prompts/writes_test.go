package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestWriteVersion(t *testing.T) {
	draft := prompt.VersionDraft{Content: prompt.Content{Text: "x"}}
	unnamed := prompt.Ref{} // only the template is looked for
	t.Run("a name in use gets the next version", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "GREETING", unnamed).Return(template().Reading(), nil, nil)
		s.expectAddVersion(owner)
		reading, v, err := s.WriteVersion(s.ctx, owner, "GREETING", access.Workspace, draft)
		if err != nil || v.Number != 3 || reading.ID != "tpl" || v.Content.Text != "x" {
			t.Fatalf("WriteVersion = %+v, %+v, %v", reading, v, err)
		}
	})
	t.Run("another name gets a template of the type that fits", func(t *testing.T) {
		for kind, d := range map[prompt.Type]prompt.VersionDraft{prompt.Text: draft, prompt.Chat: {
			Content: prompt.Content{Messages: []prompt.Message{{Role: "user", Content: "x"}}}}} {
			s := newMocked(t)
			var created *prompt.Template
			s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "new", unnamed).Return(nil, nil, prompt.ErrNotFound)
			s.prompts.EXPECT().Add(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, t *prompt.Template) error {
				created = t
				return nil
			})
			s.prompts.EXPECT().AddVersion(s.ctx, owner, gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, id prompt.ID,
					change func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
					assert.Equal(t, "the template", id, created.ID)
					_, err := change(created, nil)
					return err
				})
			_, v, err := s.WriteVersion(s.ctx, owner, "new", access.Workspace, d)
			if err != nil || v.Number != 1 || created.Type != kind || created.Visibility != access.Workspace ||
				created.Owner != "ann" {
				t.Fatalf("WriteVersion = %+v of %+v, %v", v, created, err)
			}
		}
	})
	t.Run("a name that another call takes at the same time gets the next version", func(t *testing.T) {
		s := newMocked(t)
		gomock.InOrder(
			s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "Greeting", unnamed).Return(nil, nil, prompt.ErrNotFound),
			s.prompts.EXPECT().Add(s.ctx, gomock.Any()).Return(prompt.ErrNameTaken),
			s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "Greeting", unnamed).
				Return(template().Reading(), nil, nil),
		)
		s.expectAddVersion(owner)
		_, v, err := s.WriteVersion(s.ctx, owner, "Greeting", access.Private, draft)
		if err != nil || v.Number != 3 {
			t.Fatalf("WriteVersion = %+v, %v", v, err)
		}
	})
	t.Run("a template that the caller cannot see keeps its name", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, stranger, "Greeting", unnamed).Return(template().Reading(), nil, nil)
		_, _, err := s.WriteVersion(s.ctx, stranger, "Greeting", access.Private, draft)
		require.ErrorIs(t, err, prompt.ErrNameTaken)
	})
	t.Run("a viewer adds no version", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, viewer, "Greeting", unnamed).Return(template().Reading(), nil, nil)
		s.expectAddVersion(viewer)
		_, _, err := s.WriteVersion(s.ctx, viewer, "Greeting", access.Private, draft)
		require.ErrorIs(t, err, prompt.ErrForbidden)
	})
	t.Run("a viewer of the workspace creates no template", func(t *testing.T) {
		s := newMocked(t)
		by := owner
		by.Role = identity.Viewer
		s.prompts.EXPECT().GetVersionByName(s.ctx, by, "new", unnamed).Return(nil, nil, prompt.ErrNotFound)
		_, _, err := s.WriteVersion(s.ctx, by, "new", access.Private, draft)
		require.ErrorIs(t, err, identity.Needs(identity.Member))
	})
	t.Run("a new template has no version to be the base", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "new", unnamed).Return(nil, nil, prompt.ErrNotFound)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any())
		based := draft
		based.Base = "ver1"
		_, _, err := s.WriteVersion(s.ctx, owner, "new", access.Private, based)
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
	t.Run("a base must exist and be the latest", func(t *testing.T) {
		for want, base := range map[error]*prompt.Version{prompt.ErrVersionNotFound: nil,
			prompt.ErrBaseOutdated: version(1)} {
			s := newMocked(t)
			s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "Greeting", unnamed).
				Return(template().Reading(), nil, nil)
			s.expectGet(owner)
			s.prompts.EXPECT().GetVersion(s.ctx, owner, prompt.ID("tpl"), prompt.Ref{ID: "ver1"}).Return(
				template().Reading(), base, nil)
			if base != nil {
				s.expectAddVersion(owner)
			}
			based := draft
			based.Base = "ver1"
			_, _, err := s.WriteVersion(s.ctx, owner, "Greeting", access.Private, based)
			require.ErrorIs(t, err, want)
		}
	})
	t.Run("a new template counts as one", func(t *testing.T) {
		s := newMocked(t)
		s.used = quota.Amounts{PromptTemplates: 2}
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "new", unnamed).Return(nil, nil, prompt.ErrNotFound)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any())
		s.expectAddFirst()
		_, _, err := s.WriteVersion(s.ctx, owner, "new", access.Private, draft)
		require.ErrorIs(t, err, quota.ErrExceeded)
		s = newMocked(t)
		s.used = quota.Amounts{PromptTemplates: 2}
		s.prompts.EXPECT().GetVersionByName(s.ctx, owner, "Greeting", unnamed).
			Return(template().Reading(), nil, nil)
		s.expectAddVersion(owner)
		_, _, err = s.WriteVersion(s.ctx, owner, "Greeting", access.Private, draft)
		require.NoError(t, err)
	})
}
