// Package scim lets an org's directory manage its people, by SCIM.
package scim

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ServeDirectory serves a request of the directory that manages org's people by SCIM. by is the system, and token the
// position of the request's token among the directory's, from 1. It returns why the request was refused; empty if it
// was not.
type ServeDirectory func(
	w http.ResponseWriter, r *http.Request, by identity.Actor, org *identity.Org, token int,
) (refusal string)

// scimPath is the prefix of SCIM, whose contract is RFC 7644.
const scimPath = "/scim/v2/"

// maxSCIMBody is the largest body, in bytes: a group with the most people it can have.
const maxSCIMBody = 4 << 20

// handlers serve SCIM, where an org has configured tokens of its directory.
type handlers struct {
	*server.API
	serve ServeDirectory
}

// Area returns the area of SCIM.
func Area(api *server.API, serve ServeDirectory) server.Area {
	a := &handlers{api, serve}
	directory := a.NewProtocol(scimPath, server.Protocol{
		Authenticate: authenticate, Serve: a.serveDirectory, Refuse: refuse,
	})
	return server.Area{Name: "scim", Below: []server.Route{directory}}
}

// authenticate checks a directory's token, and counts its request.
func authenticate(r *server.Call) error {
	a, obs, now := r.API, server.Observed(r.Request), r.API.Now()
	if obs.Org.SCIM == nil {
		return server.ErrNoSuchPath
	}
	token := server.Bearer(r.Header.Get("Authorization"))
	if err := a.LimitFailedAuth(r.ReplyHeader, obs, token, now); err != nil {
		return err
	}
	if obs.Org.SCIM.Token(token) == 0 {
		a.Measures.Authenticated("directory", identity.ErrUnauthenticated)
		return a.CountFailedAuth(r.ReplyHeader, obs, token, identity.ErrUnauthenticated)
	}
	a.Measures.Authenticated("directory", nil)
	a.KnownTokens.Remember(token, now)
	return r.AdmitAs("scim "+string(obs.Org.ID), now)
}

func (a *handlers) serveDirectory(w http.ResponseWriter, r *server.Call) {
	obs := server.Observed(r.Request)
	r.Body = http.MaxBytesReader(w, r.Body, maxSCIMBody)
	token := obs.Org.SCIM.Token(server.Bearer(r.Header.Get("Authorization")))
	by := identity.System(obs.Org.ID, "", obs.ID, r.API.Now())
	if refusal := a.serve(w, r.Request, by, obs.Org, token); refusal != "" {
		r.API.Measures.DirectoryRefused(refusal)
	}
}

// refuse sends a problem in the form of SCIM (RFC 7644, section 3.12), where an org has SCIM.
func refuse(w http.ResponseWriter, r *server.Call, err error) {
	obs := server.Observed(r.Request)
	if obs.Org.SCIM == nil {
		r.API.Problem(w, r.Request, err)
		return
	}
	f := server.PublicError(err)
	status := server.Statuses[f.Kind]
	r.API.SetProblemHeaders(w.Header(), r.Request, f, err)
	obs.Code = f.Code
	r.API.Measures.DirectoryRefused(f.Code)
	w.Header().Set("Content-Type", "application/scim+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:Error"},
		"status":  strconv.Itoa(status), "detail": f.Detail,
	})
}
