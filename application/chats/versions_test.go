package chats_test

import (
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/require"
)

func earlier() *chat.Version {
	return &chat.Version{VersionInfo: chat.VersionInfo{ID: "cver_1", Number: 1},
		Content: chat.Content{Name: "Before", Prompt: chat.Prompt{Template: "ptpl", Ref: "v1"}}}
}

func TestPublishTheDraft(t *testing.T) {
	s := newMocked(t)
	s.expectGet(manager)
	tx := s.expectAtomically(t)
	var current *chat.Template
	tx.expectUpdate(manager, &current).MinTimes(1)
	empty := chat.VersionID("")
	got, err := s.Publish(s.ctx, manager, "ctpl", nil, chat.VersionRef{Draft: true},
		chat.Release{Expected: &empty, Reason: "r"})
	require.NoError(t, err)
	if got != current || got.Status != chat.StatusPublished || got.NewVersion == nil || got.Publication.Reason != "r" {
		t.Errorf("published %+v", got)
	}
}

func TestPublishingCountsAgainstTheStorage(t *testing.T) {
	s := newMocked(t)
	s.used = quota.Amounts{StorageBytes: 2}
	s.expectGet(manager)
	tx := s.expectAtomically(t)
	var current *chat.Template
	tx.expectUpdate(manager, &current).MinTimes(1)
	_, err := s.Publish(s.ctx, manager, "ctpl", nil, chat.VersionRef{Draft: true}, chat.Release{})
	require.ErrorIs(t, err, quota.ErrExceeded)
}

func TestPublishAnEarlierVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		prompt *prompt.VersionInfo
		want   error
	}{
		"whose prompt exists":  {&prompt.VersionInfo{}, nil},
		"whose prompt is gone": {nil, chat.ErrPromptGone},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(manager)
			s.versions.EXPECT().Get(s.ctx, identity.WorkspaceID("acme"), chat.ID("ctpl"), chat.VersionRef{Number: 1}).
				Return(earlier(), nil)
			tx := s.expectAtomically(t)
			tx.expectPrompt(manager, prompt.Ref{Number: 1}, tt.prompt)
			var current *chat.Template
			tx.expectUpdate(manager, &current).MinTimes(1)
			_, err := s.Publish(s.ctx, manager, "ctpl", nil, chat.VersionRef{Number: 1}, chat.Release{})
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && (current.Published.ID != "cver_1" || current.NewVersion != nil) {
				t.Errorf("published %+v", current.Published)
			}
		})
	}
}

func TestWhoPublishesAndReadsVersions(t *testing.T) {
	s := newMocked(t)
	s.chats.EXPECT().Get(s.ctx, gomock.Any(), chat.ID("ctpl")).Return(template(), nil).AnyTimes()
	for by, want := range map[*identity.Actor]error{&viewer: chat.ErrForbidden, &stranger: chat.ErrNotFound} {
		_, publication := s.Publish(s.ctx, *by, "ctpl", nil, chat.VersionRef{Draft: true}, chat.Release{})
		_, list := s.Versions(s.ctx, *by, "ctpl", page.Query{})
		_, ledger := s.Publications(s.ctx, *by, "ctpl", page.Query{})
		_, _, got := s.Version(s.ctx, *by, "ctpl", chat.VersionRef{Draft: true})
		_, failure := s.Compare(s.ctx, *by, "ctpl", chat.VersionRef{Published: true}, chat.VersionRef{Draft: true})
		_, duplicate := s.Copy(s.ctx, *by, "ctpl", chat.Copying{})
		for _, err := range []error{publication, list, ledger, got, failure, duplicate} {
			require.ErrorIs(t, err, want)
		}
	}
	for name, ref := range map[string]chat.VersionRef{
		"that is none": {}, "while none is published": {Published: true},
	} {
		t.Run("a version "+name, func(t *testing.T) {
			_, _, err := s.Version(s.ctx, owner, "ctpl", ref)
			require.ErrorIs(t, err, chat.ErrVersionNotFound)
		})
	}
	_, draft, err := s.Version(s.ctx, owner, "ctpl", chat.VersionRef{Draft: true})
	if err != nil || draft.Name != "Support" || draft.ID != "" {
		t.Errorf("the draft: %+v, %v", draft, err)
	}
}

func TestCopyStoresADraft(t *testing.T) {
	s := newMocked(t)
	s.expectGet(manager)
	tx := s.expectAtomically(t)
	var storedTemplate *chat.Template
	tx.chats.EXPECT().Add(s.ctx, gomock.Any()).Do(func(_ any, template *chat.Template) {
		storedTemplate = template
	}).MinTimes(1)
	template, err := s.Copy(s.ctx, manager, "ctpl", chat.Copying{Name: "Another"})
	require.NoError(t, err)
	if template != storedTemplate || template.Name != "Another" || template.Owner != "max" ||
		template.Status != chat.StatusDraft {
		t.Errorf("the copy: %+v", template)
	}
}
