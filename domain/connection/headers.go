package connection

import (
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

const fieldHeaders = "headers"

// headersOfTransport are the headers that the client of HTTP computes for each request.
var headersOfTransport = []string{
	"connection", "content-length", "content-type", "host", "keep-alive", "proxy-connection", "te", "trailer",
	"transfer-encoding", "upgrade", "user-agent",
}

// Headers returns the headers in the field "headers", one in a line, by their names.
func (c Credential) Headers() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(c.Secret(fieldHeaders).Reveal()) {
		name, value, _ := strings.Cut(line, ":")
		all[name] = strings.TrimSpace(value)
	}
	return all
}

// checkHeaders returns an error for headers that a request cannot have.
func (c Credential) checkHeaders() []fault.Field {
	for name := range c.Headers() {
		if slices.Contains(headersOfTransport, strings.ToLower(name)) {
			return []fault.Field{{Pointer: "/credential/" + fieldHeaders, Code: "not_allowed_value",
				Detail: "Must not have headers that are part of the transport, such as Host or Content-Type."}}
		}
	}
	return nil
}
