package session

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

const (
	// ProviderSessionLife is the maximum lifetime for sessions that an OpenID provider opened. Then the person signs in
	// at the provider again, whose claims may have changed.
	ProviderSessionLife = 24 * time.Hour
	// SignInWithin is the maximum time that a person can take to sign in at a provider.
	SignInWithin = 10 * time.Minute
	// CodeLife is the lifetime of a sign-in code from a provider.
	CodeLife = time.Minute

	// logoutKept is the time for which a logout token is remembered: longer than it is accepted.
	logoutKept = 15 * time.Minute
)

// Refusals to sign in at an OpenID provider.
var (
	ErrProviderNotFound = &fault.Error{
		Kind: fault.NotFound, Code: "provider_not_found",
		Detail: "The organisation has no such provider. See GET /api/auth/methods.",
	}
	ErrSignInState = &fault.Error{
		Kind: fault.Malformed, Code: "sign_in_state_invalid",
		Detail: "The response does not belong to a sign-in that this browser began within 10 minutes. Sign in again.",
	}
	ErrSignInRefused = &fault.Error{
		Kind: fault.Forbidden, Code: "sign_in_refused",
		Detail: "The provider refused the sign-in, or you cancelled it.",
	}
	ErrProviderFailed = &fault.Error{
		Kind: fault.Upstream, Code: "provider_failed",
		Detail: "The provider did not respond, or its response is not valid. Try again later.",
	}
	// ErrInsufficientAuthentication has the code of RFC 9470.
	ErrInsufficientAuthentication = &fault.Error{
		Kind: fault.Forbidden, Code: "insufficient_user_authentication",
		Detail: "The provider did not authenticate you as your organisation requires: recently enough, or in one of " +
			"the required ways. Sign in again.",
	}
	ErrLogoutToken = &fault.Error{
		Kind: fault.Malformed, Code: "logout_token_invalid",
		Detail: "The logout token is not valid, or was used before.",
	}
)

// ProviderSession is a sign-in at an OpenID provider. The zero value is none.
type ProviderSession struct {
	Issuer  string
	Subject string
	ID      string // the provider's session (sid); empty: it names none

	SecondFactor    bool      // whether the person showed one, as the org's identity.Issuer.SecondFactor had it
	AuthenticatedAt time.Time // when the provider authenticated the person; zero: it did not report that
}

// FromClaims returns the sign-in that an ID token's claims are about.
func FromClaims(org *identity.Org, c account.Claims) ProviderSession {
	sid, _ := c.Raw["sid"].(string)
	if len(sid) > maxProviderSession {
		sid = ""
	}
	return ProviderSession{
		Issuer: c.Issuer, Subject: c.Subject, ID: sid, SecondFactor: c.HasSecondFactor(org),
		AuthenticatedAt: c.AuthenticatedAt(),
	}
}

// CheckAuthentication returns ErrInsufficientAuthentication unless the provider reports that it authenticated the
// bearer of an ID token after start, if that is not zero, and in one of the client's ACRValues, if it has any. It may
// have ignored the request for both (OpenID Connect Core, section 3.1.2.1).
func CheckAuthentication(c account.Claims, client *identity.Client, start time.Time) error {
	context, _ := c.Raw["acr"].(string)
	isLate := start.IsZero() || !c.AuthenticatedAt().Add(account.ClockSkew).Before(start)
	if !isLate || (len(client.ACRValues) > 0 && !slices.Contains(client.ACRValues, context)) {
		return ErrInsufficientAuthentication
	}
	return nil
}

// maxProviderSession is a provider session id's maximum length, in bytes.
const maxProviderSession = 255

// NewCode returns a code that opens one session for a user who has just signed in at a provider, and its token. Only
// the browser that has the secret of the hash bound can use it. by is the system. identity.ErrUnauthenticated if the
// user is disabled or a program's.
func NewCode(
	by identity.Actor, u *account.User, from ProviderSession, bound secret.Hash,
) (secret.Token, *Link, error) {
	if by.User != "" || by.Org != u.Org || !u.Enabled() || u.Service {
		return secret.Token{}, nil, identity.ErrUnauthenticated
	}
	t := secret.NewToken(codePrefix)
	return t, &Link{
		Org: u.Org, User: u.ID, Hash: t.Hash(), From: from, Bound: bound, CreatedAt: by.At,
		ExpiresAt: by.At.Add(CodeLife),
	}, nil
}

// OpenFromProvider opens a session for p, who signed in at a provider. Otherwise it is Open.
func OpenFromProvider(
	by identity.Actor, p *account.Person, from ProviderSession, agent string, live []*Session,
) (*Session, Secrets, error) {
	s, secrets, err := Open(by, p, ByOIDC, nil, agent, live)
	if err != nil {
		return nil, Secrets{}, err
	}
	s.From, s.ExpiresAt = from, by.At.Add(ProviderSessionLife)
	return s, secrets, nil
}

// EndReason is the reason for which sessions end without an act of their user. It is in the event session.ended.
type EndReason string

// The values of EndReason.
const (
	EndedByProvider EndReason = "provider_logout"  // the provider sent a logout token
	EndedByUnlink   EndReason = "sign_in_unlinked" // the subject signs in as another user now
	EndedByTime     EndReason = "expired"
	// EndedByConfirmation ends what was opened before the owner of the account's address confirmed it.
	EndedByConfirmation EndReason = "address_confirmed"
	// EndedByReset ends what could have been opened by someone who has a passkey that its user has lost.
	EndedByReset EndReason = "passkeys_reset"
)

// EndBecause ends all of live, sessions of p, for a reason. by is the system.
func EndBecause(by identity.Actor, p *account.Person, reason EndReason, live []*Session) error {
	if by.User != "" || by.Org != p.User.Org {
		return ErrNotFound
	}
	for _, s := range live {
		s.end(by, p, string(reason))
	}
	return nil
}

// Logout is the content of a logout token (OpenID Connect Back-Channel Logout 1.0): all of a subject's sessions have
// ended at its issuer, or the sessions of one of the provider's sessions. One of Subject and ID is empty at most.
type Logout struct {
	ProviderSession
	TokenID string // jti: unique at the issuer
}

// Hash identifies the token of l, so that it is accepted once.
func (l *Logout) Hash() secret.Hash { return sha256.Sum256([]byte(l.Issuer + "\x00" + l.TokenID)) }

// RememberUntil returns when the token of l, which was received at a time, can be forgotten.
func (l *Logout) RememberUntil(moment time.Time) time.Time { return moment.Add(logoutKept) }
