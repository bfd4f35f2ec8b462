package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestQuotas(t *testing.T) {
	anything := gomock.Any()
	create := func(s *mockedService) error {
		s.prompts.EXPECT().Add(s.ctx, anything).Return(nil)
		_, err := s.Create(s.ctx, owner, prompt.Draft{Name: "x", Type: prompt.Text}, nil)
		return err
	}
	rename := func(target string) func(*mockedService) error {
		return func(s *mockedService) error {
			s.prompts.EXPECT().Update(s.ctx, owner, prompt.ID("tpl"), anything).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ prompt.ID,
					change func(*prompt.Template) error) (*prompt.Template, error) {
					current := template()
					return current, change(current)
				})
			_, err := s.Change(s.ctx, owner, "tpl", nil, prompt.Changes{Name: &target})
			return err
		}
	}
	createWithVersion := func(s *mockedService) error {
		s.prompts.EXPECT().Add(s.ctx, anything).Return(nil)
		s.expectAddFirst()
		first := prompt.VersionDraft{Content: prompt.Content{Text: "x"}}
		_, err := s.Create(s.ctx, owner, prompt.Draft{Name: "x"}, &first)
		return err
	}
	addVersion := func(s *mockedService) error {
		s.prompts.EXPECT().AddVersion(s.ctx, owner, prompt.ID("tpl"), anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ prompt.ID,
				change func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
				_, err := change(template(), nil)
				return err
			})
		_, _, err := s.AddVersion(s.ctx, owner, "tpl", prompt.VersionDraft{Content: prompt.Content{Text: "x"}})
		return err
	}
	for name, tt := range map[string]struct {
		used quota.Amounts // with what is added, of which one each may be
		call func(*mockedService) error
		want error
	}{
		"a template within them is kept": {quota.Amounts{PromptTemplates: 1, PromptVersions: 9,
			ChatTemplates: 9, StorageBytes: 1}, create, nil},
		"a template beyond the count is undone": {quota.Amounts{PromptTemplates: 2}, create, quota.ErrExceeded},
		"a template beyond the bytes is undone": {quota.Amounts{StorageBytes: 2}, create, quota.ErrExceeded},
		"a template whose first version is beyond the count is undone": {quota.Amounts{PromptVersions: 2},
			createWithVersion, quota.ErrExceeded},
		"a version within them is kept": {quota.Amounts{PromptTemplates: 9, PromptVersions: 1,
			StorageBytes: 1}, addVersion, nil},
		"a version beyond the count is undone": {quota.Amounts{PromptVersions: 2}, addVersion, quota.ErrExceeded},
		"a version beyond the bytes is undone": {quota.Amounts{StorageBytes: 2}, addVersion, quota.ErrExceeded},
		"a template does not grow beyond the bytes": {quota.Amounts{StorageBytes: 2}, rename("A much longer name"),
			quota.ErrExceeded},
		"beyond them, what does not grow is changed": {quota.Amounts{PromptTemplates: 2, PromptVersions: 2,
			StorageBytes: 2}, rename("short"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.used = tt.used
			require.ErrorIs(t, tt.call(s), tt.want)
		})
	}
}
