package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

var (
	errHTTPSRequired = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "https_required",
		Detail: "A session needs https, except on a loopback host.",
	}
	// ErrCrossOrigin is returned for a request that a page of another origin sent.
	ErrCrossOrigin = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "cross_origin",
		Detail: "A page of another origin sent this request.",
	}
)

// proofHeader carries a session's proof. A page of another origin can send it only with a preflight, which is refused.
const proofHeader = "Atrium-Console"

// Names of a session's cookie. A host's cookies are shared by all of its ports, so the one for http has the port in its
// name. Browsers accept __Host- only over https, and for the whole host.
const (
	secureCookie   = "__Host-atrium_session"
	loopbackCookie = "atrium_session_"
)

// SessionCookie returns the name that a session's cookie has in this request, and whether it is only for https.
// errHTTPSRequired if the host can have none.
func (a *API) SessionCookie(r *http.Request, org *identity.Org) (name string, secure bool, err error) {
	host := a.Host(r)
	if a.isHTTPS(r, org, host) {
		return secureCookie, true, nil
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	if ip, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", false, errHTTPSRequired
	}
	return loopbackCookie + port, false, nil
}

// isHTTPS reports whether the browser reached the host over https: by this server's own TLS, by what a trusted proxy
// says, or because that is the org's canonical address. If the last one is wrong, the browser stores no cookie.
func (a *API) isHTTPS(r *http.Request, org *identity.Org, host string) bool {
	if r.TLS != nil || (a.trusted(r.RemoteAddr) && r.Header.Get("X-Forwarded-Proto") == "https") {
		return true
	}
	rest, ok := strings.CutPrefix(org.BaseURL, "https://")
	if !ok || len(rest) < len(host) || !strings.EqualFold(rest[:len(host)], host) {
		return false
	}
	return len(rest) == len(host) || rest[len(host)] == '/'
}

// cookieOf returns the session cookie that a request carries; empty if not found.
func (a *API) cookieOf(r *http.Request, org *identity.Org) string {
	if len(r.Header["Cookie"]) == 0 || org == nil {
		return ""
	}
	name, _, err := a.SessionCookie(r, org)
	if err != nil {
		return ""
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// SetCookie adds a session's cookie to a response, or removes it if value is empty.
func (a *API) SetCookie(h http.Header, r *http.Request, org *identity.Org, value string, ends time.Duration) error {
	name, secure, err := a.SessionCookie(r, org)
	if err != nil {
		return err
	}
	c := http.Cookie{ //nolint:gosec // G124: not Secure only for plain http on a loopback address (sessionCookie)
		Name: name, Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
		MaxAge: int(ends.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	h.Add("Set-Cookie", c.String())
	return nil
}

// SameOrigin reports whether no page of another origin can have sent a request that changes something, by
// Sec-Fetch-Site or Origin. Programs send neither.
func (a *API) SameOrigin(r *http.Request) bool {
	request := r
	if host := a.Host(r); host != r.Host { // only a trusted proxy pays for a copy
		request = r.WithContext(r.Context())
		request.Host = host
	}
	return new(http.CrossOriginProtection).Check(request) == nil
}
