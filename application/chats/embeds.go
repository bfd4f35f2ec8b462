package chats

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Embeds holds the use cases of embedded chats: managers manage embed tokens, and pages of other sites
// use them.
type Embeds struct {
	embeds     ports.Embeds
	chats      ports.Chats
	passes     PassSealers
	registries Registries
	digester   ports.Digester
	uses       ports.EmbedUses
}

// PassSealers seal what pages store, each kind under its own key.
type PassSealers struct {
	Sessions ports.Sealer
	Tickets  ports.Sealer
}

// NewEmbeds returns the use cases on these stores.
func NewEmbeds(s ports.Stores, p PassSealers, r Registries, d ports.Digester) *Embeds {
	return &Embeds{embeds: s.Embeds, chats: s.Chats, uses: s.EmbedUses, passes: p, registries: r, digester: d}
}

// sealerFor returns the sealer for passes with a prefix.
func (s PassSealers) sealerFor(prefix string) ports.Sealer {
	if prefix == ticketPrefix {
		return s.Tickets
	}
	return s.Sessions
}

// List returns a template's embed tokens.
func (s *Embeds) List(ctx context.Context, by identity.Actor, of chat.ID, q page.Query) (chat.EmbedTokenPage, error) {
	t, err := s.chats.Get(ctx, by, of)
	if err != nil {
		return chat.EmbedTokenPage{}, err
	}
	if err := t.Allow(by, access.Manager); err != nil {
		return chat.EmbedTokenPage{}, err
	}
	return s.embeds.List(ctx, by.Workspace, of, q)
}

// Get returns an embed token.
func (s *Embeds) Get(
	ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID,
) (*chat.EmbedToken, error) {
	t, token, err := s.embeds.Get(ctx, by, of, id)
	if err != nil {
		return nil, err
	}
	return token, t.MayManage(by, token)
}

// Create creates an embed token. Its secret is shown only once.
func (s *Embeds) Create(ctx context.Context, by identity.Actor, of chat.ID,
	c chat.EmbedChanges) (token *chat.EmbedToken, made secret.Token, err error) {
	err = s.embeds.Add(ctx, by, of, func(t *chat.Template, have int) (*chat.EmbedToken, error) {
		token, made, err = t.NewEmbedToken(by, have, c)
		return token, err
	})
	return token, made, err
}

// VisitorSecret returns the secret with which a site's backend vouches for visitors (chat.SignVisitor). It belongs to
// the token's secret, and ends with it. Only managers who create or rotate the token may see it.
func (s *Embeds) VisitorSecret(t *chat.EmbedToken) secret.String { return s.visitorSecret(t, t.Hash) }

func (s *Embeds) visitorSecret(t *chat.EmbedToken, of secret.Hash) secret.String {
	key := s.digester.Digest("embed visitors", []byte(t.Org), []byte(t.ID), of[:])
	return secret.New(chat.VisitorSecretPrefix + base64.RawURLEncoding.EncodeToString(key[:]))
}

// Change changes an embed token's settings.
func (s *Embeds) Change(ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID, at revision.Match,
	c chat.EmbedChanges) (token *chat.EmbedToken, err error) {
	err = s.embeds.Update(ctx, by, of, id, func(t *chat.Template, found *chat.EmbedToken) error {
		token = found
		return t.ChangeEmbedToken(by, at, found, c)
	})
	return token, err
}

// Rotate gives an embed token a new secret, which is shown only once. The previous one works for grace.
func (s *Embeds) Rotate(ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID, at revision.Match,
	grace time.Duration) (token *chat.EmbedToken, made secret.Token, err error) {
	err = s.embeds.Update(ctx, by, of, id, func(t *chat.Template, found *chat.EmbedToken) error {
		token = found
		made, err = t.RotateEmbedToken(by, at, found, grace)
		return err
	})
	return token, made, err
}

// Delete ends an embed token, and its sessions.
func (s *Embeds) Delete(ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID,
	at revision.Match) error {
	return s.embeds.Update(ctx, by, of, id, func(t *chat.Template, token *chat.EmbedToken) error {
		return t.DeleteEmbedToken(by, at, token)
	})
}
