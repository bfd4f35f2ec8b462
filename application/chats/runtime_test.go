package chats_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEditorsSeeWhatRunsAChat(t *testing.T) {
	ctx := t.Context()
	inPrompt := func() *chat.Template {
		return &chat.Template{
			Resource: access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "ann",
				Visibility: access.Workspace}}, ID: "ctpl",
			Content: chat.Content{Prompt: chat.Prompt{Template: "ptpl", Ref: "active"},
				Reply: chat.Reply{Variables: []byte(`{"shop":"Pens"}`)}},
		}
	}
	run := func(s *mockedService, by identity.UserID, template *chat.Template, v *prompt.Version, err error) (string,
		error) {
		s.chats.EXPECT().Get(gomock.Any(), actor(by, identity.Member), chat.ID("ctpl")).Return(template, nil)
		if by == "ann" && template.Prompt.Template != "" {
			s.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(),
				prompt.Reference{Holder: "ctpl", Template: "ptpl", Ref: "active"}).
				DoAndReturn(func(_ context.Context, by identity.Actor, _ prompt.Reference) (*prompt.Reading,
					*prompt.Version, bool, error) {
					if by.User != "" || by.Workspace != "acme" || by.Org != "org" {
						t.Errorf("the prompt is read by %+v", by)
					}
					return &prompt.Reading{}, v, false, err
				})
		}
		found, err := s.Runtime(ctx, actor(by, identity.Member), "ctpl", map[string]any{"city": "Rome"})
		if err != nil {
			return "", err
		}
		if (found.Version != nil) != (v != nil) || found.Template.ID != template.ID {
			t.Errorf("%+v", found)
		}
		return found.Instructions, nil
	}
	got, err := run(newMocked(t), "ann", inPrompt(),
		&prompt.Version{Content: prompt.Content{Text: "{{shop}} in {{city}}"}}, nil)
	require.NoError(t, err)
	if got != "Pens in Rome" {
		t.Errorf("%q", got)
	}
	ownTemplate := inPrompt()
	ownTemplate.Prompt, ownTemplate.Instructions = chat.Prompt{}, "Be brief."
	got, err = run(newMocked(t), "ann", ownTemplate, nil, nil)
	require.NoError(t, err)
	if got != "Be brief." {
		t.Errorf("%q", got)
	}
	for cause, want := range map[error]error{prompt.ErrNotFound: chat.ErrPromptGone, errOutage: errOutage} {
		_, err = run(newMocked(t), "ann", inPrompt(), nil, cause)
		require.ErrorIs(t, err, want)
	}
	_, err = run(newMocked(t), "ann", inPrompt(), nil, nil) // the version is gone
	require.ErrorIs(t, err, chat.ErrPromptGone)
	incomplete := newMocked(t)
	incomplete.expand = func(*prompt.Version) (*prompt.Version, error) { return nil, prompt.ErrIncludeNotFound }
	_, err = run(incomplete, "ann", inPrompt(), &prompt.Version{}, nil) // an include of a draft is gone
	require.ErrorIs(t, err, chat.ErrPromptGone)
	deletedService := newMocked(t)
	deletedService.chats.EXPECT().Get(gomock.Any(), owner, chat.ID("ctpl")).Return(inPrompt(), nil)
	deletedService.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(), gomock.Any()).
		Return(&prompt.Reading{DeletedAt: now}, &prompt.Version{}, false, nil)
	_, err = deletedService.Runtime(ctx, owner, "ctpl", nil)
	require.ErrorIs(t, err, chat.ErrPromptGone)
	_, err = run(newMocked(t), "joe", inPrompt(), nil, nil)
	require.ErrorIs(t, err, chat.ErrForbidden)
}

func TestARolloutChoosesWhatVisitorsGet(t *testing.T) {
	labelled := &prompt.Version{Content: prompt.Content{Text: "Old."}}
	labelled.ID, labelled.Template, labelled.Number = "v1", "ptpl", 1
	tried := func(content string) *prompt.Version {
		v := &prompt.Version{Content: prompt.Content{Text: content},
			Choice: &prompt.Choice{Rollout: &prompt.Rollout{Label: "live"}, Weight: 20}}
		v.ID, v.Template, v.Number = "v2", "ptpl", 2
		return v
	}
	asLabel := chat.PromptVersion{Template: "ptpl", Version: "v1", Number: 1}
	for name, row := range map[string]struct {
		key     string
		rollout *prompt.Version
		isLost  bool // the owner may no longer read the prompt
		want    chat.PromptVersion
	}{
		"a visitor gets the version that the rollout chooses": {"ses_1", tried("New."), false,
			chat.PromptVersion{Template: "ptpl", Version: "v2", Number: 2, Rollout: "live", Weight: 20}},
		"without a rollout it is the label's":            {"ses_1", nil, false, asLabel},
		"without a session it is the label's":            {"", tried("New."), false, asLabel},
		"a version that lacks values is left out":        {"ses_1", tried("New {{unknown}}."), false, asLabel},
		"a chat that lost its prompt stays at a version": {"ses_1", tried("New."), true, asLabel},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.rolledOut = row.rollout
			s.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().Return(
				&prompt.Reading{}, labelled, row.isLost, nil)
			view := &chat.Template{ID: "ctpl", Content: chat.Content{
				Prompt: chat.Prompt{Template: "ptpl", Ref: "live"}}}
			got, err := s.Effective(t.Context(), owner, view, nil, row.key)
			require.NoError(t, err)
			assert.Equal(t, "version", *got.Prompt, row.want)
			if (got.Instructions == "Old.") != (row.want == asLabel) {
				t.Errorf("the instructions are %q", got.Instructions)
			}
		})
	}
}
