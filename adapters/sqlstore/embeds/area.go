package embeds

import (
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/ports"
)

// Area returns what chats on pages of other sites add to what concerns all areas.
func Area(templates Templates) db.Area {
	return db.Area{
		Name: "embeds",
		AddStores: func(s *ports.Stores, d *db.DB) {
			store := &Store{d, templates}
			s.EmbedStores = ports.EmbedStores{Embeds: &Embeds{store}, EmbedUses: &Uses{store}, Replies: &Replies{store}}
		},
		Tables: []db.Table{
			{Name: "chat_embed_tokens", Key: "id", Of: "chat_templates", Owner: "template_id"},
			{Name: "chat_embed_origins", Key: "org_id, pattern, token_id", Of: "chat_embed_tokens", Owner: "token_id"},
			{Name: "chat_embed_days", Key: "token_id, day, origin", Of: "chat_embed_tokens", Owner: "token_id"},
			{Name: "chat_embed_failures", Key: "token_id, day, code", Of: "chat_embed_tokens", Owner: "token_id"},
		},
	}
}
