// Package chats serves chat templates and their versions.
package chats

import (
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// Area returns the area of chat templates.
func Area() server.Area {
	return server.Area{
		Name:       "chats",
		Operations: slices.Concat(chatExportOperations(), chatOperations(), chatVersionOperations()),
	}
}
