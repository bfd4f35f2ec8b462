package rest

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

func (a *API) exportPerson(r *request) (reply, error) {
	id := memberID(r)
	if _, err := r.Accounts.Person(r.Context(), r.by, id); err != nil { // before the response begins
		return reply{}, err
	}
	return r.exports(id, func(emit func(account.ExportSection) error) error {
		return r.Accounts.ExportPerson(r.Context(), r.by, id, emit)
	}), nil
}

func (a *API) exportMe(r *request) (reply, error) {
	if err := account.MayExportSelf(r.by); err != nil {
		return reply{}, err
	}
	return r.exports(r.by.User, func(emit func(account.ExportSection) error) error {
		return r.Accounts.ExportMe(r.Context(), r.by, emit)
	}), nil
}

// exports responds with the sections that load emits, each written before the next is read.
func (r *request) exports(id identity.UserID, load func(func(account.ExportSection) error) error) reply {
	r.stream = func(w io.Writer) error {
		head, err := json.Marshal(map[string]any{"user_id": id, "exported_at": openapi.Time(r.by.At)})
		if err != nil {
			return err
		}
		separator := string(head[:len(head)-1]) + `,"sections":[`
		if err := load(func(s account.ExportSection) error {
			rows := s.Rows
			if rows == nil {
				rows = []map[string]any{}
			}
			section, err := json.Marshal(map[string]any{"name": s.Name, "truncated": s.Truncated, "rows": rows})
			if err != nil {
				return err
			}
			_, err = io.WriteString(w, separator+string(section))
			separator = ","
			return err
		}); err != nil {
			return err
		}
		_, err = io.WriteString(w, "]}\n")
		return err
	}
	r.answer.Set("Content-Type", "application/json")
	r.answer.Set("Content-Disposition", `attachment; filename="person.json"`)
	return reply{status: http.StatusOK}
}

// download writes the body that an operation streams. Since the response has begun, an error closes the connection, so
// that the client notices.
func (a *API) download(w http.ResponseWriter, r *request) {
	if err := r.stream(w); err != nil {
		a.Log.ErrorContext(r.Context(), "a download was not completed", "request_id", observation(r.Request).id,
			"route", r.op.Path, "error", err)
		panic(http.ErrAbortHandler)
	}
}
