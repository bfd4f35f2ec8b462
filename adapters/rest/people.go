package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/page"
)

func peopleOperations() []operation {
	return []operation{
		getOf("/api/people", query(listPeople)),
		getOf("/api/people/{user_id}", query(getPerson)),
		postOf("/api/people/{user_id}/disable", command(disablePerson)),
		postOf("/api/people/{user_id}/enable", command(enablePerson)),
		getOf("/api/people/{user_id}/export", exportPerson),
		getOf("/api/me/export", exportMe),
		postOf("/api/people/{user_id}/erase", command(erasePerson)),
		getOf("/api/people/{user_id}/erasure", query(getErasure)),
		putOf("/api/people/{user_id}/operator", command(setOperator)),
	}
}

func listPeople(r *request) (reply, error) {
	status := account.PersonStatus(r.query.Get("status"))
	return listing(r, toPerson, func(q page.Query) (account.PersonPage, error) {
		return r.Accounts.SearchPeople(r.Context(), r.by, r.query.Get("q"), status, q)
	})
}

func getPerson(r *request) (reply, error) {
	p, err := r.Accounts.Person(r.Context(), r.by, memberID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toPerson(p)).withRevision(p.User.Revision), nil
}

func toPerson(p *account.PersonSummary) openapi.Person {
	return openapi.Person{
		ID:             string(p.User.ID),
		Email:          openapi.OrNull(p.User.Email),
		EmailVerified:  p.User.EmailVerified,
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

func disablePerson(r *request) (reply, error) {
	in, err := decode[openapi.PersonDisable](r)
	if err != nil {
		return reply{}, err
	}
	keep := account.KeepServiceKeys(in.KeepServiceKeys)
	return lostReply(r.Accounts.DisablePerson(r.Context(), r.by, memberID(r), in.Reason, keep))
}

func enablePerson(r *request) (reply, error) {
	in, err := decode[openapi.PersonEnable](r)
	if err != nil {
		return reply{}, err
	}
	return noContent, r.Accounts.EnablePerson(r.Context(), r.by, memberID(r), in.Reason)
}

func setOperator(r *request) (reply, error) {
	in, err := decode[openapi.OperatorRights](r)
	if err != nil {
		return reply{}, err
	}
	return noContent, r.Accounts.SetOperator(r.Context(), r.by, memberID(r), in.Operator)
}

func erasePerson(r *request) (reply, error) {
	e, err := r.Accounts.ErasePerson(r.Context(), r.by, memberID(r))
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusAccepted, body: toErasure(e)}, nil
}

func getErasure(r *request) (reply, error) {
	e, err := r.Accounts.Erasure(r.Context(), r.by, memberID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toErasure(e)), nil
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
