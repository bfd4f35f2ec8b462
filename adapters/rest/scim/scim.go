// Package scim lets an org's directory manage its people, by SCIM.
package scim

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ServeDirectory serves a request of the directory that manages org's people by SCIM. by is the system.
type ServeDirectory func(w http.ResponseWriter, r *http.Request, by identity.Actor, org *identity.Org)

// scimPath is the prefix of SCIM, whose contract is RFC 7644.
const scimPath = "/scim/v2/"

// maxSCIMBody is the largest body, in bytes: a group with the most people it can have.
const maxSCIMBody = 2 << 20

// handlers are those of SCIM, where an org has configured tokens of its directory.
type handlers struct {
	*server.API
	serve ServeDirectory
}

// Area returns the area of SCIM.
func Area(api *server.API, serve ServeDirectory) server.Area {
	a := &handlers{api, serve}
	return server.Area{
		Name: "scim", Below: []server.Route{
			server.NewRoute("", scimPath, server.WithRoute(scimPath, a.handleDirectory)),
		},
	}
}

func (a *handlers) handleDirectory(w http.ResponseWriter, r *http.Request) {
	obs := server.Observed(r)
	if obs.Org.SCIM == nil {
		a.Problem(w, r, server.ErrNoSuchPath)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.Config.RequestTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	if err := a.admitDirectory(w.Header(), r, obs); err != nil {
		a.refuseDirectory(w, r, err)
		return
	}
	leave, err := a.EnterAs(ctx, directoryOf(obs.Org))
	if err != nil {
		a.refuseDirectory(w, r, err)
		return
	}
	defer leave()
	r.Body = http.MaxBytesReader(w, r.Body, maxSCIMBody)
	a.serve(w, r, identity.System(obs.Org.ID, "", obs.ID, a.Now()), obs.Org)
}

// directoryOf names the directory of an org among the callers.
func directoryOf(org *identity.Org) string { return "scim " + string(org.ID) }

// admitDirectory checks the token of a directory, and counts its request.
func (a *handlers) admitDirectory(h http.Header, r *http.Request, obs *server.Observation) error {
	now, token := a.Now(), server.Bearer(r.Header.Get("Authorization"))
	if err := a.LimitFailedAuth(h, obs, token, now); err != nil {
		return err
	}
	if !obs.Org.SCIM.Accepts(token) {
		a.Measures.Authenticated("directory", identity.ErrUnauthenticated)
		return a.CountFailedAuth(h, obs, token, identity.ErrUnauthenticated)
	}
	a.Measures.Authenticated("directory", nil)
	a.KnownTokens.Remember(token, now)
	return a.AdmitAs(h, directoryOf(obs.Org), now)
}

// refuseDirectory sends a problem in the form of SCIM (RFC 7644, section 3.12).
func (a *handlers) refuseDirectory(w http.ResponseWriter, r *http.Request, err error) {
	f := server.PublicError(err)
	status := server.Statuses[f.Kind]
	a.SetProblemHeaders(w.Header(), r, f, err)
	server.Observed(r).Code = f.Code
	w.Header().Set("Content-Type", "application/scim+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:Error"},
		"status":  strconv.Itoa(status), "detail": f.Detail,
	})
}
