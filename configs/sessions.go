package configs

import (
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// minIdle is the minimum of Sessions.Idle: nodes store a session's last use once a minute.
const minIdle = 5 * time.Minute

// validateSessions checks what an org requires of sessions. A requirement that no one can meet is refused.
func (c *Config) validateSessions(found *problems, key string, o Org) {
	s, key := o.Sessions, key+".sessions"
	if s.Idle != 0 {
		inRange(found, key+".idle", s.Idle, minIdle, session.Idle, "5m to 12h, or 0s for 12h")
	}
	if s.Lifetime != 0 {
		inRange(found, key+".lifetime", s.Lifetime, time.Hour, session.Life, "1h to 7d, or 0s for 7d")
	}
	switch {
	case s.RequirePasskey == "":
	case identity.ParseRole(s.RequirePasskey) == identity.NoRole:
		found.add(key+".require_passkey", "must be viewer, member, admin or owner, or empty")
	case !allowsPasskeys(c.baseURL(o)) && !slices.ContainsFunc(o.Issuers, Issuer.provesSecondFactor):
		found.add(key+".require_passkey", "must be empty: no one could meet it. Browsers allow passkeys only on host "+
			"names with https, or on localhost, and no issuer has second_factor. Set base_url or hosts")
	}
}

// allowsPasskeys reports whether browsers allow passkeys on an org's pages (WebAuthn Level 2, section 5.1.3).
func allowsPasskeys(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return false
	}
	return u.Scheme == "https" || u.Hostname() == "localhost"
}

// provesSecondFactor reports whether the tokens of i can prove a second factor.
func (i Issuer) provesSecondFactor() bool { return len(i.SecondFactor) > 0 }
