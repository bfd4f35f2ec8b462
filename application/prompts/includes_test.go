package prompts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
)

// including returns version 2 of the template, which includes another prompt.
func including() *prompt.Version {
	v := version(2)
	v.Content = prompt.Content{Text: "Hello.\n{{> rules}}", Format: prompt.Mustache}
	v.Includes = []prompt.Include{{Name: "rules", Ref: "active", Template: "rules"}}
	return v
}

// rules returns the prompt that is included: its version is frozen.
func rules(text string) (*prompt.Reading, *prompt.Version) {
	of := template().Reading()
	of.ID, of.Name, of.ActiveVersion = "rules", "rules", "rules1"
	v := version(1)
	v.ID, v.Template, v.Content = "rules1", "rules", prompt.Content{Text: text, Format: prompt.Mustache}
	return of, v
}

func (s *mockedService) expectIncluded(by gomock.Matcher, of *prompt.Reading, v *prompt.Version, err error) {
	s.prompts.EXPECT().GetVersion(s.ctx, by, prompt.ID("rules"), prompt.Ref{Active: true}).Return(of, v, err)
}

func TestIncludesArePinnedOnActivation(t *testing.T) {
	activate := func(s *mockedService) error {
		frozen := including()
		frozen.Frozen = true
		s.expectUpdateVersion(owner, prompt.Ref{Number: 2}, func() *prompt.VersionInfo {
			return &including().VersionInfo
		})
		s.expectGetVersion(owner, prompt.Ref{ID: "ver2"}, frozen)
		_, _, err := s.ActivateVersion(s.ctx, owner, "tpl", prompt.Ref{Number: 2}, nil, prompt.Activating{})
		return err
	}
	t.Run("the text of what is included is stored with the version", func(t *testing.T) {
		s := newMocked(t)
		of, v := rules("Be kind.")
		s.expectIncluded(gomock.Eq(owner), of, v, nil)
		s.prompts.EXPECT().SetIncludes(s.ctx, owner, gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.Actor, v *prompt.Version) error {
				if v.Pinned == nil || v.Pinned.Content.Text != "Hello.\nBe kind." ||
					v.Content.Text != "Hello.\n{{> rules}}" {
					t.Errorf("pinned = %+v of %q", v.Pinned, v.Content.Text)
				}
				return nil
			})
		wantErr(t, activate(s), nil)
	})
	t.Run("it counts as storage", func(t *testing.T) {
		s := newMocked(t)
		s.used = quota.Amounts{StorageBytes: 2}
		of, v := rules("Be kind.")
		s.expectIncluded(gomock.Eq(owner), of, v, nil)
		s.prompts.EXPECT().SetIncludes(s.ctx, owner, gomock.Any())
		wantErr(t, activate(s), quota.ErrExceeded)
	})
	t.Run("a version that includes nothing is activated beyond the quota", func(t *testing.T) {
		s := newMocked(t)
		s.used = quota.Amounts{StorageBytes: 2}
		s.expectUpdateVersion(owner, prompt.Ref{Number: 2}, func() *prompt.VersionInfo {
			return &version(2).VersionInfo
		})
		_, _, err := s.ActivateVersion(s.ctx, owner, "tpl", prompt.Ref{Number: 2}, nil, prompt.Activating{})
		wantErr(t, err, nil)
	})
	for name, tt := range map[string]struct {
		found func() (*prompt.Reading, *prompt.Version, error)
		want  error
	}{
		"one that is gone": {func() (*prompt.Reading, *prompt.Version, error) { return nil, nil, prompt.ErrNotFound },
			prompt.ErrIncludeNotFound},
		"one that the caller cannot see": {func() (*prompt.Reading, *prompt.Version, error) {
			of, v := rules("x")
			of.Owner, of.Grants = "sam", nil
			return of, v, nil
		}, prompt.ErrIncludeNotFound},
		"one that is a draft": {func() (*prompt.Reading, *prompt.Version, error) {
			of, v := rules("x")
			v.Frozen = false
			return of, v, nil
		}, prompt.ErrIncludeNotFound},
		"a chat prompt": {func() (*prompt.Reading, *prompt.Version, error) {
			of, v := rules("x")
			of.Type = prompt.Chat
			return of, v, nil
		}, prompt.ErrIncludeNotText},
		"the prompt itself": {func() (*prompt.Reading, *prompt.Version, error) {
			_, v := rules("x")
			v.Template = "tpl"
			return template().Reading(), v, nil
		}, prompt.ErrIncludeCycle},
		"an outage": {func() (*prompt.Reading, *prompt.Version, error) { return nil, nil, errOutage }, errOutage},
	} {
		t.Run("nothing is activated that includes "+name, func(t *testing.T) {
			s := newMocked(t)
			of, v, err := tt.found()
			s.expectIncluded(gomock.Eq(owner), of, v, err)
			wantErr(t, activate(s), tt.want)
		})
	}
}

func TestWhatReadersGetOfIncludes(t *testing.T) {
	pinned := func(floating bool) (*prompt.Reading, *prompt.Version) {
		of, v := template().Reading(), including()
		of.Floating, v.Frozen = floating, true
		v.Pinned = &prompt.Expansion{Content: prompt.Content{Text: "Hello.\nAs it was."}}
		return of, v
	}
	active := prompt.Ref{Active: true}
	resolve := func(t *testing.T, s *mockedService, of *prompt.Reading, v *prompt.Version, want string) {
		t.Helper()
		s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("tpl"), active).Return(of, v, nil)
		_, got, err := s.Resolved(s.ctx, viewer, "tpl", active, "")
		wantErr(t, err, nil)
		if got.Content.Text != want {
			t.Errorf("text = %q, want %q", got.Content.Text, want)
		}
	}
	t.Run("a pinned template gives the stored text, and reads nothing else", func(t *testing.T) {
		of, v := pinned(false)
		resolve(t, newMocked(t), of, v, "Hello.\nAs it was.")
	})
	t.Run("a floating template gives what is included now, whatever its reader may see", func(t *testing.T) {
		s := newMocked(t)
		now, r := rules("As it is.")
		now.Owner, now.Grants = "sam", nil
		s.expectIncluded(gomock.Not(gomock.Eq(viewer)), now, r, nil)
		of, v := pinned(true)
		resolve(t, s, of, v, "Hello.\nAs it is.")
	})
	t.Run("a floating template whose include is gone gives the stored text", func(t *testing.T) {
		s := newMocked(t)
		s.expectIncluded(gomock.Any(), nil, nil, prompt.ErrNotFound)
		of, v := pinned(true)
		resolve(t, s, of, v, "Hello.\nAs it was.")
	})
}

func TestLargeGraphsOfIncludesAreRefusedEarly(t *testing.T) {
	// Each prompt includes ten others, four levels deep: 11,110 prompts.
	node := func(name string) (*prompt.Reading, *prompt.Version) {
		of, v := rules("")
		of.ID, of.Name, v.Template, v.ID = prompt.ID(name), name, prompt.ID(name), prompt.VersionID("v"+name)
		for i := range 10 {
			if strings.Count(name, "x") == 4 {
				break
			}
			below := fmt.Sprint(name, "x", i)
			v.Content.Text += "{{> " + below + "}} "
			v.Includes = append(v.Includes, prompt.Include{Name: below, Ref: "active", Template: prompt.ID(below)})
		}
		return of, v
	}
	s := newMocked(t)
	read := 0
	s.prompts.EXPECT().GetVersion(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, id prompt.ID,
			_ prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
			read++
			of, v := node(string(id))
			return of, v, nil
		})
	_, _, err := s.Resolved(s.ctx, owner, "n", prompt.Ref{Active: true}, "")
	wantErr(t, err, prompt.ErrIncludeTooLarge)
	if read > prompt.MaxIncluded+1 {
		t.Errorf("%d prompts were read", read)
	}
}
