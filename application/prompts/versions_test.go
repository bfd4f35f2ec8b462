package prompts_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestVersions(t *testing.T) {
	q := page.Query{Limit: 5}
	want := prompt.VersionPage{Items: []prompt.VersionSummary{version(1).Summary()}, Next: "n"}
	for name, tt := range map[string]struct {
		by     identity.Actor
		drafts bool
	}{"an owner asks for drafts too": {owner, true}, "a viewer does not": {viewer, false}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(tt.by)
			s.lists.EXPECT().Versions(s.ctx, tt.by.Workspace, prompt.ID("tpl"), tt.drafts, q).Return(want, nil)
			s.lists.EXPECT().Reads(s.ctx, tt.by.Workspace, prompt.ID("tpl"), prompt.DayOf(now)-29, gomock.Any()).Return(
				[]prompt.Reads{{Read: prompt.Read{Version: "ver1"}, Count: 2}, {Read: prompt.Read{Version: "ver1"},
					Count: 3}}, nil)
			reading, got, err := s.Versions(s.ctx, tt.by, "tpl", q)
			if err != nil || reading.ID != "tpl" || !reflect.DeepEqual(got, want) {
				t.Fatalf("Versions = %+v, %+v, %v", reading, got, err)
			}
		})
	}
	t.Run("a stranger's question reaches no list", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(stranger)
		_, _, err := s.Versions(s.ctx, stranger, "tpl", q)
		require.ErrorIs(t, err, prompt.ErrNotFound)
	})
}

func TestAddVersion(t *testing.T) {
	t.Run("it returns the version that was stored last, and its template", func(t *testing.T) {
		s := newMocked(t)
		s.expectAddVersion(owner)
		reading, v, err := s.AddVersion(s.ctx, owner, "tpl", prompt.VersionDraft{Content: prompt.Content{Text: "x"}})
		if err != nil || v.Number != 3 || reading.ID != "tpl" || v.Content.Text != "x" {
			t.Fatalf("AddVersion = %+v, %+v, %v", reading, v, err)
		}
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		base *prompt.Version
		want error
	}{
		"a base that is not the latest":      {owner, version(1), prompt.ErrBaseOutdated},
		"a base that the template never had": {owner, nil, prompt.ErrVersionNotFound},
		"who may not is not told of a base":  {viewer, nil, prompt.ErrForbidden},
		"nor is a stranger":                  {stranger, nil, prompt.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(tt.by)
			if tt.by == owner {
				s.expectGetVersion(tt.by, prompt.Ref{ID: "base"}, tt.base)
			}
			if tt.base != nil {
				s.expectAddVersion(tt.by)
			}
			_, _, err := s.AddVersion(s.ctx, tt.by, "tpl", prompt.VersionDraft{Content: prompt.Content{Text: "x"},
				Base: "base"})
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a viewer may not", func(t *testing.T) {
		s := newMocked(t)
		s.expectAddVersion(viewer)
		_, _, err := s.AddVersion(s.ctx, viewer, "tpl", prompt.VersionDraft{Content: prompt.Content{Text: "x"}})
		require.ErrorIs(t, err, prompt.ErrForbidden)
	})
}

func TestVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		v    *prompt.Version
		want error
	}{
		"a viewer reads a frozen version":             {viewer, version(1), nil},
		"an owner reads a draft":                      {owner, version(2), nil},
		"a viewer is not told of a draft":             {viewer, version(2), prompt.ErrVersionNotFound},
		"one that is not there":                       {owner, nil, prompt.ErrVersionNotFound},
		"is not told to a stranger":                   {stranger, nil, prompt.ErrNotFound},
		"nor is a stranger told of one that is there": {stranger, version(1), prompt.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			ref := prompt.Ref{Number: 1}
			s.expectGetVersion(tt.by, ref, tt.v)
			reading, v, err := s.Version(s.ctx, tt.by, "tpl", ref)
			require.ErrorIs(t, err, tt.want)
			if (tt.want == nil && (reading.ID != "tpl" || v != tt.v)) ||
				(tt.want != nil && (reading != nil || v != nil)) {
				t.Errorf("Version = %+v, %+v", reading, v)
			}
		})
	}
}

func TestChangeVersion(t *testing.T) {
	s := newMocked(t)
	ref := prompt.Ref{Number: 2}
	s.expectEditVersion(owner, ref, func() *prompt.Version { return version(2) })
	reading, v, err := s.ChangeVersion(s.ctx, owner, "tpl", ref, revision.Match{1},
		prompt.VersionChanges{CommitMessage: new("why")})
	if err != nil || reading.ID != "tpl" || v.CommitMessage != "why" || v.Revision != 2 {
		t.Fatalf("ChangeVersion = %+v, %+v, %v", reading, v, err)
	}
}

func TestChangeVersionGuardsLabelsInUse(t *testing.T) {
	for name, tt := range map[string]struct {
		labels []string
		lost   []string
		used   bool
		want   error
	}{
		"a label that a chat template uses stays": {[]string{"eval"}, []string{"production"}, true,
			prompt.ErrInUse},
		"a label that nothing uses is taken away":        {[]string{"eval"}, []string{"production"}, false, nil},
		"so are all of them":                             {nil, []string{"eval", "production"}, false, nil},
		"a version that only gains labels asks no chats": {[]string{"production", "new", "eval"}, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			ref := prompt.Ref{Number: 1}
			s.expectEditVersion(owner, ref, func() *prompt.Version {
				v := version(1)
				v.Labels = []string{"eval", "production"}
				return v
			})
			if tt.lost != nil {
				s.chats.EXPECT().Uses(s.ctx, owner.Workspace, prompt.ID("tpl"), tt.lost, 1000).
					Return(uses(tt.used), nil)
			}
			if tt.used {
				s.chats.EXPECT().Visible(s.ctx, owner, chat.Filter{Prompt: "tpl", Refs: tt.lost},
					page.Query{Limit: 20}).Return(chat.Page{}, nil)
			}
			_, _, err := s.ChangeVersion(s.ctx, owner, "tpl", ref, nil, prompt.VersionChanges{Labels: &tt.labels})
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestChangeVersionThatIsNotThere(t *testing.T) {
	s := newMocked(t)
	ref := prompt.Ref{Number: 9}
	s.expectEditVersion(owner, ref, func() *prompt.Version { return nil })
	_, _, err := s.ChangeVersion(s.ctx, owner, "tpl", ref, nil, prompt.VersionChanges{Labels: &[]string{"live"}})
	require.ErrorIs(t, err, prompt.ErrVersionNotFound)
}

func TestDeleteVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"a manager deletes it":         {manager, nil, nil},
		"another revision was meant":   {manager, revision.Match{9}, revision.ErrMismatch},
		"a viewer is not told of them": {viewer, nil, prompt.ErrVersionNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			ref := prompt.Ref{Latest: true}
			s.prompts.EXPECT().Lock(s.ctx, tt.by, prompt.ID("tpl"), prompt.Ref{Previous: true}).
				Return(template(), nil, nil)
			s.expectUpdateVersion(tt.by, ref, func() *prompt.VersionInfo { return &version(2).VersionInfo })
			if tt.want == nil {
				s.chats.EXPECT().Uses(s.ctx, tt.by.Workspace, prompt.ID("tpl"), []string{"ver2", "v2"}, 1000).
					Return(nil, nil)
			}
			s.prompts.EXPECT().Rollouts(s.ctx, tt.by, prompt.ID("tpl"))
			require.ErrorIs(t, s.DeleteVersion(s.ctx, tt.by, "tpl", ref, tt.at), tt.want)
		})
	}
}

func TestDeleteVersionThatIsPrevious(t *testing.T) {
	s := newMocked(t)
	ref := prompt.Ref{Number: 1}
	s.prompts.EXPECT().Lock(s.ctx, manager, prompt.ID("tpl"), prompt.Ref{Previous: true}).Return(template(),
		&version(1).VersionInfo, nil)
	s.expectUpdateVersion(manager, ref, func() *prompt.VersionInfo { return &version(1).VersionInfo })
	refs := []string{"ver1", "v1", "previous"}
	s.chats.EXPECT().Uses(s.ctx, manager.Workspace, prompt.ID("tpl"), refs, 1000).Return(uses(true), nil)
	s.chats.EXPECT().Visible(s.ctx, manager, chat.Filter{Prompt: "tpl", Refs: refs}, page.Query{Limit: 20}).
		Return(chat.Page{}, nil)
	s.prompts.EXPECT().Rollouts(s.ctx, manager, prompt.ID("tpl"))
	require.ErrorIs(t, s.DeleteVersion(s.ctx, manager, "tpl", ref, nil), prompt.ErrInUse)
}

func TestTheOnlyReleasedVersionIsTheLatestOfChatsBesideDrafts(t *testing.T) {
	s := newMocked(t)
	ref, current := prompt.Ref{Number: 1}, template()
	current.FrozenVersions, current.AllVersions.Count = prompt.Summary{Count: 1, Latest: "ver1"}, 2
	s.prompts.EXPECT().Lock(s.ctx, manager, prompt.ID("tpl"), prompt.Ref{Previous: true}).Return(current, nil, nil)
	s.prompts.EXPECT().UpdateVersion(s.ctx, manager, prompt.ID("tpl"), ref, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
			change func(*prompt.Template, *prompt.VersionInfo) error) (*prompt.Template, error) {
			return current, change(current, &version(1).VersionInfo)
		})
	refs := []string{"ver1", "v1", "latest"}
	s.chats.EXPECT().Uses(s.ctx, manager.Workspace, prompt.ID("tpl"), refs, 1000).Return(uses(true), nil)
	s.chats.EXPECT().Visible(s.ctx, manager, chat.Filter{Prompt: "tpl", Refs: refs}, page.Query{Limit: 20}).
		Return(chat.Page{}, nil)
	s.prompts.EXPECT().Rollouts(s.ctx, manager, prompt.ID("tpl"))
	require.ErrorIs(t, s.DeleteVersion(s.ctx, manager, "tpl", ref, nil), prompt.ErrInUse)
}

func TestActivateVersion(t *testing.T) {
	ref := prompt.Ref{Label: "live"}
	t.Run("it moves the pointer", func(t *testing.T) {
		s := newMocked(t)
		s.expectUpdateVersion(owner, ref, func() *prompt.VersionInfo { return &version(1).VersionInfo })
		got, _, err := s.ActivateVersion(s.ctx, owner, "tpl", ref, revision.Match{1},
			prompt.Activating{Expected: new(prompt.VersionID("")), Reason: "why"})
		if err != nil || got.Active.Version != "ver1" || len(got.Activated) != 1 || got.Activated[0].Reason != "why" {
			t.Fatalf("ActivateVersion = %+v, %v", got, err)
		}
	})
	for name, tt := range map[string]struct {
		by       identity.Actor
		at       revision.Match
		expected *prompt.VersionID
		v        *prompt.VersionInfo
		want     error
	}{
		"a viewer may not": {viewer, nil, nil, &version(1).VersionInfo, prompt.ErrForbidden},
		"another revision was meant": {owner, revision.Match{9}, nil, &version(1).VersionInfo,
			revision.ErrMismatch},
		"another active version was expected": {owner, nil, new(prompt.VersionID("ver2")), &version(1).VersionInfo,
			prompt.ErrActiveChanged},
		"a version that is not there": {owner, nil, nil, nil, prompt.ErrVersionNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectUpdateVersion(tt.by, ref, func() *prompt.VersionInfo { return tt.v })
			_, _, err := s.ActivateVersion(s.ctx, tt.by, "tpl", ref, tt.at, prompt.Activating{Expected: tt.expected})
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestActivations(t *testing.T) {
	q := page.Query{Limit: 5}
	t.Run("a user who sees the template sees its ledger", func(t *testing.T) {
		s := newMocked(t)
		want := page.Of[prompt.Activation]{Items: []prompt.Activation{{To: "ver1"}}}
		s.expectGet(viewer)
		s.lists.EXPECT().Activations(s.ctx, viewer.Workspace, prompt.ID("tpl"), "live", q).Return(want, nil)
		if got, err := s.Activations(s.ctx, viewer, "tpl", "live", q); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Activations = %+v, %v", got, err)
		}
	})
	t.Run("a stranger's question reaches no list", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(stranger)
		_, err := s.Activations(s.ctx, stranger, "tpl", "", q)
		require.ErrorIs(t, err, prompt.ErrNotFound)
	})
}
