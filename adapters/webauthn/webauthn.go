// Package webauthn verifies the responses of people's authenticators (WebAuthn Level 2 and 3) with go-webauthn.
package webauthn

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Verifier implements ports.Authenticators.
type Verifier struct{}

var _ ports.Authenticators = Verifier{}

// Limits of what an authenticator may choose (WebAuthn Level 2, section 4: a credential ID has at most 1023 bytes).
const (
	maxCredentialID = 1023
	maxPublicKey    = 4096
)

// Read implements ports.Authenticators.
func (Verifier) Read(response []byte) (credential, clientData []byte, err error) {
	var in struct {
		protocol.PublicKeyCredential
		Response protocol.AuthenticatorResponse `json:"response"`
	}
	if err := json.Unmarshal(response, &in); err != nil || len(in.RawID) == 0 || len(in.RawID) > maxCredentialID {
		return nil, nil, account.ErrPasskeyInvalid
	}
	return in.RawID, in.Response.ClientDataJSON, nil
}

// attestations are the formats that a browser returns for the conveyance preference none (WebAuthn Level 2, section
// 5.1.3): none, and packed for self attestation. Refusing the others keeps their parsers out of reach.
var attestations = []string{string(protocol.AttestationFormatNone), string(protocol.AttestationFormatPacked)}

// Created implements ports.Authenticators.
func (Verifier) Created(
	rp account.RelyingParty, user identity.UserID, challenge, response []byte,
) (account.PasskeyCredential, error) {
	data, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil || !slices.Contains(attestations, data.Response.AttestationObject.Format) {
		return account.PasskeyCredential{}, account.ErrPasskeyInvalid
	}
	server, err := newServer(rp)
	if err != nil {
		return account.PasskeyCredential{}, err
	}
	session := newSession(user, challenge)
	for _, alg := range account.PasskeyAlgorithms {
		session.CredParams = append(session.CredParams, protocol.CredentialParameter{
			Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.COSEAlgorithmIdentifier(alg),
		})
	}
	credential, err := server.CreateCredential(person{id: user}, session, data)
	if err != nil || len(credential.ID) > maxCredentialID || len(credential.PublicKey) > maxPublicKey {
		return account.PasskeyCredential{}, account.ErrPasskeyInvalid
	}
	return account.PasskeyCredential{
		Credential: credential.ID, PublicKey: credential.PublicKey, SignCount: credential.Authenticator.SignCount,
		Synced: credential.Flags.BackupEligible,
	}, nil
}

// Signed implements ports.Authenticators.
func (Verifier) Signed(
	rp account.RelyingParty, k *account.Passkey, challenge, response []byte, isNamed bool,
) (signCount uint32, err error) {
	data, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil || (!isNamed && len(data.Response.UserHandle) == 0) {
		return 0, account.ErrPasskeyInvalid
	}
	server, err := newServer(rp)
	if err != nil {
		return 0, err
	}
	if _, err := server.ValidateLogin(person{k.User, k}, newSession(k.User, challenge), data); err != nil {
		return 0, account.ErrPasskeyInvalid
	}
	return data.Response.AuthenticatorData.Counter, nil
}

// newServer returns a WebAuthn relying party that accepts the pages of one origin, and no frames of other origins.
func newServer(rp account.RelyingParty) (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{
		RPID: rp.Host, RPDisplayName: rp.Name, RPOrigins: []string{rp.Origin},
		// Password managers add outputs that were not requested, such as credProps.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// newSession returns what a challenge requires. Its end is the caller's.
func newSession(user identity.UserID, challenge []byte) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(challenge), UserID: []byte(user),
		UserVerification: protocol.VerificationRequired,
	}
}

// person is a user with at most one passkey.
type person struct {
	id      identity.UserID
	passkey *account.Passkey
}

// WebAuthnID implements webauthn.User.
func (p person) WebAuthnID() []byte { return []byte(p.id) }

// WebAuthnName implements webauthn.User.
func (p person) WebAuthnName() string { return string(p.id) }

// WebAuthnDisplayName implements webauthn.User.
func (p person) WebAuthnDisplayName() string { return string(p.id) }

// WebAuthnCredentials implements webauthn.User.
func (p person) WebAuthnCredentials() []webauthn.Credential {
	if p.passkey == nil {
		return nil
	}
	return []webauthn.Credential{{
		ID: p.passkey.Credential, PublicKey: p.passkey.PublicKey,
		Flags:         webauthn.CredentialFlags{BackupEligible: p.passkey.Synced},
		Authenticator: webauthn.Authenticator{SignCount: p.passkey.SignCount},
	}}
}
