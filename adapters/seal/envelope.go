package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/atrium-hq/atrium/ports"
)

// Envelope seals each content under its own data key (AES-256-GCM), which the keyring wraps. It follows the keyring:
// after Rotate or Reload it wraps under the new primary key.
//
// The format is Tink's envelope: the length of the wrapped data key in four bytes (big-endian),
// the wrapped key, the encrypted content.
type Envelope struct {
	keys    purposeSealer // of data keys
	aead    tink.AEAD
	root    []byte   // the key of Fingerprint; the keys of Digest are derived from it
	digests sync.Map // purpose → key; to derive one takes six times as long as the digest (BenchmarkDigest)
}

var _ ports.CredentialSealer = (*Envelope)(nil)

// fingerprintPurpose binds the sealed key of fingerprints.
var fingerprintPurpose = []byte("atrium fingerprint key")

// NewEnvelope returns an Envelope on a keyring. keep receives a fresh sealed fingerprint key,
// stores it if no key is stored, and returns the stored key.
func NewEnvelope(ring *Keyring, keep func(fresh []byte) ([]byte, error)) (*Envelope, error) {
	keys := purposeSealer{ring, DataKeys}
	e := &Envelope{keys: keys, aead: aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), wrapper{keys})}
	key := make([]byte, sha256.Size)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	fresh, err := e.Seal(key, fingerprintPurpose)
	if err != nil {
		return nil, err
	}
	keyring, err := keep(fresh)
	if err != nil {
		return nil, err
	}
	if e.root, err = e.Open(keyring, fingerprintPurpose); err != nil {
		return nil, fmt.Errorf("seal: the key of fingerprints: %w", err)
	}
	return e, nil
}

// Seal implements ports.Sealer.
func (e *Envelope) Seal(plain, context []byte) ([]byte, error) {
	ciphertext, err := e.aead.Encrypt(plain, context)
	if err != nil {
		return nil, fmt.Errorf("seal: encrypt %d bytes: %w", len(plain), err)
	}
	return ciphertext, nil
}

// Open implements ports.Sealer.
func (e *Envelope) Open(ciphertext, context []byte) ([]byte, error) {
	plain, err := e.aead.Decrypt(ciphertext, context)
	if err != nil {
		return nil, errOpen
	}
	return plain, nil
}

// Fingerprint implements ports.CredentialSealer (HMAC-SHA-256, cut to 64 bits).
func (e *Envelope) Fingerprint(content, context []byte) string {
	mac := hmac.New(sha256.New, e.root)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(context))))
	mac.Write(context)
	mac.Write(content)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Digest implements ports.Digester. The keys of all purposes are derived (HKDF-SHA-256) from the key of
// fingerprints, which outlives rotations of the keyring.
func (e *Envelope) Digest(purpose string, parts ...[]byte) [32]byte {
	key, ok := e.digests.Load(purpose)
	if !ok {
		keyBytes, err := hkdf.Key(sha256.New, e.root, nil, "atrium digest 1: "+purpose, sha256.Size)
		if err != nil {
			panic(err) // only a length beyond 255 hashes, or FIPS mode with a short key, is refused
		}
		key, _ = e.digests.LoadOrStore(purpose, keyBytes)
	}
	mac := hmac.New(sha256.New, key.([]byte)) //nolint:errcheck,forcetypeassert // only this method stores
	for _, part := range parts {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write(part)
	}
	return [32]byte(mac.Sum(nil))
}

// Compatible implements ports.CredentialSealer.
func (e *Envelope) Compatible() bool { return e.keys.ring.DerivesIn() > 0 }

// Rebind opens data that was sealed for one associated data, and seals it for another under a new data key.
func (e *Envelope) Rebind(ciphertext, from, to []byte) ([]byte, error) {
	plain, err := e.Open(ciphertext, from)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	return e.Seal(plain, to)
}

// Rewrap returns sealed with its data key under the primary key: the same bytes if it is already. The content is not
// decrypted. It fails if no key of the keyring opens the data key.
func (e *Envelope) Rewrap(ciphertext []byte) ([]byte, error) {
	const header = 4
	if len(ciphertext) < header {
		return nil, errOpen
	}
	end := uint64(header) + uint64(binary.BigEndian.Uint32(ciphertext))
	if end > uint64(len(ciphertext)) {
		return nil, errOpen
	}
	dataKey, content := ciphertext[header:end], ciphertext[end:]
	key, err := e.keys.Open(dataKey, nil)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	if bytes.HasPrefix(dataKey, e.keys.prefix()) {
		return ciphertext, nil
	}
	fresh, err := e.keys.Seal(key, nil)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(len(fresh))) //nolint:gosec // a few dozen bytes
	return append(append(out, fresh...), content...), nil
}

// wrapper implements Tink's interface for wrapping data keys.
type wrapper struct{ keys purposeSealer }

func (w wrapper) Encrypt(key, context []byte) ([]byte, error) { return w.keys.Seal(key, context) }
func (w wrapper) Decrypt(key, context []byte) ([]byte, error) { return w.keys.Open(key, context) }
