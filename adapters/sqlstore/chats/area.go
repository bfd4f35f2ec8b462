package chats

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what chat templates add to what concerns all areas.
var Area = db.Area{AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.ChatStores = ports.ChatStores{Chats: &Chats{store}, ChatLists: &Lists{store}, ChatVersions: &Versions{store}}
}

// ReadTemplate returns a chat template as a caller sees it, with its published version.
func ReadTemplate(ctx context.Context, d *db.DB, by identity.Actor, id chat.ID) (*chat.Template, error) {
	return NewStore(d).template(ctx, by, id)
}

// LockedTemplate returns what ReadTemplate does, and locks the template until the transaction ends.
func LockedTemplate(ctx context.Context, d *db.DB, by identity.Actor, id chat.ID) (*chat.Template, error) {
	return NewStore(d).lockedTemplate(ctx, by, id)
}
