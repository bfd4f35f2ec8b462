// Package embeds holds the use cases of chats on pages of other sites: managers manage embed tokens, and visitors use
// them.
package embeds

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Registries returns an org's current registry. A reload of the configuration creates a new one.
type Registries func(identity.OrgID) *chat.Registry

// Service holds the use cases of embed tokens and their sessions, one method each.
type Service struct {
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

// NewService returns the use cases on these stores.
func NewService(
	s ports.EmbedStores, chats ports.Chats, p PassSealers, r Registries, d ports.Digester,
) *Service {
	return &Service{embeds: s.Embeds, chats: chats, uses: s.EmbedUses, passes: p, registries: r, digester: d}
}

// sealerFor returns the sealer for passes with a prefix.
func (s PassSealers) sealerFor(prefix string) ports.Sealer {
	if prefix == ticketPrefix {
		return s.Tickets
	}
	return s.Sessions
}

// List returns a template's embed tokens.
func (s *Service) List(ctx context.Context, by identity.Actor, template chat.ID, q page.Query) (embed.TokenPage,
	error) {
	t, err := s.chats.Get(ctx, by, template)
	if err != nil {
		return embed.TokenPage{}, err
	}
	if err := t.Allow(by, access.Manager); err != nil {
		return embed.TokenPage{}, err
	}
	return s.embeds.List(ctx, by.Workspace, template, q)
}

// Get returns an embed token.
func (s *Service) Get(
	ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
) (*embed.Token, error) {
	t, token, err := s.embeds.Get(ctx, by, template, id)
	if err != nil {
		return nil, err
	}
	return token, embed.MayManage(t, by, token)
}

// issued is a token with its new secret.
type issued struct {
	token  *embed.Token
	secret secret.Token
}

// Create creates an embed token. Its secret is shown only once.
func (s *Service) Create(
	ctx context.Context, by identity.Actor, template chat.ID, c embed.Changes,
) (*embed.Token, secret.Token, error) {
	var out issued
	err := s.embeds.Add(ctx, by, template, func(t *chat.Template, count int) (*embed.Token, error) {
		token, text, err := embed.NewToken(t, by, count, c)
		out = issued{token, text}
		return token, err
	})
	return out.token, out.secret, err
}

// VisitorSecret returns the secret with which a site's backend vouches for visitors (embed.SignVisitor). It belongs to
// the token's secret, and ends with it. Only managers who create or rotate the token may see it.
func (s *Service) VisitorSecret(t *embed.Token) secret.String { return s.visitorSecret(t, t.Hash) }

func (s *Service) visitorSecret(t *embed.Token, hash secret.Hash) secret.String {
	key := s.digester.Digest("embed visitors", []byte(t.Org), []byte(t.ID), hash[:])
	return secret.New(embed.VisitorSecretPrefix + base64.RawURLEncoding.EncodeToString(key[:]))
}

// Change changes an embed token's settings.
func (s *Service) Change(ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
	match revision.Match,
	c embed.Changes) (token *embed.Token, err error) {
	err = s.embeds.Update(ctx, by, template, id, func(t *chat.Template, found *embed.Token) error {
		token = found
		return embed.Change(t, by, match, found, c)
	})
	return token, err
}

// Rotate gives an embed token a new secret, which is shown only once. The previous one works for grace.
func (s *Service) Rotate(
	ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID, match revision.Match,
	grace time.Duration,
) (*embed.Token, secret.Token, error) {
	var out issued
	err := s.embeds.Update(ctx, by, template, id, func(t *chat.Template, token *embed.Token) error {
		text, err := embed.Rotate(t, by, match, token, grace)
		out = issued{token, text}
		return err
	})
	return out.token, out.secret, err
}

// Delete ends an embed token, and its sessions.
func (s *Service) Delete(ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
	match revision.Match) error {
	return s.embeds.Update(ctx, by, template, id, func(t *chat.Template, token *embed.Token) error {
		return embed.Delete(t, by, match, token)
	})
}
