package ports

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Sealer encrypts data that must not be readable where it is stored (AEAD under the deployment's
// keyring). The associated data is not stored: data that was sealed for one purpose opens for no other.
type Sealer interface {
	// Seal encrypts plain under the primary key. Two calls never return the same bytes.
	Seal(plain, context []byte) (ciphertext []byte, err error)

	// Open decrypts what Seal returned for the same associated data, under any key of the keyring, old
	// ones included. Anything else is an error that reveals nothing of the content.
	Open(ciphertext, context []byte) (plain []byte, err error)
}

// CredentialSealer seals long-lived data: each content under its own data key, which the keyring wraps.
// A new primary key requires only that the data keys are wrapped again; no content is decrypted.
type CredentialSealer interface {
	Sealer
	Digester

	// Compatible reports whether nodes of v0.1.0 may have to open newly sealed data.
	Compatible() bool

	// Fingerprint returns a keyed hash in 16 hexadecimal digits: the same for the same content and associated data,
	// whichever key of the keyring is primary. Guesses of the content cannot be tested against it without the keyring.
	Fingerprint(content, context []byte) string
}

// Digester computes keyed digests of data that must be recognised but not guessable where the digest is
// stored: guesses cannot be tested against a digest without the keyring.
type Digester interface {
	// Digest returns HMAC-SHA-256 of parts, each with its length, under a key that is derived for
	// purpose. The same purpose and parts have the same digest on every node, after a restart and after
	// a rotation of the keyring. Two purposes share no digests. It is safe for concurrent use.
	Digest(purpose string, parts ...[]byte) [32]byte
}
