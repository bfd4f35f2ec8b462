package chats

import (
	"context"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ConnectionUses returns the templates that reply through a connection, or through any if id is empty, of those that by
// may read: at most 1,000, in the order of ports.ChatLists.ConnectionUses.
func (s *Service) ConnectionUses(
	ctx context.Context, by identity.Actor, id connection.ID,
) ([]chat.ConnectionUse, error) {
	if !by.Scopes.Allow("chats:read") {
		return nil, nil
	}
	return s.lists.ConnectionUses(ctx, by, id)
}
