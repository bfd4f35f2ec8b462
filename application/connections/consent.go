package connections

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// withdrawWithin is the maximum time that a revocation waits for the service that ends a consent.
const withdrawWithin = 5 * time.Second

// ConsentRequest is where a person gives consent.
type ConsentRequest struct {
	URL       string // at the service, for the browser
	ExpiresAt time.Time
}

// RequestConsent begins a person's consent to a kind's connections. The browser brings back a connection.Consent, which
// works once, in the same session and workspace. Nothing is stored until then.
func (s *Service) RequestConsent(
	ctx context.Context, by identity.Actor, kind connection.Kind,
) (ConsentRequest, error) {
	if err := connection.MayConsent(by); err != nil {
		return ConsentRequest{}, err
	}
	if err := s.offered(by.Org, kind); err != nil {
		return ConsentRequest{}, err
	}
	service, client := s.consentService(by.Org, kind)
	if service == nil {
		return ConsentRequest{}, connection.ErrConsentNotOffered
	}
	expires := by.At.Add(connection.ConsentWithin)
	state := s.state(by, kind, expires)
	return ConsentRequest{URL: service.Address(client, state, s.verifier(state)), ExpiresAt: expires}, ctx.Err()
}

// AsksConsent reports whether an org's people can give their consent to a kind's connections.
func (s *Service) AsksConsent(org identity.OrgID, kind connection.Kind) bool {
	service, _ := s.consentService(org, kind)
	return service != nil
}

// consentService returns the service at which an org's people give consent; nil if the org has none.
func (s *Service) consentService(org identity.OrgID, kind connection.Kind) (ports.Consents, connection.OAuthClient) {
	d, ok := connection.Describe(kind)
	client := s.deps.Offers(org).Google
	if !ok || !d.Consent || client.IsZero() {
		return nil, connection.OAuthClient{}
	}
	service, _ := s.deps.Warehouses[kind].(ports.Consents)
	return service, client
}

// A state's parts: random bytes, when it expires in seconds since 1970, and a keyed digest of both and of what the
// consent is for. The digest replaces a stored request.
const (
	stateRandom = 16
	stateSigned = stateRandom + 8
	stateLength = stateSigned + sha256.Size
)

// state returns the state with which by begins a request.
func (s *Service) state(by identity.Actor, kind connection.Kind, expires time.Time) string {
	b := make([]byte, stateRandom, stateLength)
	_, _ = rand.Read(b)                                          // it never fails
	b = binary.BigEndian.AppendUint64(b, uint64(expires.Unix())) //nolint:gosec // G115: after 1970
	sum := s.signature(by, kind, b)
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:]...))
}

func (s *Service) signature(by identity.Actor, kind connection.Kind, text []byte) [sha256.Size]byte {
	return s.deps.Sealer.Digest("consent state", []byte(by.Org), []byte(by.Workspace), []byte(by.User),
		[]byte(by.Session), []byte(kind), text)
}

// verifier returns the code verifier (RFC 7636) for a request. Without the keyring it cannot be computed from the
// state, which the browser has.
func (s *Service) verifier(state string) string {
	sum := s.deps.Sealer.Digest("consent verifier", []byte(state))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// useState marks a state as used. connection.ErrConsentInvalid unless by requested it for this kind, and it was not
// used before.
func (s *Service) useState(ctx context.Context, by identity.Actor, kind connection.Kind, state string) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(state)
	if err != nil || len(b) != stateLength {
		return connection.ErrConsentInvalid
	}
	sum := s.signature(by, kind, b[:stateSigned])
	seconds := binary.BigEndian.Uint64(b[stateRandom:stateSigned])
	expires := time.Unix(int64(seconds), 0).UTC() //nolint:gosec // G115: used only if it is signed
	if !hmac.Equal(sum[:], b[stateSigned:]) || !by.At.Before(expires) {
		return connection.ErrConsentInvalid
	}
	return s.states.Use(ctx, by.Org, sha256.Sum256(b), expires)
}

// parse reads a credential. For a consent it returns an empty one of the kind, which exchange replaces.
func parse(kind connection.Kind, e connection.Entry) (connection.Credential, error) {
	if err := e.CheckOne(); err != nil {
		return connection.Credential{}, err
	}
	if e.Consent != nil {
		return connection.Consented(kind, "", connection.OAuthClient{}, secret.String{}), nil
	}
	return connection.ParseCredential(kind, e.Credential)
}

// exchange returns a consent's credential. If the service does not respond, the error is a *connection.ProbeError.
func (s *Service) exchange(
	ctx context.Context, by identity.Actor, kind connection.Kind, c connection.Consent,
) (connection.Credential, error) {
	if err := connection.MayConsent(by); err != nil {
		return connection.Credential{}, err
	}
	service, client := s.consentService(by.Org, kind)
	if service == nil {
		return connection.Credential{}, connection.ErrConsentNotOffered
	}
	if err := s.useState(ctx, by, kind, c.State); err != nil {
		return connection.Credential{}, err
	}
	credential, err := service.Exchange(ctx, client, c.Code, s.verifier(c.State))
	if code, isFailure := errors.AsType[connection.Code](err); isFailure {
		t := connection.Trial{Report: connection.FailedAt(connection.Authenticate, code), At: by.At}
		err = t.Failure(connection.Consented(kind, "", client, secret.String{}))
	}
	return credential, err
}

// consent is a consent that ends with its connection.
type consent struct {
	isConsent  bool // whether the connection's credential is one
	service    ports.Consents
	credential connection.Credential // zero if it cannot be opened
}

// consent returns the consent that is about to be revoked with its connection. A credential that cannot be opened does
// not keep the connection alive.
func (s *Service) consent(
	ctx context.Context, store ports.Connections, by identity.Actor, c *connection.Connection,
) consent {
	if !c.IsConsent() {
		return consent{}
	}
	service, _ := s.deps.Warehouses[c.Kind].(ports.Consents)
	credential, _, err := s.opened(ctx, store, by, c)
	if err != nil {
		return consent{isConsent: true}
	}
	return consent{true, service, credential}
}

// withdraw ends a consent at its service, and returns whether that worked; nil without a consent.
func (s *Service) withdraw(ctx context.Context, grant consent) *bool {
	if !grant.isConsent {
		return nil
	}
	if grant.service == nil || grant.credential.Kind() == "" {
		return new(false)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawWithin) // even if the caller has left
	defer cancel()
	return new(grant.service.Withdraw(ctx, grant.credential) == nil)
}
