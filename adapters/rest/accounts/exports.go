package accounts

import (
	"context"
	"encoding/json"
	"io"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

var exportPerson = server.Downloading(server.Always(server.JSONType), func(s *server.Stream) (server.Writing, error) {
	id := server.MemberID(s.Call)
	if _, err := s.Accounts.Person(s.Context(), s.By, id); err != nil { // before the response begins
		return nil, err
	}
	return writeSections(s, id, func(ctx context.Context, emit func(account.ExportSection) error) error {
		return s.Accounts.ExportPerson(ctx, s.By, id, emit)
	}), nil
})

var exportMe = server.Downloading(server.Always(server.JSONType), func(s *server.Stream) (server.Writing, error) {
	if err := account.MayExportSelf(s.By); err != nil {
		return nil, err
	}
	return writeSections(s, s.By.User, func(ctx context.Context, emit func(account.ExportSection) error) error {
		return s.Accounts.ExportMe(ctx, s.By, emit)
	}), nil
})

// writeSections writes the sections that load emits, each before the next is read.
func writeSections(
	s *server.Stream, id identity.UserID, load func(context.Context, func(account.ExportSection) error) error,
) func(context.Context, io.Writer) error {
	s.ReplyHeader.Set("Content-Type", server.JSONType)
	s.ReplyHeader.Set("Content-Disposition", `attachment; filename="person.json"`)
	return func(ctx context.Context, w io.Writer) error {
		head, err := json.Marshal(map[string]any{"user_id": id, "exported_at": openapi.Time(s.By.At)})
		if err != nil {
			return err
		}
		separator := string(head[:len(head)-1]) + `,"sections":[`
		if err := load(ctx, func(section account.ExportSection) error {
			rows := section.Rows
			if rows == nil {
				rows = []map[string]any{}
			}
			text, err := json.Marshal(map[string]any{
				"name": section.Name, "truncated": section.Truncated, "rows": rows,
			})
			if err != nil {
				return err
			}
			_, err = io.WriteString(w, separator+string(text))
			separator = ","
			return err
		}); err != nil {
			return err
		}
		_, err = io.WriteString(w, "]}\n")
		return err
	}
}
