package sessions

import (
	"encoding/base64"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
)

func toPasskey(k *account.Passkey) openapi.Passkey {
	return openapi.Passkey{
		ID:         string(k.ID),
		Name:       k.Name,
		Host:       k.Host,
		Synced:     k.Synced,
		Revision:   k.Revision,
		CreatedAt:  openapi.Time(k.CreatedAt),
		UpdatedAt:  openapi.Time(k.UpdatedAt),
		LastUsedAt: convert.OrNullTime(k.LastUsedAt),
	}
}

// requestOptions are PublicKeyCredentialRequestOptionsJSON (WebAuthn Level 3, section 5.1.9).
type requestOptions struct {
	Challenge        string              `json:"challenge"`
	RPID             string              `json:"rpId"`
	Timeout          int64               `json:"timeout"` // milliseconds
	UserVerification string              `json:"userVerification"`
	AllowCredentials []passkeyDescriptor `json:"allowCredentials,omitempty"`
}

type passkeyDescriptor struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

const publicKey = "public-key"

// creationOptions are PublicKeyCredentialCreationOptionsJSON (WebAuthn Level 3, section 5.1.8).
type creationOptions struct {
	Challenge string `json:"challenge"`
	RP        struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"rp"`
	User struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		DisplayName string `json:"displayName"`
	} `json:"user"`
	Algorithms             []passkeyAlgorithm  `json:"pubKeyCredParams"`
	Timeout                int64               `json:"timeout"` // milliseconds
	ExcludeCredentials     []passkeyDescriptor `json:"excludeCredentials"`
	Attestation            string              `json:"attestation"`
	AuthenticatorSelection struct {
		ResidentKey        string `json:"residentKey"`
		RequireResidentKey bool   `json:"requireResidentKey"`
		UserVerification   string `json:"userVerification"`
	} `json:"authenticatorSelection"`
}

type passkeyAlgorithm struct {
	Type string `json:"type"`
	Alg  int    `json:"alg"` // of the IANA registry of COSE algorithms
}

// base64URL encodes bytes as WebAuthn does in JSON.
func base64URL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func descriptors(passkeys []account.Passkey) []passkeyDescriptor {
	out := make([]passkeyDescriptor, len(passkeys))
	for i := range passkeys {
		out[i] = passkeyDescriptor{ID: base64URL(passkeys[i].Credential), Type: publicKey}
	}
	return out
}

func toRequestOptions(rp account.RelyingParty, o sessions.PasskeyOptions) openapi.PasskeyOptions {
	return openapi.PasskeyOptions{PublicKey: requestOptions{
		Challenge:        base64URL(o.Challenge),
		RPID:             rp.Host,
		Timeout:          account.ChallengeLife.Milliseconds(),
		UserVerification: "required",
		AllowCredentials: descriptors(o.Have),
	}}
}

func toCreationOptions(rp account.RelyingParty, u *account.User, o sessions.PasskeyOptions) openapi.PasskeyOptions {
	out := creationOptions{
		Challenge:          base64URL(o.Challenge),
		Timeout:            account.ChallengeLife.Milliseconds(),
		ExcludeCredentials: descriptors(o.Have),
		Attestation:        "none",
	}
	out.RP.ID, out.RP.Name = rp.Host, rp.Name
	out.User.ID, out.User.Name, out.User.DisplayName = base64URL([]byte(u.ID)), u.Email, u.Name
	for _, alg := range account.PasskeyAlgorithms {
		out.Algorithms = append(out.Algorithms, passkeyAlgorithm{Type: publicKey, Alg: alg})
	}
	selection := &out.AuthenticatorSelection
	selection.ResidentKey, selection.RequireResidentKey, selection.UserVerification = "required", true, "required"
	return openapi.PasskeyOptions{PublicKey: out}
}
