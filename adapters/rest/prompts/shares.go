package prompts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

func sharedWith(r *server.Call) identity.UserID {
	return server.GranteeID(r)
}

func listShares(r *server.Call) (server.Reply, error) {
	return server.List(r, toShare, func(q page.Query) (prompt.SharePage, error) {
		return r.Prompts.Shares(r.Context(), r.By, promptID(r), q)
	})
}

func createShare(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ShareCreate](r)
	if err != nil {
		return server.Reply{}, err
	}
	s, err := r.Prompts.Share(r.Context(), r.By, promptID(r), prompt.Grant{
		User:      identity.UserID(in.UserID),
		Email:     in.Email,
		Role:      access.Parse(string(in.Role)),
		ExpiresAt: time.Time(in.ExpiresAt),
	})
	if err != nil {
		return server.Reply{}, err
	}
	return server.Created(
		"/api/prompt-templates/"+string(promptID(r))+"/shares/"+string(s.User), toShare(&s),
	).WithRevision(s.Revision), nil
}

func getShare(r *server.Call) (server.Reply, error) {
	s, err := r.Prompts.ShareWith(r.Context(), r.By, promptID(r), sharedWith(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toShare(&s)).WithRevision(s.Revision), nil
}

func updateShare(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.SharePatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	s, err := r.Prompts.ChangeShare(r.Context(), r.By, promptID(r), sharedWith(r), r.Match, shareChanges(in))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toShare(&s)).WithRevision(s.Revision), nil
}

func deleteShare(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Prompts.Unshare(r.Context(), r.By, promptID(r), sharedWith(r), r.Match)
}

func changeShares(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ShareChanges](r)
	if err != nil {
		return server.Reply{}, err
	}
	changes, err := r.Prompts.ChangeShares(r.Context(), r.By, promptID(r), convert.Slice(in.Changes, toShareGrant))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.SharesChanged{Data: convert.Slice(changes, toShareChanged)}), nil
}

func shareChanges(in openapi.SharePatch) (c prompt.ShareChanges) {
	if in.Role != nil {
		c.Role = new(access.Parse(string(*in.Role)))
	}
	if expiry := convert.OrZero(in.ExpiresAt); expiry != nil {
		c.ExpiresAt = (*time.Time)(expiry)
	}
	return c
}
