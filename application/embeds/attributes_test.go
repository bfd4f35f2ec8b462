package embeds_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// signedVisit opens a session for a visitor with attributes that were signed with those of signedFor.
func (s *replyStage) signedVisit(t *testing.T, attributes, signedFor string) (*embeds.Session, error) {
	t.Helper()
	s.expectBySecret()
	signature := embed.SignVisitor(s.VisitorSecret(&s.token), "42", signedFor, embedAt.Add(time.Hour))
	return s.OpenSession(t.Context(), shopVisit(), embeds.SessionRequest{Secret: s.secret.Reveal(), Visitor: "42",
		Signature: signature, Attributes: attributes}, unlimited)
}

func TestASignedVisitorsAttributesAreValuesOfVariables(t *testing.T) {
	reply := compatible
	reply.FromVisitor = []string{"plan", "seats"}
	for name, tt := range map[string]struct {
		reply            chat.Reply
		attributes, want string
	}{
		"those that the chat names": {reply, `{"plan":"pro","seats":9007199254740993,"secret":"x"}`,
			"[map[plan:pro seats:9007199254740993]]"},
		"none that it does not name": {compatible, `{"plan":"pro"}`, "[map[]]"},
		"none that fit no variable":  {reply, `{"plan":"other"}`, "[map[plan:other] map[]]"},
		"none without attributes":    {reply, "", "[map[]]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReplyStage(t, tt.reply)
			session, err := s.signedVisit(t, tt.attributes, tt.attributes)
			require.NoError(t, err)
			s.expectByID()
			session, err = s.RenewSession(t.Context(), shopVisit(), session.Text.Reveal(), unlimited)
			require.NoError(t, err)
			s.session = session.Text.Reveal()
			s.expectCount(true)
			asking, err := s.ask(t.Context(), chat.Content{})
			require.NoError(t, err)
			assert.Equal(t, "values", fmt.Sprint(s.values), tt.want)
			s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ ports.Target, r ports.ReplyRequest, _ func(embed.Piece) error) error {
					assert.Equal(t, "the endpoint's attributes", string(r.Attributes), tt.attributes)
					return nil
				})
			require.NoError(t, asking.Answer(t.Context(), nil))
		})
	}
}

func TestOnlySignedAttributesOpenASession(t *testing.T) {
	s := newReplyStage(t, compatible)
	_, err := s.signedVisit(t, `{"plan":"max"}`, `{"plan":"pro"}`)
	require.ErrorIs(t, err, embed.ErrVisitorSignature)
	_, err = s.signedVisit(t, `{"plan":"pro"}`, "")
	require.ErrorIs(t, err, embed.ErrVisitorSignature)
	s.expectBySecret()
	_, err = s.OpenSession(t.Context(), shopVisit(), embeds.SessionRequest{Secret: s.secret.Reveal(), Visitor: "42",
		Attributes: `{"plan":"pro"}`}, unlimited)
	require.ErrorIs(t, err, embed.ErrVisitorSignature)
	_, err = s.OpenSession(t.Context(), shopVisit(), embeds.SessionRequest{Attributes: `[]`}, unlimited)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Fields[0].Pointer != "/visitor_attributes" {
		t.Errorf("%v", err)
	}
}

func TestABackendLearnsWhichVersionAnswersASession(t *testing.T) {
	reply := compatible
	reply.FromVisitor = []string{"plan"}
	s := newReplyStage(t, reply)
	s.version = &chat.PromptVersion{Template: "tpl", Version: "ver", Number: 7, Rollout: "live", Weight: 40}
	session, err := s.signedVisit(t, `{"plan":"pro"}`, `{"plan":"pro"}`)
	require.NoError(t, err)
	verify := func() *chat.PromptVersion {
		t.Helper()
		e := s.embedding()
		e.Template.Reply = s.reply
		s.embeds.EXPECT().ByIDs(gomock.Any(), gomock.Any(), gomock.Any()).Return(
			map[embed.TokenID]*embed.Embedding{s.token.ID: e}, nil)
		template := s.template()
		template.Reply = s.reply
		s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).MaxTimes(1).Return(template, nil)
		found, version, err := s.Verify(t.Context(), embedder("ann"), session.Text.Reveal())
		require.NoError(t, err)
		assert.Equal(t, "attributes", found.Pass.Attributes, `{"plan":"pro"}`)
		return version
	}
	assert.Equal(t, "version", verify(), s.version)
	assert.Equal(t, "key of the rollout", s.key, session.Pass.ID)
	s.failure = chat.ErrPromptGone
	if got := verify(); got != nil {
		t.Errorf("a chat that cannot reply does so with %+v", got)
	}
	s.failure, s.reply = nil, chat.Reply{}
	if got := verify(); got != nil {
		t.Errorf("a chat that does not reply does so with %+v", got)
	}
}
