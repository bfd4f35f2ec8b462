package prompts_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestList(t *testing.T) {
	s := newMocked(t)
	f, q := prompt.Filter{Query: "x"}, page.Query{After: "a", Limit: 5}
	want := prompt.Page{Items: []prompt.Template{*template()}, Next: "b"}
	s.lists.EXPECT().Visible(s.ctx, owner, f, q).Return(want, nil)
	if got, err := s.List(s.ctx, owner, f, q); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("List = %+v, %v", got, err)
	}
}

func TestCreate(t *testing.T) {
	t.Run("what is answered is what was stored", func(t *testing.T) {
		s := newMocked(t)
		var current *prompt.Template
		s.prompts.EXPECT().Add(s.ctx, gomock.Any()).Do(func(_ context.Context, t *prompt.Template) { current = t })
		got, err := s.Create(s.ctx, owner, prompt.Draft{Name: "new"}, nil)
		if err != nil || got != current || got.Name != "new" || got.Owner != "ann" {
			t.Fatalf("Create = %+v, %v", got, err)
		}
	})
	t.Run("a first version is added in the same transaction, and what is returned has it", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any())
		s.expectAddFirst()
		got, err := s.Create(s.ctx, owner, prompt.Draft{Name: "new"},
			&prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Activate: true, Reason: "why"})
		if err != nil || got.Active.Number != 3 || len(got.Activated) != 1 || got.Activated[0].Reason != "why" {
			t.Fatalf("Create = %+v, %v", got, err)
		}
	})
	t.Run("errors in a first version point below /version", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any())
		s.expectAddFirst()
		_, err := s.Create(s.ctx, owner, prompt.Draft{Name: "new"},
			&prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Labels: []string{"latest"}})
		if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 1 ||
			f.Fields[0].Pointer != "/version/labels/0" {
			t.Fatalf("error = %+v", err)
		}
	})
	t.Run("a first version has no base", func(t *testing.T) {
		_, err := newMocked(t).Create(t.Context(), owner, prompt.Draft{Name: "new"},
			&prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Base: "ver1"})
		if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Fields) != 1 ||
			f.Fields[0].Pointer != "/version/base_version_id" {
			t.Fatalf("error = %+v", err)
		}
	})
	t.Run("what breaks a rule is not stored", func(t *testing.T) {
		s := newMocked(t)
		if _, err := s.Create(s.ctx, owner, prompt.Draft{}, nil); err == nil {
			t.Fatal("it was accepted")
		}
	})
	t.Run("a taken name is passed on", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().Add(s.ctx, gomock.Any()).Return(prompt.ErrNameTaken)
		_, err := s.Create(s.ctx, owner, prompt.Draft{Name: "taken"}, nil)
		require.ErrorIs(t, err, prompt.ErrNameTaken)
	})
}

func TestGet(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"the owner reads it": {owner, nil}, "a viewer reads it": {viewer, nil},
		"a stranger is told nothing": {stranger, prompt.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(tt.by)
			got, err := s.Get(s.ctx, tt.by, "tpl")
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && got.ID != "tpl" {
				t.Errorf("Get = %+v", got)
			}
		})
	}
}

func TestChange(t *testing.T) {
	t.Run("a change is made where the store says", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdate(owner)
		got, err := s.Change(s.ctx, owner, "tpl", revision.Match{1}, prompt.Changes{Name: new("new")})
		if err != nil || got.Name != "new" || got.Revision != 2 {
			t.Fatalf("Change = %+v, %v", got, err)
		}
	})
	t.Run("another revision is refused", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdate(owner)
		_, err := s.Change(s.ctx, owner, "tpl", revision.Match{9}, prompt.Changes{Name: new("new")})
		require.ErrorIs(t, err, revision.ErrMismatch)
	})
	t.Run("a transfer asks whether the new owner is a member, and loads their share", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdateFor(owner, "vic")
		got, err := s.Change(s.ctx, owner, "tpl", nil, prompt.Changes{Owner: new(identity.UserID("vic"))})
		if err != nil || got.Owner != "vic" {
			t.Fatalf("Change = %+v, %v", got, err)
		}
	})
	t.Run("who is no member cannot become the owner", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdateFor(owner, "out")
		_, err := s.Change(s.ctx, owner, "tpl", nil, prompt.Changes{Owner: new(identity.UserID("out"))})
		require.ErrorIs(t, err, prompt.ErrUserNotInWorkspace)
	})
}

func TestDelete(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"the owner deletes it": {owner, nil}, "a manager may not": {manager, prompt.ErrForbidden},
		"a stranger is told nothing": {stranger, prompt.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectLock(tt.by)
			s.expectUpdate(tt.by)
			if tt.want == nil {
				s.chats.EXPECT().Uses(s.ctx, tt.by.Workspace, prompt.ID("tpl"), nil, 1000).Return(nil, nil)
			}
			require.ErrorIs(t, s.Delete(s.ctx, tt.by, "tpl", nil, false), tt.want)
		})
	}
}

func TestWhatChatsUseIsNotDeleted(t *testing.T) {
	ref := prompt.Ref{Number: 2}
	for label, tt := range map[string]struct {
		refs   []string
		delete func(*mockedService) error
	}{
		"a template, however it is named": {nil, func(s *mockedService) error {
			s.expectLock(owner)
			s.expectUpdate(owner)
			return s.Delete(s.ctx, owner, "tpl", nil, false)
		}},
		"a version, by its id, number or label": {[]string{"ver2", "v2", "live"}, func(s *mockedService) error {
			s.prompts.EXPECT().Lock(s.ctx, owner, prompt.ID("tpl"), prompt.Ref{Previous: true}).
				Return(template(), nil, nil)
			s.expectUpdateVersion(owner, ref, func() *prompt.VersionInfo {
				v := &version(2).VersionInfo
				v.Labels = []string{"live"}
				return v
			})
			s.prompts.EXPECT().Rollouts(s.ctx, owner, prompt.ID("tpl"))
			return s.DeleteVersion(s.ctx, owner, "tpl", ref, nil)
		}},
	} {
		t.Run(label, func(t *testing.T) {
			s := newMocked(t)
			s.chats.EXPECT().Uses(s.ctx, owner.Workspace, prompt.ID("tpl"), tt.refs, 1000).Return(uses(true), nil)
			s.chats.EXPECT().Visible(s.ctx, owner, chat.Filter{Prompt: "tpl", Refs: tt.refs}, page.Query{Limit: 20}).
				Return(chat.Page{Items: []chat.Summary{{ID: "ctpl_1", Name: "Support"}},
					Next: "more"}, nil)
			err := tt.delete(s)
			require.ErrorIs(t, err, prompt.ErrInUse)
			f, ok := errors.AsType[*fault.Error](err)
			if want := []fault.Use{{ID: "ctpl_1", Name: "Support"}}; !ok || !reflect.DeepEqual(f.UsedBy, want) {
				t.Errorf("used by %+v, want %+v", f.UsedBy, want)
			}
		})
	}
}

func TestRestore(t *testing.T) {
	s := newMocked(t)
	deletedTemplate := template()
	deletedTemplate.DeletedAt = now
	s.prompts.EXPECT().Update(s.ctx, owner, prompt.ID("tpl"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, change func(*prompt.Template) error) (*prompt.Template,
			error) {
			return deletedTemplate, change(deletedTemplate)
		})
	if got, err := s.Restore(s.ctx, owner, "tpl"); err != nil || got != deletedTemplate || !got.DeletedAt.IsZero() {
		t.Fatalf("Restore = %+v, %v", got, err)
	}
}

func TestRender(t *testing.T) {
	ref := prompt.Ref{Active: true}
	t.Run("it fills the version that is named", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, ref, version(1))
		got, reading, v, err := s.Render(s.ctx, viewer, "tpl", ref, "", map[string]any{"name": "Ann"}, prompt.Strict)
		if err != nil || got.Text != "Hello Ann" || reading.ID != "tpl" || v.ID != "ver1" {
			t.Fatalf("Render = %+v, %v", got, err)
		}
	})
	t.Run("what is missing is told", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, ref, version(1))
		_, _, _, err := s.Render(s.ctx, viewer, "tpl", ref, "", nil, prompt.Strict)
		require.ErrorIs(t, err, prompt.ErrMissingVariables)
	})
	t.Run("but not to a stranger", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(stranger, ref, version(1))
		got, _, _, err := s.Render(s.ctx, stranger, "tpl", ref, "", nil, prompt.Strict)
		require.ErrorIs(t, err, prompt.ErrNotFound)
		assert.Equal(t, "rendered", got.Text, "")
	})
}

func TestResolve(t *testing.T) {
	latest := prompt.Ref{Latest: true}
	t.Run("each is answered in its place, and what is wrong with one is wrong with no other", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, latest, version(1))
		s.expectGetVersion(viewer, prompt.Ref{Number: 2}, version(2))
		s.prompts.EXPECT().GetVersionByName(s.ctx, viewer, "Greeting",
			prompt.Ref{Number: 1}).Return(template().Reading(), version(1), nil)
		s.prompts.EXPECT().GetVersionByName(s.ctx, viewer, "nowhere", latest).Return(nil, nil, prompt.ErrNotFound)
		s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("gone"), latest).Return(nil, nil, prompt.ErrNotFound)
		got, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{
			{ID: "tpl", Ref: latest}, {ID: "tpl", Ref: prompt.Ref{Number: 2}}, {Name: "nowhere", Ref: latest},
			{ID: "gone", Ref: latest}, {Name: "Greeting", Ref: prompt.Ref{Number: 1}},
		})
		if err != nil || len(got) != 5 {
			t.Fatalf("Resolve = %+v, %v", got, err)
		}
		for i, want := range []error{nil, prompt.ErrVersionNotFound, prompt.ErrNotFound, prompt.ErrNotFound, nil} {
			if !errors.Is(got[i].Err, want) || (want == nil) != (got[i].Version != nil) {
				t.Errorf("item %d: %+v, want %v", i, got[i], want)
			}
		}
	})
	t.Run("what is wanted twice is read once, and answered twice", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("tpl"), latest).Return(template().Reading(), version(1),
			nil).Times(1)
		s.prompts.EXPECT().GetVersionByName(s.ctx, viewer, "nowhere", latest).Return(nil, nil,
			prompt.ErrNotFound).Times(1)
		got, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{{ID: "tpl", Ref: latest}, {Name: "nowhere", Ref: latest},
			{ID: "tpl", Ref: latest}, {Name: "nowhere", Ref: latest}})
		if err != nil || got[0].Version == nil || got[2].Version != got[0].Version ||
			!errors.Is(got[3].Err, prompt.ErrNotFound) {
			t.Fatalf("Resolve = %+v, %v", got, err)
		}
	})
	t.Run("what does not fit is told so, and nothing after it is read", func(t *testing.T) {
		for name, want := range map[string][]prompts.Wanted{
			"each of its own": {{ID: "tpl", Ref: prompt.Ref{Number: 1}}, {ID: "tpl", Ref: prompt.Ref{Number: 2}},
				{ID: "tpl", Ref: prompt.Ref{Number: 3}}},
			"the same over and over": {{ID: "tpl", Ref: latest}, {ID: "tpl", Ref: latest}, {ID: "tpl", Ref: latest}},
		} {
			t.Run(name, func(t *testing.T) {
				s := newMocked(t)
				half := version(1)
				half.Content.Text = strings.Repeat("x", prompts.MaxResolvedBytes/2-1000)
				s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("tpl"),
					gomock.Any()).Return(template().Reading(), half, nil).MaxTimes(3)
				got, err := s.Resolve(s.ctx, viewer, append(want, prompts.Wanted{Name: "never read", Ref: latest}))
				if err != nil || got[0].Version == nil || got[1].Version == nil {
					t.Fatalf("Resolve = %v", err)
				}
				for _, last := range got[2:] {
					if !errors.Is(last.Err, prompts.ErrResponseTooLarge) || last.Version != nil ||
						last.Template != nil {
						t.Errorf("got %v", last.Err)
					}
				}
			})
		}
	})
	t.Run("each is named by id or else by name, and all that are not are told at once", func(t *testing.T) {
		s := newMocked(t)
		_, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{{ID: "tpl"}, {}, {ID: "tpl", Name: "Greeting"}})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || !errors.Is(err, fault.ErrInvalid) || len(f.Fields) != 2 || f.Fields[0].Pointer != "/refs/1" ||
			f.Fields[1].Pointer != "/refs/2" {
			t.Fatalf("error = %+v", err)
		}
	})
	t.Run("nothing wanted, nothing asked", func(t *testing.T) {
		s := newMocked(t)
		if got, err := s.Resolve(s.ctx, viewer, nil); err != nil || len(got) != 0 {
			t.Fatalf("Resolve = %+v, %v", got, err)
		}
	})
	t.Run("by name a stranger is told nothing either", func(t *testing.T) {
		s := newMocked(t)
		s.prompts.EXPECT().GetVersionByName(s.ctx, stranger, "Greeting", latest).Return(template().Reading(),
			version(1), nil)
		got, err := s.Resolve(s.ctx, stranger, []prompts.Wanted{{Name: "Greeting", Ref: latest}})
		if err != nil || !errors.Is(got[0].Err, prompt.ErrNotFound) || got[0].Template != nil || got[0].Version != nil {
			t.Fatalf("Resolve = %+v, %v", got, err)
		}
	})
}

func TestResolvedByName(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"a viewer reads it":                   {viewer, nil},
		"a stranger does not learn the names": {stranger, prompt.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			latest := prompt.Ref{Latest: true}
			s.prompts.EXPECT().GetVersionByName(s.ctx, tt.by, "Greeting", latest).Return(template().Reading(),
				version(1), nil)
			if _, v, err := s.ResolvedByName(s.ctx, tt.by, "Greeting", latest, ""); !errors.Is(err, tt.want) ||
				(err == nil) != (v != nil) {
				t.Fatalf("ResolvedByName = %+v, %v", v, err)
			}
		})
	}
}
