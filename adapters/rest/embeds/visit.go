package embeds

import (
	"net/http"
	"net/url"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/embeds"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// visitor is a request from a visitor's page. It has no account; its token decides what it may do.
type visitor struct {
	*server.Call
	embeds.Visit
	limit embeds.Limit

	token *embed.Token // the call's; nil: not known
}

// visit returns an operation of visitors.
func (a *handlers) visit(act func(*visitor) (server.Reply, error)) server.Anonymous {
	return server.Anonymous{
		Malformed: a.countMalformed,
		Run:       func(r *server.Call) (server.Reply, error) { return receive(a, r, act) },
	}
}

// countMalformed counts a request that is not as openapi.yaml declares it against its address.
func (a *handlers) countMalformed(r *server.Call, err error) error {
	return a.CountUnauthenticated(r.ReplyHeader, server.Observed(r.Request), err)
}

// receive calls act for a request's visitor, and counts what it refuses.
func receive[T any](a *handlers, r *server.Call, act func(*visitor) (T, error)) (T, error) {
	v := &visitor{Call: r, Visit: a.newVisit(r.Request)}
	kind := r.Operation.Method + " " + r.Operation.Path
	limit := a.visitLimit(r.ReplyHeader, r.Request, v.Origin, v.At, kind)
	v.limit = func(t *embed.Token, count embed.Counted) error {
		v.token = t
		return limit(t, count)
	}
	out, err := act(v)
	if err != nil && server.PublicError(err).Kind == fault.Unauthenticated {
		a.letReadRefusal(v)
		err = a.CountUnauthenticated(r.ReplyHeader, server.Observed(r.Request), err)
	}
	a.countRefusal(v.token, v.Visit, err)
	return out, err
}

// countRefusal counts a refused call in the usage of its token. Atrium's own page in a frame does not name the site.
func (a *handlers) countRefusal(t *embed.Token, v embeds.Visit, err error) {
	if t == nil || err == nil {
		return
	}
	switch server.PublicError(err).Kind {
	case fault.Unauthenticated, fault.Forbidden, fault.Conflict, fault.RateLimited:
	default:
		return
	}
	origin := v.Origin
	if v.Ours {
		origin = embed.NoOrigin
	}
	a.Services.EmbedUsage.Refusal(t, origin, v.At)
}

// newVisit describes a request's visitor. Several Origin headers count as a foreign origin.
func (a *handlers) newVisit(r *http.Request) embeds.Visit {
	now := a.Now()
	address := identity.AddressGroup(server.Observed(r).Address)
	opener := func(p session.Proof) (identity.Actor, error) {
		return a.ResolveProof(r.Context(), server.Observed(r), p, now)
	}
	v := embeds.Visit{Org: server.Observed(r).Org.ID, At: now, Address: address, Caller: opener}
	switch headers := r.Header.Values("Origin"); len(headers) {
	case 0:
		v.Origin = embed.NoOrigin
	case 1:
		v.Origin, _ = embed.ParseOrigin(headers[0])
		v.Ours = a.isOwnOrigin(r, v.Origin)
	default:
		v.Origin = embed.ForeignOrigin
	}
	return v
}

// isOwnOrigin reports whether an origin is where our own pages are served: the org's canonical one, or the
// host of this request. The scheme is ignored, since a proxy in front may have changed it.
func (a *handlers) isOwnOrigin(r *http.Request, o embed.Origin) bool {
	if base, ok := originOf(server.Observed(r).Org.BaseURL); ok && o == base {
		return true
	}
	for _, scheme := range []string{"https://", "http://"} {
		if self, ok := embed.ParseOrigin(scheme + a.Host(r)); ok && o == self {
			return true
		}
	}
	return false
}

// originOf is a URL's origin; embed.ForeignOrigin without one.
func originOf(text string) (embed.Origin, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return embed.ForeignOrigin, false
	}
	return embed.ParseOrigin(u.Scheme + "://" + u.Host)
}

// letReadRefusal lets scripts on a site that some embed token lists read why its token or session is refused. Without
// it, a browser only reports to them that the call failed.
func (a *handlers) letReadRefusal(v *visitor) {
	origin := v.Header.Get("Origin")
	if origin == "" || v.ReplyHeader.Get("Access-Control-Allow-Origin") != "" {
		return
	}
	if isExpected, err := a.Services.Embeds.Expected(v.Context(), v.Visit); err == nil && isExpected {
		allowOrigin(v.ReplyHeader, origin)
	}
}

// visitLimit returns a limit that counts a call against the rates of the visitor, of its address, of the embed token,
// and of its workspace. It also lets scripts from an origin on the token's list read the response, errors included.
// Each kind of call (what) is counted separately, since a page in a frame is loaded before its session starts.
func (a *handlers) visitLimit(
	header http.Header, r *http.Request, origin embed.Origin, now time.Time, problem string,
) embeds.Limit {
	return func(t *embed.Token, count embed.Counted) error {
		if site := r.Header.Get("Origin"); site != "" && t.Admits(origin) {
			allowOrigin(header, site)
		}
		caller, h := problem+" "+string(t.ID), header
		var allowances []server.Allowance
		visitor, address := visitOf(count, r)
		if address != "" {
			allowances = append(allowances, a.visitors.allowing(t.PerAddress()).Allowance(caller+" "+address))
		}
		if visitor != "" {
			allowances = append(allowances, a.visitors.allowing(t.PerMinute).Allowance(caller+" "+visitor))
		}
		// These limits come first, so that a caller beyond its own limit does not use up the token's.
		if server.TakeAll(h, now, 1, allowances...) != nil {
			return a.Refuse("embed_address_rate", server.ErrRateLimited)
		}
		policy, remaining := h["Ratelimit-Policy"], h["Ratelimit"]
		switch server.TakeAll(h, now, 1, a.visitors.tokens.Allowance(caller),
			a.visitors.workspaces.Allowance(problem+" "+string(t.Workspace))) {
		case nil:
		case a.visitors.tokens:
			return a.Refuse("embed_token_rate", server.ErrRateLimited)
		default:
			return a.Refuse("embed_workspace_rate", server.ErrRateLimited)
		}
		h["Ratelimit-Policy"], h["Ratelimit"] = policy, remaining // the limit that the caller controls
		return nil
	}
}

// visitOf returns the names by which a call is counted. A visitor that the site's backend signed is counted apart from
// its address; others, who can begin any number of sessions, by both. One of the two can be empty.
func visitOf(count embed.Counted, r *http.Request) (visitor, address string) {
	if count.Visitor != "" {
		return "visitor " + count.Visitor, ""
	}
	if count.Session != "" {
		visitor = "session " + count.Session
	}
	return visitor, "address " + identity.AddressGroup(server.Observed(r).Address)
}

func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Request-Id, Retry-After, RateLimit, RateLimit-Policy")
}
