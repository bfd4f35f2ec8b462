package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/secret"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Embeds keeps the embed tokens of chat templates. Methods that name a template load it as
// Chats.Get does, and answer chat.ErrNotFound as that does.
type Embeds interface {
	// List lists a template's tokens, newest first; of a template that the workspace never had, none.
	List(ctx context.Context, ws identity.WorkspaceID, of chat.ID, q page.Query) (chat.EmbedTokenPage, error)

	// Get answers a template with one of its tokens, nil if it has none with that id.
	Get(ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID) (*chat.Template, *chat.EmbedToken, error)

	// Add stores the token that change makes of a template, which is locked and has have tokens: so
	// many calls at once cannot exceed what change allows.
	Add(ctx context.Context, by identity.Actor, of chat.ID, change func(t *chat.Template, have int) (*chat.EmbedToken, error)) error

	// Update loads a template and a token as Get does, locks the template, calls change and saves
	// what the token recorded, all in one transaction, as Prompts.Update does. With a token that change
	// deleted, or gave another secret, go the answers that showed the one before.
	Update(ctx context.Context, by identity.Actor, of chat.ID, id chat.EmbedTokenID, change func(*chat.Template, *chat.EmbedToken) error) error

	// BySecret answers what visitors meet by a secret of org's, the present one of a token or the one
	// before; whether it still opens anything is the caller's to ask. chat.ErrEmbedTokenInvalid if
	// there is none, or its template or workspace was deleted. It is never older than the call.
	BySecret(ctx context.Context, org identity.OrgID, h secret.Hash) (*chat.Embedding, error)

	// ByID is BySecret by the token's id.
	ByID(ctx context.Context, org identity.OrgID, id chat.EmbedTokenID) (*chat.Embedding, error)

	// Expected reports whether an active token of org lets an origin in, of a template that was not
	// deleted.
	Expected(ctx context.Context, org identity.OrgID, origin chat.Origin, now time.Time) (bool, error)

	// Used notes when a token opened a session, and for which origin, if it did not within the last
	// minute. It counts as no change of the token.
	Used(ctx context.Context, org identity.OrgID, id chat.EmbedTokenID, origin chat.Origin, at time.Time) error
}
