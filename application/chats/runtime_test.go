package chats_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
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
