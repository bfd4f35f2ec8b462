package accounts

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/page"
)

func peopleOperations() []server.Operation {
	return []server.Operation{
		server.Get("/api/people", server.Query(listPeople)),
		server.Get("/api/people/{user_id}", server.Query(getPerson)),
		server.Post("/api/people/{user_id}/disable", server.Command(disablePerson)),
		server.Post("/api/people/{user_id}/enable", server.Command(enablePerson)),
		server.Get("/api/people/{user_id}/export", exportPerson),
		server.Get("/api/me/export", exportMe),
		server.Post("/api/people/{user_id}/erase", server.Command(erasePerson)),
		server.Get("/api/people/{user_id}/erasure", server.Query(getErasure)),
		server.Put("/api/people/{user_id}/operator", server.Command(setOperator)),
		server.Get("/api/people/{user_id}/access", server.Query(getPersonAccess)),
		server.Get("/api/me/access", server.Query(getMyAccess)),
		server.Get("/api/directory/requests", server.Query(listDirectoryRequests)),
	}
}

func listPeople(r *server.Call) (server.Reply, error) {
	status := account.PersonStatus(r.Query.Get("status"))
	return server.List(r, toPerson, func(q page.Query) (account.PersonPage, error) {
		return r.Accounts.SearchPeople(r.Context(), r.By, r.Query.Get("q"), status, q)
	})
}

func getPerson(r *server.Call) (server.Reply, error) {
	p, err := r.Accounts.Person(r.Context(), r.By, server.MemberID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toPerson(p)).WithRevision(p.User.Revision), nil
}

func toPerson(p *account.PersonSummary) openapi.Person {
	return openapi.Person{
		ID:             string(p.User.ID),
		Email:          openapi.OrNull(p.User.Email),
		EmailVerified:  p.User.Confirmed(),
		Name:           p.User.Name,
		Operator:       p.User.Operator,
		Status:         openapi.PersonStatus(p.User.Status()),
		WorkspaceCount: p.Workspaces,
		SessionCount:   p.Sessions,
		APIKeyCount:    p.Keys,
		LastSeenAt:     convert.OrNullTime(p.LastSeenAt),
		DisabledAt:     convert.OrNullTime(p.User.DisabledAt),
		Revision:       p.User.Revision,
		CreatedAt:      openapi.Time(p.User.CreatedAt),
		UpdatedAt:      openapi.Time(p.User.UpdatedAt),
	}
}

func disablePerson(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PersonDisable](r)
	if err != nil {
		return server.Reply{}, err
	}
	keep := account.KeepServiceKeys(in.KeepServiceKeys)
	return lostReply(r.Accounts.DisablePerson(r.Context(), r.By, server.MemberID(r), in.Reason, keep))
}

func enablePerson(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.PersonEnable](r)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NoContent, r.Accounts.EnablePerson(r.Context(), r.By, server.MemberID(r), in.Reason)
}

func setOperator(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.OperatorRights](r)
	if err != nil {
		return server.Reply{}, err
	}
	return server.NoContent, r.Accounts.SetOperator(r.Context(), r.By, server.MemberID(r), in.Operator)
}

func erasePerson(r *server.Call) (server.Reply, error) {
	e, err := r.Accounts.ErasePerson(r.Context(), r.By, server.MemberID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.Reply{Status: http.StatusAccepted, Body: toErasure(e)}, nil
}

func getErasure(r *server.Call) (server.Reply, error) {
	e, err := r.Accounts.Erasure(r.Context(), r.By, server.MemberID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toErasure(e)), nil
}

func toErasure(e *account.Erasure) openapi.Erasure {
	status := openapi.ErasureStatusRunning
	if !e.EndedAt.IsZero() {
		status = openapi.ErasureStatusDone
	}
	return openapi.Erasure{
		ID:          string(e.ID),
		UserID:      string(e.User),
		Status:      status,
		RequestedBy: openapi.OrNull(string(e.RequestedBy)),
		Report: openapi.ErasureReport{
			Memberships: e.Report.Memberships,
			APIKeys:     e.Report.Keys,
			Sessions:    e.Report.Sessions,
			SignIns:     e.Report.SignIns,
			Shares:      e.Report.Shares,
			Invitations: e.Report.Invitations,
			Others:      e.Report.Others,
			Responses:   e.Report.Responses,
			Events:      e.Report.Events,
		},
		CreatedAt: openapi.Time(e.CreatedAt),
		EndedAt:   convert.OrNullTime(e.EndedAt),
	}
}
