package ports

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Passkeys stores the passkeys of people, and the challenges that were used.
type Passkeys interface {
	// Update loads a user of by's org with all memberships, and the user's passkeys, oldest first. It calls change, and
	// saves the passkey that change added, if any, and those that it changed or removed, all in one transaction.
	// Concurrent calls for one user wait for each other. account.ErrUserNotFound if the org has no such user.
	// account.ErrPasskeyExists if the org has the added credential already.
	Update(ctx context.Context, by identity.Actor, user identity.UserID,
		change func(p *account.Person, passkeys []*account.Passkey) (addition *account.Passkey, err error)) error

	// List lists a user's passkeys, newest first.
	List(ctx context.Context, org identity.OrgID, user identity.UserID, q page.Query) (account.PasskeyPage, error)

	// Find returns the passkey of org with a credential, which is bound to host. Returns account.ErrPasskeyInvalid if
	// not found.
	Find(ctx context.Context, org identity.OrgID, host string, credential []byte) (*account.Passkey, error)

	// UseChallenge records that a challenge of org was used, which ends at expires. account.ErrPasskeyInvalid if it was
	// used before: of several concurrent calls only one succeeds.
	UseChallenge(ctx context.Context, org identity.OrgID, h account.Hash, expires time.Time) error
}

// Authenticators verifies what the authenticators of people sign (WebAuthn Level 2). It has no state. The responses are
// as PublicKeyCredential.toJSON in a browser returns them.
type Authenticators interface {
	// Read returns the identifier of the credential and the client data in a response, without verifying it.
	// account.ErrPasskeyInvalid if it is no response.
	Read(response []byte) (credential, clientData []byte, err error)

	// Created verifies the response to a credential's creation for user: challenge, origin, relying party, user
	// presence and user verification. It accepts every attestation, and trusts none. account.ErrPasskeyInvalid if the
	// response does not verify.
	Created(
		rp account.RelyingParty, user identity.UserID, challenge, response []byte,
	) (account.PasskeyCredential, error)

	// Signed verifies, as Created does, that the authenticator with k has signed the challenge, and returns its
	// signature counter. A user that the response names must be k's. It must name one if isNamed is false: nobody has
	// said who signs in (WebAuthn Level 2, section 7.2, step 6). account.ErrPasskeyInvalid if the response does not
	// verify.
	Signed(
		rp account.RelyingParty, k *account.Passkey, challenge, response []byte, isNamed bool,
	) (signCount uint32, err error)
}
