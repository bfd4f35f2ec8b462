package connections

import (
	"encoding/json"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// errConsentDryRun is returned for a consent in a dry run, which would use it up.
var errConsentDryRun = fault.InField("/consent", "not_allowed_value", "A consent works once: leave out dry_run.")

// ConsentURI returns the redirect URI for an org's OAuth client at Google. It is a page of the console, which completes
// the connection in the session that requested the consent.
func ConsentURI(org *identity.Org) string { return org.BaseURL + "/console/consent" }

func requestConsent(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ConnectionConsentRequest](r)
	if err != nil {
		return server.Reply{}, err
	}
	request, err := r.Connections.RequestConsent(r.Context(), r.By, connection.Kind(in.Kind))
	return server.OK(openapi.ConnectionConsentRequested{
		AuthorizationURL: request.URL, ExpiresAt: openapi.Time(request.ExpiresAt),
	}), err
}

// entry returns a credential or a consent as the caller gave it.
func entry(credential json.RawMessage, consent openapi.ConnectionConsent) connection.Entry {
	e := connection.Entry{Credential: credential}
	if consent != (openapi.ConnectionConsent{}) {
		e.Consent = &connection.Consent{State: consent.State, Code: consent.Code}
	}
	return e
}
