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
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
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
	reading := template().Reading()
	reading.ID, reading.Name, reading.ActiveVersion = "rules", "rules", "rules1"
	v := version(1)
	v.ID, v.Template, v.Content = "rules1", "rules", prompt.Content{Text: text, Format: prompt.Mustache}
	return reading, v
}

func (s *mockedService) expectIncluded(by gomock.Matcher, reading *prompt.Reading, v *prompt.Version, err error) {
	s.prompts.EXPECT().GetVersion(s.ctx, by, prompt.ID("rules"), prompt.Ref{Active: true}).Return(reading, v, err)
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
		reading, v := rules("Be kind.")
		s.expectIncluded(gomock.Eq(owner), reading, v, nil)
		s.prompts.EXPECT().SetIncludes(s.ctx, owner, gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.Actor, v *prompt.Version) error {
				if v.Pinned == nil || v.Pinned.Content.Text != "Hello.\nBe kind." ||
					v.Content.Text != "Hello.\n{{> rules}}" {
					t.Errorf("pinned = %+v of %q", v.Pinned, v.Content.Text)
				}
				return nil
			})
		require.NoError(t, activate(s))
	})
	t.Run("it counts as storage", func(t *testing.T) {
		s := newMocked(t)
		s.used = quota.Amounts{StorageBytes: 2}
		reading, v := rules("Be kind.")
		s.expectIncluded(gomock.Eq(owner), reading, v, nil)
		s.prompts.EXPECT().SetIncludes(s.ctx, owner, gomock.Any())
		require.ErrorIs(t, activate(s), quota.ErrExceeded)
	})
	t.Run("it counts as storage if the required checks have passed before", func(t *testing.T) {
		s := newMocked(t)
		s.used = quota.Amounts{StorageBytes: 2}
		frozen := including()
		frozen.Frozen = true
		update := s.prompts.EXPECT().UpdateVersion(s.ctx, owner, prompt.ID("tpl"), gomock.Any(), gomock.Any())
		update.Times(2).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
				change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error) {
				t := template()
				t.RequiredChecks = []string{"evals"}
				return t, change(t, &including().VersionInfo)
			})
		s.lists.EXPECT().Checks(s.ctx, identity.WorkspaceID("acme"), prompt.ID("tpl"), frozen.ID).Return(
			[]prompt.Check{{Version: frozen.ID, Name: "evals", Conclusion: prompt.Success, ContentHash: frozen.ContentHash}}, nil)
		s.expectGetVersion(owner, prompt.Ref{ID: frozen.ID}, frozen)
		reading, v := rules("Be kind.")
		s.expectIncluded(gomock.Eq(owner), reading, v, nil)
		s.prompts.EXPECT().SetIncludes(s.ctx, owner, gomock.Any())
		_, _, err := s.ActivateVersion(s.ctx, owner, "tpl", prompt.Ref{Number: 2}, nil, prompt.Activating{})
		require.ErrorIs(t, err, quota.ErrExceeded)
	})
	t.Run("a version that includes nothing is activated beyond the quota", func(t *testing.T) {
		s := newMocked(t)
		s.used = quota.Amounts{StorageBytes: 2}
		s.expectUpdateVersion(owner, prompt.Ref{Number: 2}, func() *prompt.VersionInfo {
			return &version(2).VersionInfo
		})
		_, _, err := s.ActivateVersion(s.ctx, owner, "tpl", prompt.Ref{Number: 2}, nil, prompt.Activating{})
		require.NoError(t, err)
	})
	for name, tt := range map[string]struct {
		found func() (*prompt.Reading, *prompt.Version, error)
		want  error
	}{
		"one that is gone": {func() (*prompt.Reading, *prompt.Version, error) { return nil, nil, prompt.ErrNotFound },
			prompt.ErrIncludeNotFound},
		"one that the caller cannot see": {func() (*prompt.Reading, *prompt.Version, error) {
			reading, v := rules("x")
			reading.Owner, reading.Grants = "sam", nil
			return reading, v, nil
		}, prompt.ErrIncludeNotFound},
		"one that is a draft": {func() (*prompt.Reading, *prompt.Version, error) {
			reading, v := rules("x")
			v.Frozen = false
			return reading, v, nil
		}, prompt.ErrIncludeNotFound},
		"a chat prompt": {func() (*prompt.Reading, *prompt.Version, error) {
			reading, v := rules("x")
			reading.Type = prompt.Chat
			return reading, v, nil
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
			reading, v, err := tt.found()
			s.expectIncluded(gomock.Eq(owner), reading, v, err)
			require.ErrorIs(t, activate(s), tt.want)
		})
	}
}

func TestWhatReadersGetOfIncludes(t *testing.T) {
	pinnedReading := func(floating bool) (*prompt.Reading, *prompt.Version) {
		reading, v := template().Reading(), including()
		reading.Floating, v.Frozen = floating, true
		v.Pinned = &prompt.Expansion{Content: prompt.Content{Text: "Hello.\nAs it was."}}
		return reading, v
	}
	active := prompt.Ref{Active: true}
	expectReferenced := func(t *testing.T, s *mockedService, holder string, reading *prompt.Reading, v *prompt.Version,
		lost bool, err error) {
		t.Helper()
		s.prompts.EXPECT().Referenced(s.ctx, gomock.Any(),
			prompt.Reference{Holder: holder, Template: v.Template, Ref: "active"}).DoAndReturn(
			func(_ context.Context, by identity.Actor, _ prompt.Reference) (*prompt.Reading, *prompt.Version, bool,
				error) {
				if !by.IsSystem() {
					t.Errorf("it is read by %+v", by)
				}
				return reading, v, lost, err
			})
	}
	resolve := func(t *testing.T, s *mockedService, reading *prompt.Reading, v *prompt.Version,
		want string) *prompt.Version {
		t.Helper()
		s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("tpl"), active).Return(reading, v, nil)
		_, got, err := s.Resolved(s.ctx, viewer, "tpl", active, "")
		require.NoError(t, err)
		assert.Equal(t, "text", got.Content.Text, want)
		return got
	}
	t.Run("a pinned template gives the stored text, and reads nothing else", func(t *testing.T) {
		reading, v := pinnedReading(false)
		resolve(t, newMocked(t), reading, v, "Hello.\nAs it was.")
	})
	t.Run("a floating template gives what is included now, whatever its reader may see", func(t *testing.T) {
		s := newMocked(t)
		current, r := rules("As it is.")
		current.Owner, current.Grants = "sam", nil
		expectReferenced(t, s, "tpl", current, r, false, nil)
		reading, v := pinnedReading(true)
		if got := resolve(t, s, reading, v, "Hello.\nAs it is."); got.Pinned.Includes[0].Lost {
			t.Error("the include is said to stay at its version")
		}
	})
	t.Run("an include that the owner may not read stays at its version, and says so", func(t *testing.T) {
		s := newMocked(t)
		current, r := rules("As it was kept.")
		expectReferenced(t, s, "tpl", current, r, true, nil)
		reading, v := pinnedReading(true)
		if got := resolve(t, s, reading, v, "Hello.\nAs it was kept."); !got.Pinned.Includes[0].Lost {
			t.Error("it does not say so")
		}
	})
	t.Run("an include of an include is that of the included prompt", func(t *testing.T) {
		s := newMocked(t)
		middle, m := rules("{{> inner}}")
		middle.Floating, m.Frozen = true, true
		m.Includes = []prompt.Include{{Name: "inner", Ref: "active", Template: "inner"}}
		inner, i := rules("The inner.")
		inner.ID, i.Template = "inner", "inner"
		expectReferenced(t, s, "tpl", middle, m, false, nil)
		expectReferenced(t, s, "rules", inner, i, true, nil)
		reading, v := pinnedReading(true)
		if got := resolve(t, s, reading, v, "Hello.\nThe inner."); got.Pinned.Includes[0].Lost {
			t.Error("the direct include is said to stay at its version")
		}
	})
	t.Run("a draft is read with the access of its reader", func(t *testing.T) {
		s := newMocked(t)
		current, r := rules("As it is.")
		current.Owner, current.Grants = "sam", nil
		draft := including()
		s.expectGetVersion(owner, active, draft)
		s.expectIncluded(gomock.Eq(owner), current, r, nil)
		_, _, err := s.Resolved(s.ctx, owner, "tpl", active, "")
		require.ErrorIs(t, err, prompt.ErrIncludeNotFound)
	})
	t.Run("a floating template whose include is gone gives the stored text", func(t *testing.T) {
		s := newMocked(t)
		_, r := rules("")
		expectReferenced(t, s, "tpl", nil, r, true, prompt.ErrNotFound)
		reading, v := pinnedReading(true)
		resolve(t, s, reading, v, "Hello.\nAs it was.")
	})
}

func TestLargeGraphsOfIncludesAreRefusedEarly(t *testing.T) {
	// Each prompt includes ten others, four levels deep: 11,110 prompts.
	node := func(name string) (*prompt.Reading, *prompt.Version) {
		reading, v := rules("")
		reading.ID, reading.Name, v.Template, v.ID = prompt.ID(name), name, prompt.ID(name), prompt.VersionID("v"+name)
		for i := range 10 {
			if strings.Count(name, "x") == 4 {
				break
			}
			rest := fmt.Sprint(name, "x", i)
			v.Content.Text += "{{> " + rest + "}} "
			v.Includes = append(v.Includes, prompt.Include{Name: rest, Ref: "active", Template: prompt.ID(rest)})
		}
		return reading, v
	}
	s := newMocked(t)
	read := 0
	found := func(id prompt.ID) (*prompt.Reading, *prompt.Version) {
		read++
		return node(string(id))
	}
	s.prompts.EXPECT().GetVersion(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, id prompt.ID,
			_ prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
			reading, v := found(id)
			return reading, v, nil
		})
	s.prompts.EXPECT().Referenced(s.ctx, gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor,
			r prompt.Reference) (*prompt.Reading, *prompt.Version, bool, error) {
			reading, v := found(r.Template)
			return reading, v, false, nil
		})
	_, _, err := s.Resolved(s.ctx, owner, "n", prompt.Ref{Active: true}, "")
	require.ErrorIs(t, err, prompt.ErrIncludeTooLarge)
	if read > prompt.MaxIncluded+1 {
		t.Errorf("%d prompts were read", read)
	}
}
