package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// healthPaths is the prefix of health checks, which use an IP address.
const healthPaths = "/api/health/"

// servesAnyHost reports whether a path is served for any Host header.
func (a *API) servesAnyHost(path string) bool {
	return slices.ContainsFunc(a.anyHost, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// errAmbiguousHost means that a trusted proxy added its X-Forwarded-Host to the client's.
var errAmbiguousHost = &fault.Error{
	Kind:   fault.Misdirected,
	Code:   "ambiguous_host",
	Detail: "The request has more than one X-Forwarded-Host header. The proxy must replace the header of the client.",
}

// Host returns the name that the client requested: from X-Forwarded-Host if a trusted proxy sent it.
func (a *API) Host(r *http.Request) string {
	if host := r.Header.Get("X-Forwarded-Host"); host != "" && a.trusted(r.RemoteAddr) {
		return host
	}
	return r.Host
}

// address returns the client's address without a port: the last one in X-Forwarded-For that is not a trusted proxy's,
// as long as all later ones are trusted. Some proxies include the client's port.
func (a *API) address(r *http.Request) string {
	addr := withoutPort(r.RemoteAddr)
	if !a.trusted(r.RemoteAddr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, err := netip.ParseAddr(strings.Trim(withoutPort(strings.TrimSpace(hop)), "[]"))
		if err != nil {
			break
		}
		addr = ip.Unmap().String()
		if !a.trusted(addr) {
			break
		}
	}
	return addr
}

// trusted reports whether a proxy with this address may speak for others.
func (a *API) trusted(address string) bool {
	if len(a.Config.TrustedProxies) == 0 {
		return false
	}
	ip, err := netip.ParseAddr(withoutPort(address))
	return err == nil && slices.ContainsFunc(
		a.Config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) },
	)
}

func withoutPort(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// printableHost returns a Host as an error may show it.
func printableHost(host string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, host)
	return clean[:min(len(clean), 255)]
}

// Headers of responses that scripts of other origins may read, and headers of requests that they may send.
const (
	exposedHeaders = "ETag, Location, Request-Id, Retry-After, RateLimit, RateLimit-Policy, Workspace-Id, " +
		"Idempotency-Replayed"
	allowedHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, " +
		"Request-Id, Workspace-Id, traceparent"
)

// orgCORS lets the org's configured origins read responses, and handles their preflights (done). Any other origin gets
// no header at all, so browsers refuse access.
func orgCORS(w http.ResponseWriter, r *http.Request, org *identity.Org) (isDone bool) {
	if len(org.CORS) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(org.CORS, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposedHeaders)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
