package accounts

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/page"
)

func listDirectoryRequests(r *server.Call) (server.Reply, error) {
	outcome := account.DirectoryOutcome(r.Query.Get("outcome"))
	return server.List(r, toDirectoryRequest, func(q page.Query) (account.DirectoryRequestPage, error) {
		return r.Directory.Requests(r.Context(), r.By, outcome, q)
	})
}

func toDirectoryRequest(d *account.DirectoryRequest) openapi.DirectoryRequest {
	return openapi.DirectoryRequest{
		ID:         d.ID,
		RequestID:  d.Request,
		Token:      d.Token,
		Method:     d.Method,
		Resource:   openapi.DirectoryRequestResource(d.Resource),
		ResourceID: openapi.OrNull(d.Subject),
		Attributes: d.Attributes,
		Outcome:    openapi.DirectoryOutcome(d.Outcome),
		Status:     d.Status,
		Code:       openapi.OrNull(d.Code),
		Detail:     openapi.OrNull(d.Detail),
		CreatedAt:  openapi.Time(d.CreatedAt),
	}
}
