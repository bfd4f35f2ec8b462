package convert

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/chat"
)

// ToTranslation reads a translation.
func ToTranslation(in *openapi.ChatTranslation) chat.Translation {
	return chat.Translation{Language: in.Language, Greeting: in.Greeting, Starters: in.ConversationStarters}
}

// FromTranslation returns a translation as the contract has it.
func FromTranslation(t *chat.Translation) openapi.ChatTranslation {
	return openapi.ChatTranslation{Language: t.Language, Greeting: t.Greeting, ConversationStarters: t.Starters}
}
