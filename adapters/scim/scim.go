// Package scim serves SCIM 2.0 (RFC 7643, RFC 7644): an identity provider's directory manages an org's people.
// github.com/elimity-com/scim implements the protocol; this package turns its resources into use cases, and what
// providers send into what the library understands.
package scim

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"

	"github.com/elimity-com/scim"
	scimerrors "github.com/elimity-com/scim/errors"
	"github.com/elimity-com/scim/optional"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Path is the prefix of all addresses.
const Path = "/scim/v2"

// maxResults is the maximum number of users or groups in one list page.
const maxResults = 100

// call is a directory's request whose token was accepted.
type call struct {
	by     identity.Actor // the system
	org    *identity.Org
	base   string // absolute, of all resources
	token  int    // its position, from 1
	choice choice
	names  []string // of the attributes in the body or the filter
}

type callKey struct{}

// callOf returns the call that Serve has put into the context.
func callOf(r *http.Request) *call {
	c, _ := r.Context().Value(callKey{}).(*call)
	return c
}

// Handler serves requests of directories.
type Handler struct {
	users  *users
	groups *groups
}

// New returns a handler that applies the requests of directories.
func New(directory *accounts.Directory, log *slog.Logger) *Handler {
	return &Handler{&users{directory, log}, &groups{directory, log}}
}

// Serve serves a request below Path of the directory of org, whose token the caller has checked, and records it. by is
// the system, and token the position of the token. It returns a refusal's scimType, or else its status.
func (h *Handler) Serve(
	w http.ResponseWriter, r *http.Request, by identity.Actor, org *identity.Org, token int,
) (refusal string) {
	c := &call{by: by, org: org, base: org.BaseURL + Path, token: token}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	response := &response{ResponseWriter: w, request: r, call: c}
	h.serve(response, r, c)
	h.record(r, response)
	if response.status < http.StatusBadRequest {
		return ""
	}
	return cmp.Or(response.refused.ScimType, strconv.Itoa(response.status))
}

func (h *Handler) serve(response *response, r *http.Request, c *call) {
	if err := c.prepare(r); err != nil {
		response.refuse(err)
		return
	}
	if r.Method == http.MethodGet && r.URL.Path == Path+"/ServiceProviderConfig" {
		response.send(http.StatusOK, serviceProviderConfig(c.base))
		return
	}
	server, err := scim.NewServer(&scim.ServerArgs{
		ServiceProviderConfig: &scim.ServiceProviderConfig{MaxResults: maxResults},
		ResourceTypes:         h.resourceTypes(),
	}, scim.WithBaseURL(c.base), scim.WithRootQueryHandler(&everything{h}))
	if err != nil {
		response.refuse(err)
		return
	}
	http.StripPrefix(Path, server).ServeHTTP(response, r)
}

// resourceTypes returns the kinds of resources. Extensions are not among them: none of their attributes is stored.
func (h *Handler) resourceTypes() []scim.ResourceType {
	return []scim.ResourceType{
		{ID: optional.NewString("User"), Name: "User", Endpoint: "/Users", Schema: userKind.schema, Handler: h.users},
		{ID: optional.NewString("Group"), Name: "Group", Endpoint: "/Groups", Schema: groupKind.schema,
			Handler: h.groups},
	}
}

// serviceProviderConfig returns what RFC 7643, section 5, describes. The library's own denies ETags.
func serviceProviderConfig(base string) map[string]any {
	supported := func(yes bool) map[string]any { return map[string]any{"supported": yes} }
	return map[string]any{
		"schemas":          []string{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
		"documentationUri": "https://www.rfc-editor.org/rfc/rfc7644",
		"patch":            supported(true),
		"bulk": map[string]any{"supported": false, "maxOperations": maxOperations,
			"maxPayloadSize": 4 << 20},
		"filter":         map[string]any{"supported": true, "maxResults": maxResults},
		"changePassword": supported(false),
		"sort":           supported(false),
		"etag":           supported(true),
		"authenticationSchemes": []map[string]any{{"type": "oauthbearertoken", "name": "Bearer token", "primary": true,
			"description": "A token that the operator of this deployment has configured for the organisation."}},
		"meta": map[string]any{"resourceType": "ServiceProviderConfig", "location": base + "/ServiceProviderConfig"},
	}
}

// duplicates are the codes of conflicts that RFC 7644, section 3.12, calls uniqueness. Others have their code as
// scimType.
var duplicates = []string{account.ErrDirectoryUserExists.Code, account.ErrDirectoryGroupExists.Code,
	account.ErrDirectoryNotJoined.Code, account.ErrDirectoryNameTaken.Code, account.ErrDirectoryAddressTaken.Code}

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
		out.Status, out.ScimType = http.StatusConflict, scimerrors.ScimType(f.Code)
		if slices.Contains(duplicates, f.Code) {
			out.ScimType = scimerrors.ScimTypeUniqueness
		}
	case fault.Forbidden:
		out.Status, out.ScimType = http.StatusForbidden, ""
	}
	return out
}
