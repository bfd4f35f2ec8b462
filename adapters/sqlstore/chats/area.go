package chats

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area is what chat templates add to what concerns all areas.
var Area = db.Area{AddStores: addStores}

func addStores(s *ports.Stores, d *db.DB) {
	store := NewStore(d)
	s.ChatStores = ports.ChatStores{Chats: &Chats{store}, ChatLists: &Lists{store}, ChatVersions: &Versions{store}}
}
