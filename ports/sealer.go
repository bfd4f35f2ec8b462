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
