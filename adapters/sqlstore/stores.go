package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/ports"
)

// Stores returns every store on db.
func (db *DB) Stores() ports.Stores {
	return ports.Stores{
		Atomic: db, Prompts: &Prompts{db}, PromptLists: &PromptLists{db}, PromptReads: &PromptReads{db},
		PromptFolders: &PromptFolders{db},
		Chats:         &Chats{db}, ChatLists: &ChatLists{db},
		ChatVersions: &ChatVersions{db},
		Embeds:       &Embeds{db}, Replies: &EmbedReplies{db}, EmbedUses: &EmbedUses{db},
		Users: &Users{db}, People: &People{db}, Erasures: &Erasures{db},
		Workspaces: &Workspaces{db}, Invitations: &Invitations{db},
		Keys: &Keys{db}, KeyRequests: &KeyRequests{db}, Events: &Events{db}, Webhooks: &Webhooks{db},
		Connections: &Connections{db}, Sources: &Sources{db},
		SourceValidations: &SourceValidations{db}, SourceChanges: &SourceChanges{db}, Jobs: &Jobs{db},
		Payments: &Payments{db},
		Inbox:    &Inbox{db}, Presences: &Presences{db}, Tickets: &Tickets{db}, Sessions: &Sessions{db},
		Passkeys: &Passkeys{db}, DirectoryUsers: &DirectoryUsers{db}, DirectoryGroups: &DirectoryGroups{db},
		Usage: &Usage{db}, Meters: &Meters{db}, Trials: &Trials{db},
		StreamSeats: &StreamSeats{db}, Groups: &Groups{db},
		ProviderSessions: &ProviderSessions{db}, Captures: &Captures{db},
		ConsentStates: &ConsentStates{db},
	}
}

// Atomically implements ports.Atomic.
func (db *DB) Atomically(ctx context.Context, fn func(ports.Stores) error) error {
	return db.inTx(ctx, func(tx *DB) error { return fn(tx.Stores()) })
}
