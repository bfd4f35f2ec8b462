package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/atrium-hq/atrium/domain/identity"
)

// ServeDirectory serves a request of the directory that manages org's people by SCIM. by is the system.
type ServeDirectory func(w http.ResponseWriter, r *http.Request, by identity.Actor, org *identity.Org)

// scimPath is the prefix of SCIM, whose contract is RFC 7644.
const scimPath = "/scim/v2/"

// maxSCIMBody is the largest body, in bytes: a group with the most people it can have.
const maxSCIMBody = 2 << 20

// scimArea is SCIM, where an org has configured tokens of its directory.
type scimArea struct {
	*API
	serve ServeDirectory
}

func newSCIM(api *API) *scimArea { return &scimArea{API: api} }

func (a *scimArea) area() area {
	return area{name: "scim", below: []route{newRoute("", scimPath, withRoute(scimPath, a.handleDirectory))}}
}

func (a *scimArea) handleDirectory(w http.ResponseWriter, r *http.Request) {
	obs := observation(r)
	if obs.org.SCIM == nil {
		a.problem(w, r, errNoSuchPath)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	if err := a.admitDirectory(w.Header(), r, obs); err != nil {
		a.refuseDirectory(w, r, err)
		return
	}
	leave, err := a.enterAs(ctx, directoryOf(obs.org))
	if err != nil {
		a.refuseDirectory(w, r, err)
		return
	}
	defer leave()
	r.Body = http.MaxBytesReader(w, r.Body, maxSCIMBody)
	a.serve(w, r, identity.System(obs.org.ID, "", obs.id, a.now()), obs.org)
}

// directoryOf names the directory of an org among the callers.
func directoryOf(org *identity.Org) string { return "scim " + string(org.ID) }

// admitDirectory checks the token of a directory, and counts its request.
func (a *scimArea) admitDirectory(h http.Header, r *http.Request, obs *observed) error {
	at, token := a.now(), bearer(r.Header.Get("Authorization"))
	if err := a.limitFailedAuth(h, obs, token, at); err != nil {
		return err
	}
	if !obs.org.SCIM.Accepts(token) {
		a.measures.authenticated("directory", identity.ErrUnauthenticated)
		return a.countFailedAuth(h, obs, token, identity.ErrUnauthenticated)
	}
	a.measures.authenticated("directory", nil)
	a.knownTokens.remember(token, at)
	return a.admitAs(h, directoryOf(obs.org), at)
}

// refuseDirectory sends a problem in the form of SCIM (RFC 7644, section 3.12).
func (a *scimArea) refuseDirectory(w http.ResponseWriter, r *http.Request, err error) {
	f := publicError(err)
	status := statuses[f.Kind]
	a.setProblemHeaders(w, r, f, err)
	observation(r).code = f.Code
	w.Header().Set("Content-Type", "application/scim+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:Error"},
		"status":  strconv.Itoa(status), "detail": f.Detail,
	})
}
