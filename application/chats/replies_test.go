package chats_test

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
)

// replyStage is Replies on mocked ports, with a session of a visitor.
type replyStage struct {
	*chats.Replies
	*embedService
	counts  *mocks.MockEmbedReplies
	prompts *mocks.MockPrompts
	replier *mocks.MockReplier
	used    connection.ID
	refusal error // of the use of the connection
	session string
	reply   chat.Reply
	expand  func(*prompt.Version) (*prompt.Version, error)
}

func newReplyStage(t *testing.T, reply chat.Reply) *replyStage {
	c := gomock.NewController(t)
	s := &replyStage{embedService: newEmbedService(t), counts: mocks.NewMockEmbedReplies(c),
		prompts: mocks.NewMockPrompts(c), replier: mocks.NewMockReplier(c),
		reply: reply}
	s.session = s.embedService.session(t, shopVisit(), "").Text.Reveal()
	credential, err := connection.ParseCredential(connection.OpenAICompatible, []byte(`{"base_url":"https://a.example"}`))
	wantErr(t, err, nil)
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
	s.expand = func(v *prompt.Version) (*prompt.Version, error) { return v, nil }
	expand := func(_ context.Context, _ ports.PromptVersions, _ identity.Actor, _ *prompt.Reading,
		v *prompt.Version) (*prompt.Version, error) {
		return s.expand(v)
	}
	s.Replies = chats.NewReplies(ports.Stores{Replies: s.counts, Chats: s.chats, Prompts: s.prompts},
		s.Embeds, expand, use, chats.Repliers{connection.OpenAICompatible: s.replier})
	return s
}

// ask sends a message for a template with some content.
func (s *replyStage) ask(ctx context.Context, content chat.Content) (*chats.Asking, error) {
	return s.askAs(ctx, shopVisit(), content)
}

func (s *replyStage) askAs(ctx context.Context, visit chats.Visit, content chat.Content) (*chats.Asking, error) {
	e := s.embedding()
	e.Template.Reply = s.reply
	s.embeds.EXPECT().ByIDs(gomock.Any(), identity.OrgID("org"), []chat.EmbedTokenID{s.token.ID}).Return(
		map[chat.EmbedTokenID]*chat.Embedding{s.token.ID: e}, nil)
	t := s.template()
	t.Content = content
	t.Reply = s.reply
	s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).AnyTimes().Return(t, nil)
	return s.Ask(ctx, visit, s.session, chat.Question{Text: "Where?"}, unlimited)
}

func (s *replyStage) expectCount(counted bool) {
	n := 0
	if counted {
		n = 1
	}
	s.counts.EXPECT().Count(gomock.Any(), identity.OrgID("org"), s.token.ID, chat.Origin(embedSite),
		chat.DayOf(embedAt), 1, 1000).Return(n, nil)
}

var compatible = chat.Reply{Kind: chat.CompatibleReply, Connection: "con_1", Model: "small"}

func TestAMessageIsAnswered(t *testing.T) {
	ctx := t.Context()
	for name, tt := range map[string]struct {
		content chat.Content
		version *prompt.Version
		want    string
	}{
		"by the template's own instructions": {chat.Content{Instructions: "Be brief."}, nil, "Be brief."},
		"by its prompt's": {chat.Content{Prompt: chat.Prompt{Template: "ptpl", Ref: "v3"}},
			&prompt.Version{VersionInfo: prompt.VersionInfo{}, Content: prompt.Content{Text: "Be kind."}}, "Be kind."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReplyStage(t, compatible)
			if tt.version != nil {
				s.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(),
					prompt.Reference{Holder: "ctpl", Template: "ptpl", Ref: "v3"}).
					Return(&prompt.Reading{}, tt.version, false, nil)
			}
			s.expectCount(true)
			asking, err := s.ask(ctx, tt.content)
			wantErr(t, err, nil)
			s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ ports.Target, r ports.ReplyRequest, each func(string) error) error {
					if r.Instructions != tt.want || r.Question.Text != "Where?" || r.Visitor != "42" ||
						r.Origin != embedSite || r.Model != "small" || r.Template != "ctpl" || r.Token != s.token.ID {
						t.Errorf("%+v", r)
					}
					return each("There.")
				})
			got := ""
			wantErr(t, asking.Answer(ctx, func(text string) error { got += text; return nil }), nil)
			if got != "There." || s.used != "con_1" {
				t.Errorf("%q by %s", got, s.used)
			}
		})
	}
}

func TestAMessageThatIsNotAnswered(t *testing.T) {
	ctx := t.Context()
	t.Run("the template names no endpoint", func(t *testing.T) {
		_, err := newReplyStage(t, chat.Reply{}).ask(ctx, chat.Content{})
		wantErr(t, err, chat.ErrNoReplies)
	})
	t.Run("its prompt no longer exists", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(), gomock.Any()).
			Return(nil, nil, false, prompt.ErrNotFound)
		_, err := s.ask(ctx, chat.Content{Prompt: chat.Prompt{Template: "ptpl", Ref: "active"}})
		wantErr(t, err, chat.ErrNoReplies)
		s = newReplyStage(t, compatible)
		s.prompts.EXPECT().Referenced(gomock.Any(), gomock.Any(), gomock.Any()).
			Return(&prompt.Reading{DeletedAt: embedAt}, &prompt.Version{}, false, nil)
		_, err = s.ask(ctx, chat.Content{Prompt: chat.Prompt{Template: "ptpl", Ref: "active"}})
		wantErr(t, err, chat.ErrNoReplies)
	})
	t.Run("the token has no replies left today", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.expectCount(false)
		_, err := s.ask(ctx, chat.Content{})
		wantErr(t, err, chat.ErrDailyReplies)
	})
	t.Run("the page is not the session's, or asks nothing", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		foreign := shopVisit()
		foreign.Origin = "https://evil.example"
		s.expectByID()
		_, err := s.Ask(ctx, foreign, s.session, chat.Question{Text: "?"}, unlimited)
		wantErr(t, err, chat.ErrOriginNotAllowed)
		s.expectByID()
		if _, err = s.Ask(ctx, shopVisit(), s.session, chat.Question{}, unlimited); err == nil {
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
		"the connection was revoked":        {chat.CompatibleReply, connection.ErrRevoked, nil, chat.ReplyFailed},
		"the connection is of another kind": {chat.HTTPReply, nil, nil, chat.ReplyFailed},
		"the endpoint is too slow":          {chat.CompatibleReply, nil, chat.ReplyTimeout, chat.ReplyTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			reply := compatible
			reply.Kind = tt.kind
			s := newReplyStage(t, reply)
			s.refusal = tt.refusal
			s.expectCount(true)
			asking, err := s.ask(ctx, chat.Content{})
			wantErr(t, err, nil)
			if tt.replied != nil {
				s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(tt.replied)
			}
			if err := asking.Answer(ctx, nil); !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("the visitor is gone", func(t *testing.T) {
		s := newReplyStage(t, compatible)
		s.expectCount(true)
		asking, err := s.ask(ctx, chat.Content{})
		wantErr(t, err, nil)
		s.refusal = context.Canceled
		stop()
		if err := asking.Answer(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestTheConnectionOfAReplyMustFit(t *testing.T) {
	for name, tt := range map[string]struct {
		found *connection.Connection
		err   error
		want  error
	}{
		"one that exists": {&connection.Connection{Workspace: "acme", Kind: connection.OpenAICompatible,
			Status: connection.Active}, nil, nil},
		"another kind": {&connection.Connection{Workspace: "acme", Kind: connection.Postgres,
			Status: connection.Active}, nil, chat.ErrReplyConnection},
		"a revoked one": {&connection.Connection{Workspace: "acme", Kind: connection.OpenAICompatible,
			Status: connection.Revoked}, nil, chat.ErrReplyConnection},
		"none":      {nil, connection.ErrNotFound, chat.ErrReplyConnection},
		"an outage": {nil, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			tx := s.expectAtomically(t)
			tx.connections.EXPECT().Get(s.ctx, identity.WorkspaceID("acme"), connection.ID("con_1")).AnyTimes().
				Return(tt.found, tt.err)
			tx.chats.EXPECT().Add(s.ctx, gomock.Any()).AnyTimes()
			_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "n", Reply: compatible}})
			wantErr(t, err, tt.want)
		})
	}
}
