package rest

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func sharedWith(r *request) identity.UserID {
	return granteeID(r)
}

func listShares(r *request) (reply, error) {
	return listing(r, toShare, func(q page.Query) (prompt.SharePage, error) {
		return r.Prompts.Shares(r.Context(), r.by, promptID(r), q)
	})
}

func createShare(r *request) (reply, error) {
	in, err := decode[openapi.ShareCreate](r)
	if err != nil {
		return reply{}, err
	}
	s, err := r.Prompts.Share(r.Context(), r.by, promptID(r), prompt.Grant{
		User:      identity.UserID(in.UserID),
		Email:     in.Email,
		Role:      access.Parse(string(in.Role)),
		ExpiresAt: time.Time(in.ExpiresAt),
	})
	if err != nil {
		return reply{}, err
	}
	return created(
		"/api/prompt-templates/"+string(promptID(r))+"/shares/"+string(s.User), toShare(&s),
	).withRevision(s.Revision), nil
}

func getShare(r *request) (reply, error) {
	s, err := r.Prompts.ShareWith(r.Context(), r.by, promptID(r), sharedWith(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toShare(&s)).withRevision(s.Revision), nil
}

func updateShare(r *request) (reply, error) {
	in, err := decode[openapi.SharePatch](r)
	if err != nil {
		return reply{}, err
	}
	s, err := r.Prompts.ChangeShare(r.Context(), r.by, promptID(r), sharedWith(r), r.match, shareChanges(in))
	if err != nil {
		return reply{}, err
	}
	return ok(toShare(&s)).withRevision(s.Revision), nil
}

func deleteShare(r *request) (reply, error) {
	return noContent, r.Prompts.Unshare(r.Context(), r.by, promptID(r), sharedWith(r), r.match)
}

func changeShares(r *request) (reply, error) {
	in, err := decode[openapi.ShareChanges](r)
	if err != nil {
		return reply{}, err
	}
	changed, err := r.Prompts.ChangeShares(r.Context(), r.by, promptID(r), convert.Slice(in.Changes, toShareGrant))
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.SharesChanged{Data: convert.Slice(changed, toShareChanged)}), nil
}

func shareChanges(in openapi.SharePatch) (c prompt.ShareChanges) {
	if in.Role != nil {
		c.Role = new(access.Parse(string(*in.Role)))
	}
	if until := convert.OrZero(in.ExpiresAt); until != nil {
		c.ExpiresAt = (*time.Time)(until)
	}
	return c
}
