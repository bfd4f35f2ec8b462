package embeds

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns what chats on pages of other sites add to what concerns all areas.
func Area(templates Templates) db.Area {
	return db.Area{AddStores: func(s *ports.Stores, d *db.DB) {
		store := &Store{d, templates}
		s.EmbedStores = ports.EmbedStores{Embeds: &Embeds{store}, EmbedUses: &Uses{store}, Replies: &Replies{store}}
	}}
}
