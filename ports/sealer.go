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
	Digester

	// Compatible reports whether nodes of v0.1.0 may have to open what is sealed now.
	Compatible() bool

	// Fingerprint answers 16 hexadecimal digits of a keyed hash: the same for the same content and
	// associated data, whatever key of the keyring is the primary one. Nobody without the keyring
	// can try guesses of the content against it.
	Fingerprint(content, associated []byte) string
}

// Digester computes keyed digests, for what must be recognised and must not be guessable where the
// digest is kept: no one without the keyring can try guesses against one.
type Digester interface {
	// Digest returns HMAC-SHA-256 of parts, each with its length, under a key that is derived for
	// purpose. The same purpose and parts have the same digest on every node, after a restart and after
	// a rotation of the keyring. Two purposes share no digests. It is safe for concurrent use.
	Digest(purpose string, parts ...[]byte) [32]byte
}
