package ports

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sealer encrypts what must not be readable where it is kept (AEAD under the deployment's
// keyring). The associated data is not kept: what was sealed for one purpose opens for no other.
type Sealer interface {
	// Seal encrypts plain under the primary key. Two calls never answer the same bytes.
	Seal(plain, associated []byte) (sealed []byte, err error)

	// Open decrypts what Seal answered for the same associated data, under any key of the
	// keyring, old ones included. Anything else is an error that tells nothing of the content.
	Open(sealed, associated []byte) (plain []byte, err error)
}

// CredentialSealer seals what is kept for long: each content under a data key of its own, which the
// keyring wraps. A new primary key then means to wrap the data keys anew, and no content is seen.
type CredentialSealer interface {
	Sealer

	// Fingerprint answers 16 hexadecimal digits of a keyed hash: the same for the same content and
	// associated data, whatever key of the keyring is the primary one. Nobody without the keyring
	// can try guesses of the content against it.
	Fingerprint(content, associated []byte) string
}
