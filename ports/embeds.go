package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/secret"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Embeds stores the embed tokens of chat templates. Methods that name a template load it as Chats.Get
// does, and return chat.ErrNotFound as it does.
type Embeds interface {
	// List lists a template's tokens, newest first. The list is empty if the workspace never had the
	// template.
	List(ctx context.Context, ws identity.WorkspaceID, template chat.ID, q page.Query) (embed.TokenPage, error)

	// Get returns a template with one of its tokens, nil if not found.
	Get(
		ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
	) (*chat.Template, *embed.Token, error)

	// Add stores the token that change returns for a template. count is the number of the template's tokens. The
	// template is locked, so that concurrent calls cannot exceed the limit that change enforces.
	Add(ctx context.Context, by identity.Actor, template chat.ID, change func(t *chat.Template,
		count int) (*embed.Token,
		error)) error

	// Update loads a template and a token as Get does, locks the template, calls change and saves what
	// the token recorded, all in one transaction, as Prompts.Update does. If change deleted the token
	// or replaced its secret, stored responses that showed the earlier secret are deleted.
	Update(ctx context.Context, by identity.Actor, template chat.ID, id embed.TokenID,
		change func(*chat.Template, *embed.Token) error) error

	// BySecret returns the token of org with a secret, its current or its previous one, and what the token shows. The
	// caller must check whether the secret still works. embed.ErrTokenInvalid if there is no such token, or if its
	// template or workspace was deleted. The result is never older than the call.
	BySecret(ctx context.Context, org identity.OrgID, h secret.Hash) (*embed.Embedding, error)

	// ByIDs returns the tokens of org with these ids, and what they show, in one statement. Those that BySecret would
	// not find are missing.
	ByIDs(
		ctx context.Context, org identity.OrgID, ids []embed.TokenID,
	) (map[embed.TokenID]*embed.Embedding, error)

	// Expected reports whether any token of org lists an origin, for a template that is not deleted. The token may be
	// disabled or expired: its sites can still read why the chat is not available.
	Expected(ctx context.Context, org identity.OrgID, origin embed.Origin) (bool, error)

	// Used records when a token opened a session, and for which origin, at most once a minute, and for a signed visitor
	// at most once an hour if that is more often. It does not change the token's revision.
	Used(
		ctx context.Context, org identity.OrgID, id embed.TokenID, origin embed.Origin, isSigned bool, now time.Time,
	) error
}

// EmbedReplies counts the answered messages of embed tokens.
type EmbedReplies interface {
	// Count counts up to n answered messages for a token of org for an origin and a day, but no more than limit on that
	// day over all origins and concurrent calls. It returns how many it counted; 0 if org has no such token. It deletes
	// counts that are more than 90 days older.
	Count(
		ctx context.Context, org identity.OrgID, id embed.TokenID, origin embed.Origin, day embed.Day, n, limit int,
	) (int, error)

	// Return subtracts n messages that Count counted for a day and an origin, and that were not answered.
	Return(
		ctx context.Context, org identity.OrgID, id embed.TokenID, origin embed.Origin, day embed.Day, n int,
	) error
}

// EmbedUses stores how often embed tokens are used.
type EmbedUses interface {
	// Add adds uses for a token of org; their messages are left out, because EmbedReplies counts them. A day counts at
	// most embed.MaxUsageOrigins origins for a token, and all others as embed.OtherOrigins. Uses for a token that org
	// does not have are dropped.
	Add(ctx context.Context, org identity.OrgID, id embed.TokenID, uses []embed.Use) error

	// List returns a token's uses from one day to another, both included, latest day first and then by origin.
	List(ctx context.Context, org identity.OrgID, id embed.TokenID, from, to embed.Day) ([]embed.Use, error)

	// AddFailures adds a token's failed replies, and deletes failures from days that are no longer counted. Failures
	// whose token org does not have are dropped.
	AddFailures(ctx context.Context, org identity.OrgID, id embed.TokenID, failures []embed.Failure) error

	// Failures returns a token's failed replies from one day to another, both included, latest day first and then by
	// code.
	Failures(ctx context.Context, org identity.OrgID, id embed.TokenID, from, to embed.Day) ([]embed.Failure, error)
}
