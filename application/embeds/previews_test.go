package embeds_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// preview returns a draft that differs from what is published, and a session that shows it.
func preview(t *testing.T, s *replyStage) (*chat.Template, string) {
	t.Helper()
	draft := s.template()
	draft.Status, draft.Instructions = chat.StatusDraft, "draft"
	draft.Reply = chat.Reply{Kind: chat.CompatibleReply, Connection: "con"}
	draft.Published = &chat.Version{Content: chat.Content{Instructions: "published"}}
	s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).Return(draft, nil).AnyTimes()
	newSession, err := s.Preview(t.Context(), embedder("ann"), annsKey, "ctpl")
	require.NoError(t, err)
	return draft, newSession.Text.Reveal()
}

// annsKey is what opens a preview.
var annsKey = session.Proof{Key: secret.Hash{1}, Workspace: "acme"}

// own is a visit of Atrium's own page while the key of ann is valid.
func own(now time.Time) embeds.Visit {
	return embeds.Visit{Org: "org", Origin: "https://atrium.example", Ours: true, At: now,
		Caller: func(p session.Proof) (identity.Actor, error) {
			if p != annsKey {
				return identity.Actor{}, identity.ErrUnauthenticated
			}
			return embedder("ann"), nil
		}}
}

func TestAPreviewShowsTheDraft(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	draft, session := preview(t, s)
	found, err := s.Resume(t.Context(), own(embedAt), session, unlimited)
	require.NoError(t, err)
	if found.Embedding.Template.Name != draft.Name || !found.Embedding.Template.Reply.Answers() {
		t.Errorf("it shows %+v", found.Embedding.Template)
	}
	asking, err := s.Ask(t.Context(), own(embedAt), session, embed.Question{Text: "Where?"}, unlimited)
	require.NoError(t, err)
	s.replier.EXPECT().Reply(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
		func(_, _ any, r ports.ReplyRequest, _ any) error {
			assert.Equal(t, "the endpoint is told", r.Instructions, "draft in acme")
			return nil
		})
	require.ErrorIs(t, asking.Answer(t.Context(), nil), nil) // and it is not counted: the mock expects no count
}

func TestThePreviewsOfATemplateHaveADaysReplies(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	_, session := preview(t, s)
	ask := func(now time.Time) error {
		_, err := s.Ask(t.Context(), own(now), session, embed.Question{Text: "Where?"}, unlimited)
		return err
	}
	for range embed.PreviewsPerDay {
		require.NoError(t, ask(embedAt))
	}
	require.ErrorIs(t, ask(embedAt), embed.ErrDailyReplies)
}

func TestAPreviewIsForAtriumsOwnPageAndEnds(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	draft, session := preview(t, s)
	foreign := own(embedAt)
	foreign.Origin, foreign.Ours = "https://shop.example", false
	_, err := s.Resume(t.Context(), foreign, session, unlimited)
	require.ErrorIs(t, err, embed.ErrOriginNotAllowed)
	_, err = s.Resume(t.Context(), own(embedAt.Add(embed.PreviewLifetime)), session, unlimited)
	require.ErrorIs(t, err, embed.ErrSessionInvalid)
	_, err = s.RenewSession(t.Context(), own(embedAt), session, unlimited)
	require.ErrorIs(t, err, embed.ErrSessionInvalid)
	s.embeds.EXPECT().ByIDs(gomock.Any(), identity.OrgID("org"), []embed.TokenID{""}).Return(nil, nil)
	_, _, err = s.Verify(t.Context(), embedder("ann"), session)
	require.ErrorIs(t, err, embed.ErrSessionNotFound)
	draft.DeletedAt = embedAt
	_, err = s.Resume(t.Context(), own(embedAt), session, unlimited)
	require.ErrorIs(t, err, embed.ErrSessionInvalid)
}

func TestAPreviewEndsWithTheAccessOfItsOpener(t *testing.T) {
	outage := errors.New("the database is away")
	lost := embedder("ann")
	lost.Role = identity.NoRole
	for name, tt := range map[string]struct {
		by   identity.Actor
		err  error
		want error
	}{
		"whose credential ended":       {err: identity.ErrUnauthenticated, want: embed.ErrSessionInvalid},
		"whose address is not allowed": {err: identity.ErrAddressNotAllowed, want: embed.ErrSessionInvalid},
		"who lost their role":          {by: lost, want: embed.ErrSessionInvalid},
		"who cannot be looked up":      {err: outage, want: outage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newReplyStage(t, chat.Reply{})
			_, pass := preview(t, s)
			visit := own(embedAt)
			visit.Caller = func(session.Proof) (identity.Actor, error) { return tt.by, tt.err }
			_, err := s.Resume(t.Context(), visit, pass, unlimited)
			require.ErrorIs(t, err, tt.want)
			_, err = s.Ask(t.Context(), visit, pass, embed.Question{Text: "Where?"}, unlimited)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestVisitorsContinueWhileTheirTokenAdmitsThem(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	live := embed.Embedding{
		Token: embed.Token{ID: "live", Hash: secret.Hash{7}, Settings: embed.Settings{
			Enabled: true, Origins: []embed.OriginPattern{"https://shop.example"}}},
		Template: embed.Template{Status: chat.StatusPublished},
	}
	switchedOff, draft := live, live
	switchedOff.Token.Enabled, draft.Template.Status = false, chat.StatusDraft
	s.embeds.EXPECT().ByIDs(gomock.Any(), identity.OrgID("org"),
		[]embed.TokenID{"deleted", "draft", "live", "off"}).Return(
		map[embed.TokenID]*embed.Embedding{"live": &live, "off": &switchedOff, "draft": &draft}, nil)
	pass := func(token embed.TokenID, by secret.Hash, origin embed.Origin) embed.Pass {
		return embed.Pass{Token: token, OpenedBy: by, Origin: origin}
	}
	got, err := s.Continue(t.Context(), "org", []embed.Pass{
		pass("live", secret.Hash{7}, "https://shop.example"),
		pass("off", secret.Hash{7}, "https://shop.example"),
		pass("live", secret.Hash{6}, "https://shop.example"),
		pass("live", secret.Hash{7}, "https://removed.example"),
		pass("deleted", secret.Hash{7}, "https://shop.example"),
		pass("draft", secret.Hash{7}, "https://shop.example"),
	}, embedAt)
	if want := []bool{true, false, false, false, false, false}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Continue = %v, %v; want %v", got, err, want)
	}
}

func TestAStrangerSeesNoPreview(t *testing.T) {
	s := newReplyStage(t, chat.Reply{})
	hidden := s.template()
	hidden.Visibility, hidden.Owner = "private", "bob"
	s.chats.EXPECT().Get(gomock.Any(), gomock.Any(), chat.ID("ctpl")).Return(hidden, nil)
	_, err := s.Preview(t.Context(), embedder("sam"), session.Proof{}, "ctpl")
	require.ErrorIs(t, err, chat.ErrNotFound)
}
