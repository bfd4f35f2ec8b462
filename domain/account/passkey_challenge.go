package account

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// ChallengeLife is the lifetime of a challenge for a passkey.
const ChallengeLife = 5 * time.Minute

// RelyingParty is the host and the origin that a passkey is bound to (WebAuthn Level 2, section 4).
type RelyingParty struct {
	Host   string // the host name, without a port
	Name   string // of the org
	Origin string // of the pages: scheme, host and port
}

// ChallengePurpose is a challenge's purpose.
type ChallengePurpose string

// The values of ChallengePurpose.
const (
	ToSignIn     ChallengePurpose = "sign-in"
	ToAddPasskey ChallengePurpose = "add"
	ToStepUp     ChallengePurpose = "step-up"
)

// Challenge is for one authenticator response. It is sealed into the bytes that the authenticator signs, so that none
// is stored until it was used.
type Challenge struct {
	Org     identity.OrgID
	Purpose ChallengePurpose
	Host    string
	User    identity.UserID    // empty to sign in
	Session identity.SessionID // empty to sign in
}

// Binding returns what the sealed challenge is bound to: it opens for no other.
func (c Challenge) Binding() []byte {
	// None of the parts can hold a line break.
	return []byte(strings.Join(
		[]string{"passkey", string(c.Org), string(c.Purpose), c.Host, string(c.User), string(c.Session)}, "\n"))
}

// NewChallenge returns a new challenge's content: its end, and 16 random bytes (WebAuthn Level 2, section 13.4.3).
func NewChallenge(now time.Time) []byte {
	content := binary.BigEndian.AppendUint64(nil, uint64(now.Add(ChallengeLife).UnixMicro()))
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return append(content, random...)
}

// ChallengeEnd returns when a challenge with this content ends. ErrPasskeyInvalid if it has ended.
func ChallengeEnd(content []byte, now time.Time) (time.Time, error) {
	if len(content) < 8 {
		return time.Time{}, ErrPasskeyInvalid
	}
	end := time.UnixMicro(int64(binary.BigEndian.Uint64(content))).UTC() //nolint:gosec // as NewChallenge wrote it
	if !now.Before(end) {
		return time.Time{}, ErrPasskeyInvalid
	}
	return end, nil
}

// AnsweredChallenge returns the challenge in a response's client data. Returns ErrPasskeyInvalid if not found.
func AnsweredChallenge(clientData []byte) ([]byte, error) {
	var in struct {
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(clientData, &in) != nil {
		return nil, ErrPasskeyInvalid
	}
	ciphertext, err := base64.RawURLEncoding.DecodeString(in.Challenge)
	if err != nil || len(ciphertext) == 0 {
		return nil, ErrPasskeyInvalid
	}
	return ciphertext, nil
}

// PasskeyAlgorithms are the signature algorithms of passkeys, the preferred one first: EdDSA, ES256 and RS256, by their
// numbers in the IANA registry of COSE algorithms.
var PasskeyAlgorithms = []int{-8, -7, -257}
