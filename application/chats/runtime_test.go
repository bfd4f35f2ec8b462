package chats_test

import (
	"context"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
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
	run := func(s *replyStage, by identity.UserID, of *chat.Template, v *prompt.Version, err error) (string, error) {
		s.chats.EXPECT().Get(gomock.Any(), embedder(by), chat.ID("ctpl")).Return(of, nil)
		if by == "ann" && of.Prompt.Template != "" {
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
		found, err := s.Runtime(ctx, embedder(by), "ctpl", map[string]any{"city": "Rome"})
		if err != nil {
			return "", err
		}
		if (found.Version != nil) != (v != nil) || found.Template.ID != of.ID {
			t.Errorf("%+v", found)
		}
		return found.Instructions, nil
	}
	got, err := run(newReplyStage(t, chat.Reply{}), "ann", inPrompt(),
		&prompt.Version{Content: prompt.Content{Text: "{{shop}} in {{city}}"}}, nil)
	wantErr(t, err, nil)
	if got != "Pens in Rome" {
		t.Errorf("%q", got)
	}
	own := inPrompt()
	own.Prompt, own.Instructions = chat.Prompt{}, "Be brief."
	got, err = run(newReplyStage(t, chat.Reply{}), "ann", own, nil, nil)
	wantErr(t, err, nil)
	if got != "Be brief." {
		t.Errorf("%q", got)
	}
	for cause, want := range map[error]error{prompt.ErrNotFound: chat.ErrPromptGone, errOutage: errOutage} {
		_, err = run(newReplyStage(t, chat.Reply{}), "ann", inPrompt(), nil, cause)
		wantErr(t, err, want)
	}
	_, err = run(newReplyStage(t, chat.Reply{}), "ann", inPrompt(), nil, nil) // the version is gone
	wantErr(t, err, chat.ErrPromptGone)
	_, err = run(newReplyStage(t, chat.Reply{}), "joe", inPrompt(), nil, nil)
	wantErr(t, err, chat.ErrForbidden)
}
