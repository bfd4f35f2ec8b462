package server

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/identity"
)

// PublicQuery is a query that needs no credential, unless Closed reports that this org wants one. Callers without a
// credential are in no workspace, and limited by their addresses as users are. The credential of the others must be
// valid.
type PublicQuery struct {
	Query
	Closed func(*Call) bool
}

func (q PublicQuery) stages(a *API, op *openapi.Operation) stages {
	s := a.ordinary(op, q.perform)
	s.authenticate = func(r *Call) error {
		if r.hasCredential() || q.Closed(r) {
			return r.authenticate()
		}
		return r.admitAddress()
	}
	return s
}

// hasCredential reports whether a request shows a credential. Of a session that is its proof, which pages of the
// console send: browsers send the cookie with every request.
func (r *Call) hasCredential() bool {
	return r.Header.Get("Authorization") != "" || r.Header.Get(proofHeader) != ""
}

// admitAddress sets a caller without a credential, and counts the request against the rate limit of its address.
func (r *Call) admitAddress() error {
	obs, now := Observed(r.Request), r.API.Now()
	if err := r.AdmitAs(identity.AddressGroup(obs.Address), now); err != nil {
		return err
	}
	r.By.Org, r.By.At = obs.Org.ID, now
	return nil
}

// IsAnonymous reports whether a PublicQuery's caller has no credential.
func (r *Call) IsAnonymous() bool { return r.owner == nil }
