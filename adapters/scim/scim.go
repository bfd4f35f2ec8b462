// Package scim serves SCIM 2.0 (RFC 7643, RFC 7644): an identity provider's directory manages an org's people.
// github.com/elimity-com/scim implements the protocol; this package turns its resources into use cases.
package scim

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	"github.com/elimity-com/scim/optional"
	"github.com/elimity-com/scim/schema"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Path is the prefix of all addresses.
const Path = "/scim/v2"

// maxResults is how many users or groups one list page has at most.
const maxResults = 100

// directoryCall is a directory's request whose token was accepted.
type directoryCall struct {
	by   identity.Actor // the system
	org  *identity.Org
	made string // the path of what was created, below Path
}

type callKey struct{}

// call returns the call that Serve has put into the context.
func call(r *http.Request) *directoryCall {
	c, _ := r.Context().Value(callKey{}).(*directoryCall)
	return c
}

// Handler serves requests of directories.
type Handler struct{ server scim.Server }

// Serve serves a request below Path of the directory of org, whose token the caller has checked. by is the system.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, by identity.Actor, org *identity.Org) {
	c := &directoryCall{by: by, org: org}
	http.StripPrefix(Path, h.server).ServeHTTP(
		&located{w, c}, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

// New returns a handler that applies the requests of directories.
func New(directory *accounts.Directory, log *slog.Logger) (*Handler, error) {
	schema.SetAllowStringValues(true) // Entra ID sends "False" for false
	config := scim.ServiceProviderConfig{
		DocumentationURI: optional.NewString("https://www.rfc-editor.org/rfc/rfc7644"),
		AuthenticationSchemes: []scim.AuthenticationScheme{{
			Type: scim.AuthenticationTypeOauthBearerToken, Name: "Bearer token", Primary: true,
			Description: "A token that the operator of this deployment has configured for the organisation.",
		}},
		MaxResults: maxResults, SupportFiltering: true, SupportPatch: true,
	}
	server, err := scim.NewServer(&scim.ServerArgs{
		ServiceProviderConfig: &config,
		ResourceTypes: []scim.ResourceType{
			{
				ID: optional.NewString("User"), Name: "User", Endpoint: "/Users",
				Schema:           filtered(schema.CoreUserSchema()),
				SchemaExtensions: []scim.SchemaExtension{{Schema: schema.ExtensionEnterpriseUser()}},
				Handler:          &users{directory, log},
			},
			{
				ID: optional.NewString("Group"), Name: "Group", Endpoint: "/Groups",
				Schema:  filtered(schema.CoreGroupSchema()),
				Handler: &groups{directory, log},
			},
		},
	})
	return &Handler{server}, err
}

// filtered returns a schema with externalId, which the library omits when it checks filters.
func filtered(s schema.Schema) schema.Schema {
	external := schema.SimpleCoreAttribute(schema.SimpleStringParams(schema.StringParams{
		Name: schema.CommonAttributeExternalID, CaseExact: true,
	}))
	s.Attributes = slices.Clip(append(slices.Clip(s.Attributes), external)) // the library appends with each request
	return s
}

// located adds a created resource's Location (RFC 7644, section 3.3), which the library omits.
type located struct {
	http.ResponseWriter
	*directoryCall
}

// WriteHeader implements http.ResponseWriter.
func (w *located) WriteHeader(status int) {
	if status == http.StatusCreated {
		w.Header().Set("Location", Path+w.made)
	}
	w.ResponseWriter.WriteHeader(status)
}

// refusal returns the SCIM error for err.
func refusal(r *http.Request, log *slog.Logger, err error) error {
	if protocolErr, ok := errors.AsType[scimerrors.ScimError](err); ok {
		return protocolErr
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind == fault.Unavailable {
		log.ErrorContext(r.Context(), "a directory's request failed", "err", err)
		return scimerrors.ScimErrorInternal
	}
	detail := f.Detail
	for _, field := range f.Fields {
		detail += " " + field.Pointer + ": " + field.Detail
	}
	out := scimerrors.ScimErrorInvalidValue
	out.Detail = detail
	switch f.Kind {
	case fault.NotFound:
		out.Status, out.ScimType = http.StatusNotFound, ""
	case fault.Conflict:
		out.Status, out.ScimType = http.StatusConflict, scimerrors.ScimTypeUniqueness
	case fault.Forbidden:
		out.Status, out.ScimType = http.StatusForbidden, ""
	}
	return out
}
