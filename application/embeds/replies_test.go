package embeds_test

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// replyStage is Replies on mocked ports, with a session of a visitor.
type replyStage struct {
	*embeds.Replies
	*embedService
	counts   *mocks.MockEmbedReplies
	feedback *mocks.MockPromptFeedback
	replier  *mocks.MockReplier
	version  *chat.PromptVersion // that has the instructions
	key      string              // of its rollout
	used     connection.ID
	refusal  error // of the use of the connection
	session  string
	reply    chat.Reply
	failure  error // of the effective instructions
	replies  chat.ReplyRun

	values      []map[string]any // of the prompt's variables, each time that instructions were made
	transcripts webhook.ID       // of the template
	turns       []*ports.Turn    // that were forwarded
	lost        []func()         // of each
	reads       []prompt.VersionID
}

func newReplyStage(t *testing.T, reply chat.Reply) *replyStage {
	c := gomock.NewController(t)
	s := &replyStage{embedService: newEmbedService(t), counts: mocks.NewMockEmbedReplies(c),
		replier: mocks.NewMockReplier(c), feedback: mocks.NewMockPromptFeedback(c),
		reply: reply}
	s.session = s.embedService.session(t, shopVisit(), "").Text.Reveal()
	credential, err := connection.ParseCredential(connection.OpenAICompatible,
		[]byte(`{"base_url":"https://a.example"}`))
	require.NoError(t, err)
	use := func(ctx context.Context, by identity.Actor, id connection.ID,
		do func(context.Context, ports.Warehouse, ports.Target) error) error {
		if s.used = id; by.Workspace != "acme" || by.Org != "org" {
			t.Errorf("the connection is used by %+v", by)
		}
		if s.refusal != nil {
			return s.refusal
		}
		return do(ctx, nil, ports.Target{Credential: credential})
	}
	effective := func(
		_ context.Context, by identity.Actor, t *chat.Template, values map[string]any, key string,
	) (chat.Effective, error) {
		s.key, s.values = key, append(s.values, values)
		if values["plan"] == "other" {
			return chat.Effective{}, prompt.ErrInvalidVariables
		}
		instructions := t.Instructions + " in " + string(by.Workspace)
		return chat.Effective{Instructions: instructions, Prompt: s.version}, s.failure
	}
	s.Replies = embeds.NewReplies(s.counts, s.feedback, s.Service, effective, use,
		embeds.Repliers{connection.OpenAICompatible: s.replier},
		func(by identity.Actor, to webhook.ID, turn *ports.Turn, lost func()) {
			if by.Workspace != "acme" || by.Org != "org" || to != s.transcripts {
				t.Errorf("a turn is forwarded to %s by %+v", to, by)
			}
			s.turns, s.lost = append(s.turns, turn), append(s.lost, lost)
		},
		func(by identity.Actor, versions ...prompt.VersionID) {
			if by.Workspace != "acme" || by.At.IsZero() {
				t.Errorf("%+v reads", by)
			}
			s.reads = append(s.reads, versions...)
		})
	return s
}

// ask sends a message for a template with some content.
func (s *replyStage) ask(ctx context.Context, content chat.Content) (*embeds.Asking, error) {
	return s.askAs(ctx, shopVisit(), content)
}

func (s *replyStage) askAs(ctx context.Context, visit embeds.Visit, content chat.Content) (*embeds.Asking, error) {
	e := s.embedding()
	e.Template.Reply = s.reply
	s.embeds.EXPECT().ByIDs(gomock.Any(), identity.OrgID("org"), []embed.TokenID{s.token.ID}).Return(
		map[embed.TokenID]*embed.Embedding{s.token.ID: e}, nil)
	t := s.template()
	t.Content, t.Replies, t.Transcripts = content, s.replies, s.transcripts
	t.Reply = s.reply
	s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).AnyTimes().Return(t, nil)
	return s.Ask(ctx, visit, s.session, embed.Question{Text: "Where?"}, unlimited)
}

func (s *replyStage) expectCount(isCounted bool) {
	n := 0
	if isCounted {
		n = 1
	}
	s.counts.EXPECT().Count(gomock.Any(), identity.OrgID("org"), s.token.ID, embed.Origin(embedSite),
		embed.DayOf(embedAt), 1, 1000).Return(n, nil)
}

var compatible = chat.Reply{Kind: chat.CompatibleReply, Connection: "con_1", Model: "small"}

func TestAMessageIsAnswered(t *testing.T) {
	ctx := t.Context()
	s := newReplyStage(t, compatible)
	s.expectCount(true)
	asking, err := s.ask(ctx, chat.Content{Instructions: "Be brief"})
	require.NoError(t, err)
	s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ ports.Target, r ports.ReplyRequest, yield func(embed.Piece) error) error {
			if r.Instructions != "Be brief in acme" || r.Question.Text != "Where?" || r.Visitor != "42" ||
				r.Session == "" || r.Session != s.key || r.Origin != embedSite || r.ModelName != "small" ||
				r.Template != "ctpl" || r.Token != s.token.ID {
				t.Errorf("%+v", r)
			}
			return yield(embed.Piece{Part: embed.PartText, Text: "There."})
		})
	got := ""
	require.NoError(t, asking.Answer(ctx, func(p embed.Piece) error { got += p.Text; return nil }))
	if got != "There." || s.used != "con_1" {
		t.Errorf("%q by %s", got, s.used)
	}
}

func TestAMessageIsAReadOfThePromptsVersion(t *testing.T) {
	s := newReplyStage(t, compatible)
	s.expectCount(true)
	_, err := s.ask(t.Context(), chat.Content{Instructions: "its own"})
	require.NoError(t, err)
	assert.Equal(t, "reads without a prompt", len(s.reads), 0)
	for _, isCounted := range []bool{true, false} { // the last one is more than the token has for the day
		s.version = &chat.PromptVersion{Version: "pver"}
		s.counts.EXPECT().Count(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Return(map[bool]int{true: 1}[isCounted], nil)
		_, err := s.ask(t.Context(), chat.Content{})
		assert.Equal(t, "refused", err != nil, !isCounted)
	}
	assert.NoDiff(t, "reads", cmp.Diff([]prompt.VersionID{"pver"}, s.reads))
	_, session := preview(t, s)
	_, err = s.Ask(t.Context(), own(embedAt), session, embed.Question{Text: "Where?"}, unlimited)
	require.NoError(t, err)
	assert.Equal(t, "reads after a preview", len(s.reads), 1)
}

func TestVisitorsReadReasoningOnlyIfTheChatShowsIt(t *testing.T) {
	for want, reply := range map[string]chat.Reply{
		"There.": compatible,
		"Hm. There.": {Kind: compatible.Kind, Connection: compatible.Connection, Model: compatible.Model,
			ShowReasoning: true},
	} {
		ctx := t.Context()
		s := newReplyStage(t, reply)
		s.expectCount(true)
		asking, err := s.ask(ctx, chat.Content{})
		require.NoError(t, err)
		s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ ports.Target, _ ports.ReplyRequest, yield func(embed.Piece) error) error {
				return errors.Join(yield(embed.Piece{Part: embed.PartReasoning, Text: "Hm. "}),
					yield(embed.Piece{Part: embed.PartText, Text: "There."}))
			})
		got := ""
		require.NoError(t, asking.Answer(ctx, func(p embed.Piece) error { got += p.Text; return nil }))
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAMessageThatIsNotAnswered(t *testing.T) {
	ctx := t.Context()
	t.Run("the template names no endpoint", func(t *testing.T) {
		_, err := newReplyStage(t, chat.Reply{}).ask(ctx, chat.Content{})
		require.ErrorIs(t, err, embed.ErrNoReplies)
	})
	t.Run("its prompt no longer exists", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.failure = chat.ErrPromptGone
		_, err := s.ask(ctx, chat.Content{})
		require.ErrorIs(t, err, embed.ErrNoReplies)
	})
	t.Run("its prompt lacks values of its variables", func(t *testing.T) {
		for _, cause := range []error{prompt.ErrMissingVariables, prompt.ErrInvalidVariables,
			prompt.ErrRenderTooLarge} {
			s := newReplyStage(t, compatible)
			s.failure = cause
			_, err := s.ask(ctx, chat.Content{})
			require.ErrorIs(t, err, embed.ErrNoReplies)
		}
	})
	t.Run("its instructions cannot be read", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.failure = errOutage
		_, err := s.ask(ctx, chat.Content{})
		require.ErrorIs(t, err, errOutage)
	})
	t.Run("the token has no replies left today", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.expectCount(false)
		_, err := s.ask(ctx, chat.Content{})
		require.ErrorIs(t, err, embed.ErrDailyReplies)
	})
	t.Run("the page is not the session's, or asks nothing", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		foreign := shopVisit()
		foreign.Origin = "https://evil.example"
		s.expectByID()
		_, err := s.Ask(ctx, foreign, s.session, embed.Question{Text: "?"}, unlimited)
		require.ErrorIs(t, err, embed.ErrOriginNotAllowed)
		s.expectByID()
		if _, err = s.Ask(ctx, shopVisit(), s.session, embed.Question{}, unlimited); err == nil {
			t.Error("an empty question is asked")
		}
	})
}

func TestAnAnswerFailsInWordsForVisitors(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for name, tt := range map[string]struct {
		kind    chat.ReplyKind
		refusal error
		replied error
		want    error
	}{
		"the connection was revoked":        {chat.CompatibleReply, connection.ErrRevoked, nil, embed.ReplyFailed},
		"the connection is of another kind": {chat.HTTPReply, nil, nil, embed.ReplyFailed},
		"the endpoint is too slow":          {chat.CompatibleReply, nil, embed.ReplyTimeout, embed.ReplyTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			reply := compatible
			reply.Kind = tt.kind
			s := newReplyStage(t, reply)
			s.refusal = tt.refusal
			s.expectCount(true)
			asking, err := s.ask(ctx, chat.Content{})
			require.NoError(t, err)
			if tt.replied != nil {
				s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(tt.replied)
			}
			assert.ErrorIs(t, asking.Answer(ctx, nil), tt.want)
		})
	}
	t.Run("the visitor is gone", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.expectCount(true)
		asking, err := s.ask(ctx, chat.Content{})
		require.NoError(t, err)
		s.refusal = context.Canceled
		stop()
		assert.ErrorIs(t, asking.Answer(ctx, nil), context.Canceled)
	})
}
