package embeds_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

var embedAt = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

const embedSite = "https://shop.example"

func embedder(user identity.UserID) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: identity.Member, Ceiling: identity.Owner,
		At: embedAt}
}

// embedService is Embeds on mocked ports; its stores run each change twice, as stores do after a
// conflict.
type embedService struct {
	*embeds.Service
	embeds *mocks.MockEmbeds
	chats  *mocks.MockChats
	sealer *mocks.MockSealer
	uses   *mocks.MockEmbedUses
	token  embed.Token // of the template
	secret secret.Token
}

func newEmbedService(t *testing.T) *embedService {
	c := gomock.NewController(t)
	s := &embedService{embeds: mocks.NewMockEmbeds(c), chats: mocks.NewMockChats(c), sealer: mocks.NewMockSealer(c),
		uses: mocks.NewMockEmbedUses(c)}
	registry := &chat.Registry{Tools: []chat.Item{{ID: "search", Name: "Search", EmbedSafe: true}, {ID: "admin"}}}
	s.Service = embeds.NewService(ports.EmbedStores{Embeds: s.embeds, EmbedUses: s.uses}, s.chats,
		embeds.PassSealers{Sessions: s.sealer, Tickets: s.sealer},
		func(identity.OrgID) *chat.Registry { return registry }, fixture.Digester{})
	name, origins := "Shop", []string{embedSite}
	token, secretToken, err := embed.NewToken(s.template(), embedder("ann"), 0,
		embed.Changes{Name: &name, Origins: &origins})
	require.NoError(t, err)
	s.token, s.secret = *token, secretToken
	// The sealed text contains the plain text and its associated data, so that tests can inspect them.
	s.sealer.EXPECT().Seal(gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(func(plain, context []byte) ([]byte, error) {
		return []byte(string(context) + "|" + string(plain)), nil
	})
	s.sealer.EXPECT().Open(gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(func(ciphertext, context []byte) ([]byte, error) {
		if plain, ok := strings.CutPrefix(string(ciphertext), string(context)+"|"); ok {
			return []byte(plain), nil
		}
		return nil, errors.New("not sealed for this")
	})
	return s
}

func (s *embedService) template() *chat.Template {
	return &chat.Template{
		Resource: access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "ann",
			Visibility: access.Workspace}}, ID: "ctpl", Status: chat.StatusPublished,
		Content: chat.Content{Name: "Support", Tools: []chat.Selected{{ID: "search"}, {ID: "admin"}, {ID: "gone"}}},
	}
}

func (s *embedService) embedding() *embed.Embedding {
	return &embed.Embedding{Token: s.token, Template: embed.Template{
		ID: "ctpl", Workspace: "acme", Status: chat.StatusPublished, Name: "Support",
		Tools: []string{"search", "admin", "gone"},
	}}
}

func (s *embedService) expectUpdate(by identity.Actor) {
	s.embeds.EXPECT().Update(gomock.Any(), by, chat.ID("ctpl"), s.token.ID, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ chat.ID, _ embed.TokenID,
			change func(*chat.Template, *embed.Token) error) error {
			for range 2 {
				token := s.token
				if err := change(s.template(), &token); err != nil {
					return err
				}
			}
			return nil
		})
}

func unlimited(*embed.Token, embed.Counted) error { return nil }

func shopVisit() embeds.Visit { return embeds.Visit{Org: "org", Origin: embedSite, At: embedAt} }

func ourVisit() embeds.Visit {
	return embeds.Visit{Org: "org", Origin: "https://atrium.example", Ours: true, At: embedAt}
}

func TestManagersSeeToEmbedTokens(t *testing.T) {
	ctx, ann, joe := t.Context(), embedder("ann"), embedder("joe")
	t.Run("they create one", func(t *testing.T) {
		s := newEmbedService(t)
		s.embeds.EXPECT().Add(ctx, ann, chat.ID("ctpl"), gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ chat.ID,
				change func(*chat.Template, int) (*embed.Token, error)) error {
				_, _ = change(s.template(), 3)
				_, err := change(s.template(), 4)
				return err
			})
		name, origins := "New", []string{embedSite}
		token, secretToken, err := s.Create(ctx, ann, "ctpl", embed.Changes{Name: &name, Origins: &origins})
		require.NoError(t, err)
		if token.Hash != secretToken.Hash() || token.Name != "New" {
			t.Errorf("the secret is not that of the token that was stored: %+v", token)
		}
	})
	t.Run("they change, rotate and delete it", func(t *testing.T) {
		s := newEmbedService(t)
		s.expectUpdate(ann)
		isOff := false
		token, err := s.Change(ctx, ann, "ctpl", s.token.ID, nil, embed.Changes{Enabled: &isOff})
		require.NoError(t, err)
		if token.Enabled || token.Revision != 2 {
			t.Errorf("%+v", token)
		}
		s.expectUpdate(ann)
		token, newToken, err := s.Rotate(ctx, ann, "ctpl", s.token.ID, nil, time.Minute)
		require.NoError(t, err)
		if token.Hash != newToken.Hash() || token.Previous != s.token.Hash {
			t.Error("the secret is not that of the token that was stored")
		}
		s.expectUpdate(ann)
		require.NoError(t, s.Delete(ctx, ann, "ctpl", s.token.ID, nil))
	})
	t.Run("they read them", func(t *testing.T) {
		s := newEmbedService(t)
		s.chats.EXPECT().Get(ctx, ann, chat.ID("ctpl")).Return(s.template(), nil)
		s.embeds.EXPECT().List(ctx, identity.WorkspaceID("acme"), chat.ID("ctpl"),
			page.Query{Limit: 5}).Return(embed.TokenPage{Items: []embed.Token{s.token}}, nil)
		found, err := s.List(ctx, ann, "ctpl", page.Query{Limit: 5})
		require.NoError(t, err)
		if len(found.Items) != 1 {
			t.Error(found)
		}
		s.embeds.EXPECT().Get(ctx, ann, chat.ID("ctpl"), s.token.ID).Return(s.template(), &s.token, nil)
		_, err = s.Get(ctx, ann, "ctpl", s.token.ID)
		require.NoError(t, err)
		s.embeds.EXPECT().Get(ctx, ann, chat.ID("ctpl"), s.token.ID).Return(s.template(), nil, nil)
		_, err = s.Get(ctx, ann, "ctpl", s.token.ID)
		require.ErrorIs(t, err, embed.ErrTokenNotFound)
	})
	t.Run("no one else does", func(t *testing.T) {
		s := newEmbedService(t)
		s.chats.EXPECT().Get(ctx, joe, chat.ID("ctpl")).Return(s.template(), nil) // and the tokens are not read
		_, err := s.List(ctx, joe, "ctpl", page.Query{})
		require.ErrorIs(t, err, chat.ErrForbidden)
		s.embeds.EXPECT().Get(ctx, joe, chat.ID("ctpl"), s.token.ID).Return(s.template(), &s.token, nil)
		_, err = s.Get(ctx, joe, "ctpl", s.token.ID)
		require.ErrorIs(t, err, chat.ErrForbidden)
		s.expectUpdate(joe)
		require.ErrorIs(t, s.Delete(ctx, joe, "ctpl", s.token.ID, nil), chat.ErrForbidden)
	})
	t.Run("an outage is passed on", func(t *testing.T) {
		s := newEmbedService(t)
		s.chats.EXPECT().Get(ctx, ann, chat.ID("ctpl")).Return(nil, errOutage)
		_, err := s.List(ctx, ann, "ctpl", page.Query{})
		require.ErrorIs(t, err, errOutage)
		s.embeds.EXPECT().Get(ctx, ann, chat.ID("ctpl"), s.token.ID).Return(nil, nil, errOutage)
		_, err = s.Get(ctx, ann, "ctpl", s.token.ID)
		require.ErrorIs(t, err, errOutage)
	})
}

var errOutage = errors.New("the store is away")
