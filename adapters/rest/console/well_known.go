package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// securityFreshFor is how long what security.txt says counts as current. The file is written for each request.
const securityFreshFor = 30 * 24 * time.Hour

// wellKnown returns the routes of files that programs look for at fixed places (RFC 8615).
func (a *handlers) wellKnown() []server.Route {
	const security, change = "/.well-known/security.txt", "/.well-known/change-password"
	return []server.Route{
		server.NewRoute(http.MethodGet, security, server.WithRoute(security, a.securityText)),
		server.NewRoute(http.MethodGet, change, server.WithRoute(change, changePassword)),
	}
}

// securityText serves what RFC 9116 describes, where contacts are configured.
func (a *handlers) securityText(w http.ResponseWriter, r *http.Request) {
	s := a.Config.SecurityTxt
	if len(s.Contacts) == 0 {
		a.Problem(w, r, server.ErrNoSuchPath)
		return
	}
	var text strings.Builder
	for _, contact := range s.Contacts {
		fmt.Fprintf(&text, "Contact: %s\n", contact)
	}
	fmt.Fprintf(&text, "Expires: %s\n", a.Now().UTC().Add(securityFreshFor).Truncate(24*time.Hour).Format(time.RFC3339))
	if s.Policy != "" {
		fmt.Fprintf(&text, "Policy: %s\n", s.Policy)
	}
	fmt.Fprintf(&text, "Canonical: %s/.well-known/security.txt\n", server.Observed(r).Org.BaseURL)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text.String()))
}

// changePassword leads password managers to the passkeys of the person
// (https://www.w3.org/TR/change-password-url): there are no passwords.
func changePassword(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "../console/passkeys") // a proxy may add a path before
	w.WriteHeader(http.StatusSeeOther)
}
