package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
)

func (a *API) peopleOperations() []operation {
	return []operation{
		{http.MethodPost, "/api/people/{user_id}/disable", command(a.disablePerson)},
		{http.MethodPost, "/api/people/{user_id}/enable", command(a.enablePerson)},
	}
}

func (a *API) disablePerson(r *request) (reply, error) {
	in, err := decode[openapi.PersonDisable](r)
	if err != nil {
		return reply{}, err
	}
	keep := account.KeepServiceKeys(in.KeepServiceKeys)
	return noContent, r.Accounts.DisablePerson(r.Context(), r.by, memberID(r), in.Reason, keep)
}

func (a *API) enablePerson(r *request) (reply, error) {
	in, err := decode[openapi.PersonEnable](r)
	if err != nil {
		return reply{}, err
	}
	return noContent, r.Accounts.EnablePerson(r.Context(), r.by, memberID(r), in.Reason)
}
