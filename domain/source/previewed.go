package source

import (
	"encoding/hex"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Previewed returns the note of rows of a customer that by was shown from a location: one for each reader, table or
// sheet, and hour. id is the source, empty before it exists. digest returns a keyed hash of a purpose and
// parts: the URL of a sheet can hold a secret, and the trail holds its hash instead.
func Previewed(by identity.Actor, id ID, location Location, digest event.Digest) event.Note {
	n := event.Note{
		By: by, Type: "connection.previewed", Subject: string(location.Connection),
		Data:       map[string]any{"schema": location.Table.Schema, "table": location.Table.Name},
		Workspaces: []identity.WorkspaceID{by.Workspace}, Until: event.EndOfHour(by.At),
	}
	n.Scope = []string{string(by.Workspace), string(location.Connection), location.Table.Schema, location.Table.Name}
	if location.Backend() == SheetBackend {
		sum := digest("previewed sheet", []byte(by.Workspace), []byte(location.Sheet.URL))
		sheet := hex.EncodeToString(sum[:16])
		n.Type, n.Subject = "source.previewed", string(id)
		n.Data = map[string]any{"sheet": sheet, "connection_id": event.ID(location.Connection)}
		n.Scope = []string{string(by.Workspace), sheet}
	} else if id != "" {
		n.Data["source_id"] = id
	}
	return n
}
