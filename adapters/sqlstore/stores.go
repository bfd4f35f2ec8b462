package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/ports"
)

// Stores returns every store on db.
func (store *DB) Stores() ports.Stores {
	s := ports.Stores{
		Atomic: store,
		Chats:  &Chats{store}, ChatLists: &ChatLists{store},
		ChatVersions: &ChatVersions{store},
		Embeds:       &Embeds{store}, Replies: &EmbedReplies{store}, EmbedUses: &EmbedUses{store},
		Users: &Users{store}, People: &People{store}, Erasures: &Erasures{store},
		Workspaces: &Workspaces{store}, Invitations: &Invitations{store},
		Keys: &Keys{store}, KeyRequests: &KeyRequests{store}, Events: &Events{store}, Webhooks: &Webhooks{store},
		Connections: &Connections{store}, Sources: &Sources{store},
		SourceValidations: &SourceValidations{store}, SourceChanges: &SourceChanges{store}, Jobs: &Jobs{store},
		Tickets: &Tickets{store}, Sessions: &Sessions{store},
		Passkeys: &Passkeys{store}, DirectoryUsers: &DirectoryUsers{store}, DirectoryGroups: &DirectoryGroups{store},
		Groups:           &Groups{store},
		ProviderSessions: &ProviderSessions{store}, Captures: &Captures{store},
		ConsentStates: &ConsentStates{store},
	}
	addPromptStores(&s, store)
	addPaymentStores(&s, store)
	addPresenceStores(&s, store)
	return s
}

// Atomically implements ports.Atomic.
func (store *DB) Atomically(ctx context.Context, fn func(ports.Stores) error) error {
	return store.inTx(ctx, func(tx *DB) error { return fn(tx.Stores()) })
}
