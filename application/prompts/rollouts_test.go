package prompts_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/require"
)

// halves is a rollout between the versions of its template.
func halves() prompt.Rollout {
	r := prompt.Rollout{Label: "live", Seed: "seed", Parts: []prompt.RolloutPart{{Version: "ver1", Number: 1},
		{Version: "ver2", Number: 2}}}
	for slot := range byte(100) {
		r.Parts[slot%2].Slots = append(r.Parts[slot%2].Slots, slot)
	}
	return r
}

func TestRollOut(t *testing.T) {
	draft := prompt.RolloutDraft{LabelMove: prompt.LabelMove{Label: "live"}, Versions: []prompt.WeightedRef{
		{Ref: prompt.Ref{Number: 1}, Weight: 60}, {Ref: prompt.Ref{Number: 2}, Weight: 40}}}
	t.Run("the first version gets the label, and a draft is frozen", func(t *testing.T) {
		s := newMocked(t)
		var joinedInfo *prompt.VersionInfo
		s.expectUpdateVersion(owner, prompt.Ref{Number: 2}, func() *prompt.VersionInfo {
			joinedInfo = &version(2).VersionInfo
			return joinedInfo
		})
		first := version(1)
		s.expectEditVersion(owner, prompt.Ref{Number: 1}, func() *prompt.Version {
			first = version(1)
			return first
		})
		s.prompts.EXPECT().Rollouts(s.ctx, owner, prompt.ID("tpl")).Return([]prompt.Rollout{halves()}, nil)
		r, _, err := s.RollOut(s.ctx, owner, "tpl", draft)
		require.NoError(t, err)
		if r.Label != "live" || !joinedInfo.Frozen || len(first.Labels) != 1 || first.Labels[0] != "live" {
			t.Errorf("rollout %+v of %+v and %+v", r, first, joinedInfo)
		}
	})
	t.Run("a viewer may not", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdateVersion(viewer, prompt.Ref{Number: 2}, func() *prompt.VersionInfo {
			return &version(1).VersionInfo
		})
		_, _, err := s.RollOut(s.ctx, viewer, "tpl", draft)
		require.ErrorIs(t, err, prompt.ErrForbidden)
	})
	t.Run("a version that does not exist is refused", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdateVersion(owner, prompt.Ref{Number: 2}, func() *prompt.VersionInfo { return nil })
		_, _, err := s.RollOut(s.ctx, owner, "tpl", draft)
		require.ErrorIs(t, err, prompt.ErrVersionNotFound)
	})
}

func TestResolvedByKey(t *testing.T) {
	live := prompt.Ref{Label: "live"}
	frozen := func() *prompt.Version {
		v := version(2)
		v.Frozen = true
		return v
	}
	resolve := func(t *testing.T, key string, other *prompt.Version) *prompt.Version {
		t.Helper()
		s := newMocked(t)
		s.expectGetVersion(viewer, live, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return([]prompt.Rollout{halves()}, nil)
		s.prompts.EXPECT().GetVersion(s.ctx, viewer, prompt.ID("tpl"), prompt.Ref{ID: "ver2"}).AnyTimes().DoAndReturn(
			func(context.Context, identity.Actor, prompt.ID, prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
				return template().Reading(), other, nil
			})
		_, v, err := s.Resolved(s.ctx, viewer, "tpl", live, key)
		require.NoError(t, err)
		return v
	}
	t.Run("the key chooses the version", func(t *testing.T) {
		seen := map[prompt.VersionID]bool{}
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			v := resolve(t, key, frozen())
			if v.Choice == nil || v.Choice.Weight != 50 || v.Choice.Rollout.Label != "live" {
				t.Fatalf("%s was chosen by %+v", v.ID, v.Choice)
			}
			seen[v.ID] = true
		}
		if len(seen) != 2 {
			t.Errorf("versions = %v", seen)
		}
	})
	t.Run("a version that was deleted with the end of the rollout is not missed", func(t *testing.T) {
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			if v := resolve(t, key, nil); v.ID != "ver1" {
				t.Fatalf("version %s", v.ID)
			}
		}
	})
	t.Run("without a key, or by another reference, no rollout is read", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, live, version(1))
		_, v, err := s.Resolved(s.ctx, viewer, "tpl", live, "")
		require.NoError(t, err)
		s.expectGetVersion(viewer, prompt.Ref{Active: true}, version(1))
		_, w, err := s.Resolved(s.ctx, viewer, "tpl", prompt.Ref{Active: true}, "a")
		require.NoError(t, err)
		if v.Choice != nil || w.Choice != nil {
			t.Errorf("chosen by %v and %v", v.Choice, w.Choice)
		}
	})
	t.Run("an outage is an error", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, live, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, gomock.Any()).Return(nil, errOutage)
		_, _, err := s.Resolved(s.ctx, viewer, "tpl", live, "a")
		require.ErrorIs(t, err, errOutage)
	})
}

func TestResolveReturnsRolloutsToThoseWhoChooseThemselves(t *testing.T) {
	live := prompt.Ref{Label: "live"}
	t.Run("without a key, a label comes with its rollout", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, live, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return([]prompt.Rollout{halves()}, nil)
		got, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{{ID: "tpl", Ref: live}})
		if err != nil || got[0].Version.ID != "ver1" || got[0].Rollout == nil || len(got[0].Rollout.Parts) != 2 {
			t.Errorf("Resolve = %+v, %v", got, err)
		}
	})
	t.Run("a label without a rollout has none, and neither has another label", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, prompt.Ref{Label: "other"}, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return([]prompt.Rollout{halves()}, nil)
		got, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{{ID: "tpl", Ref: prompt.Ref{Label: "other"}}})
		if err != nil || got[0].Rollout != nil {
			t.Errorf("Resolve = %+v, %v", got, err)
		}
	})
	t.Run("for a key the server chooses", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, live, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return(nil, nil)
		got, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{{ID: "tpl", Ref: live, Key: "a"}})
		if err != nil || got[0].Rollout != nil {
			t.Errorf("Resolve = %+v, %v", got, err)
		}
	})
	t.Run("an outage is an error", func(t *testing.T) {
		s := newMocked(t)
		s.expectGetVersion(viewer, live, version(1))
		s.prompts.EXPECT().Rollouts(s.ctx, viewer, gomock.Any()).Return(nil, errOutage)
		_, err := s.Resolve(s.ctx, viewer, []prompts.Wanted{{ID: "tpl", Ref: live}})
		require.ErrorIs(t, err, errOutage)
	})
}

func TestRollouts(t *testing.T) {
	s := newMocked(t)
	s.expectGet(viewer)
	s.prompts.EXPECT().Rollouts(s.ctx, viewer, prompt.ID("tpl")).Return([]prompt.Rollout{halves()}, nil)
	if got, err := s.Rollouts(s.ctx, viewer, "tpl"); err != nil || len(got) != 1 {
		t.Errorf("Rollouts = %v, %v", got, err)
	}
	s.expectGet(stranger)
	_, err := s.Rollouts(s.ctx, stranger, "tpl")
	require.ErrorIs(t, err, prompt.ErrNotFound)
}
