package source

import (
	"encoding/hex"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Previewed returns the note of rows of a customer that by was shown from at: one for each reader, table or
// sheet, and hour. of is the source, empty if there is none yet. digest returns a keyed hash of a purpose and
// parts: the URL of a sheet can hold a secret, and the trail holds its hash instead.
func Previewed(by identity.Actor, of ID, at Location, digest event.Digest) event.Note {
	n := event.Note{
		By: by, Type: "connection.previewed", Subject: string(at.Connection),
		Data:       map[string]any{"schema": at.Table.Schema, "table": at.Table.Name},
		Workspaces: []identity.WorkspaceID{by.Workspace}, Until: event.EndOfHour(by.At),
	}
	n.Scope = []string{string(by.Workspace), string(at.Connection), at.Table.Schema, at.Table.Name}
	if at.Backend() == SheetBackend {
		sum := digest("previewed sheet", []byte(by.Workspace), []byte(at.Sheet.URL))
		sheet := hex.EncodeToString(sum[:16])
		n.Type, n.Subject = "source.previewed", string(of)
		n.Data = map[string]any{"sheet": sheet, "connection_id": event.ID(at.Connection)}
		n.Scope = []string{string(by.Workspace), sheet}
	} else if of != "" {
		n.Data["source_id"] = of
	}
	return n
}
