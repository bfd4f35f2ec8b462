package chats_test

import (
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// preview returns a draft that differs from what is published, and a session that shows it.
func preview(t *testing.T, s *replyStage) (*chat.Template, string) {
	t.Helper()
	draft := s.template()
	draft.Status, draft.Instructions = chat.StatusDraft, "draft"
	draft.Reply = chat.Reply{Kind: chat.CompatibleReply, Connection: "con"}
	draft.Published = &chat.Version{Content: chat.Content{Instructions: "published"}}
	s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).Return(draft, nil).AnyTimes()
	made, err := s.Preview(t.Context(), embedder("ann"), "ctpl")
	wantErr(t, err, nil)
	return draft, made.Text.Reveal()
}

func own(at time.Time) chats.Visit {
	return chats.Visit{Org: "org", Origin: "https://atrium.example", Ours: true, At: at}
}

func TestAPreviewShowsTheDraft(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	draft, session := preview(t, s)
	found, err := s.Resume(t.Context(), own(embedAt), session, unlimited)
	wantErr(t, err, nil)
	if found.Embedding.Template.Name != draft.Name || !found.Embedding.Template.Reply.Answers() {
		t.Errorf("it shows %+v", found.Embedding.Template)
	}
	asking, err := s.Ask(t.Context(), own(embedAt), session, chat.Question{Text: "Where?"}, unlimited)
	wantErr(t, err, nil)
	s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(_, _ any, r ports.ReplyRequest, _ any) error {
			if r.Instructions != "draft" {
				t.Errorf("the endpoint is told %q", r.Instructions)
			}
			return nil
		})
	wantErr(t, asking.Answer(t.Context(), nil), nil) // and it is not counted: the mock expects no count
}

func TestAPreviewIsForAtriumsOwnPageAndEnds(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	draft, session := preview(t, s)
	_, err := s.Resume(t.Context(), shopVisit(), session, unlimited)
	wantErr(t, err, chat.ErrOriginNotAllowed)
	_, err = s.Resume(t.Context(), own(embedAt.Add(chat.PreviewLasts)), session, unlimited)
	wantErr(t, err, chat.ErrEmbedSessionInvalid)
	_, err = s.RenewSession(t.Context(), own(embedAt), session, unlimited)
	wantErr(t, err, chat.ErrEmbedSessionInvalid)
	s.embeds.EXPECT().ByID(gomock.Any(), identity.OrgID("org"), chat.EmbedTokenID("")).
		Return(nil, chat.ErrEmbedTokenInvalid)
	_, err = s.Verify(t.Context(), embedder("ann"), session)
	wantErr(t, err, chat.ErrSessionNotFound)
	draft.DeletedAt = embedAt
	_, err = s.Resume(t.Context(), own(embedAt), session, unlimited)
	wantErr(t, err, chat.ErrEmbedSessionInvalid)
}

func TestAStrangerSeesNoPreview(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	hidden := s.template()
	hidden.Visibility, hidden.Owner = "private", "bob"
	s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).Return(hidden, nil)
	_, err := s.Preview(t.Context(), embedder("sam"), "ctpl")
	wantErr(t, err, chat.ErrNotFound)
}
