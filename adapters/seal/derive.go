package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/atrium-hq/atrium/ports"
)

// Purpose names what a derived key seals. Its text is part of the derivation, so that it never changes.
type Purpose string

// The purposes of sealing. Each has its own key: data sealed for one purpose does not open for another.
const (
	Cursors       Purpose = "cursor"
	EmbedSessions Purpose = "embed session"
	EmbedTickets  Purpose = "embed ticket"
	SignIns       Purpose = "sign-in"           // at a provider, in a cookie
	Answers       Purpose = "idempotent answer" // that show a secret
	DataKeys      Purpose = "data key"          // of Envelope
	Challenges    Purpose = "passkey challenge"
)

// Sealed data begins with a version byte and the id of the key in four bytes, big-endian.
const (
	versionTink    = 1 // by the key of the keyring itself, as Tink does and v0.1.0 did
	versionDerived = 2 // by a key that is derived from it: nonce, encrypted content and tag follow
	headerSize     = 5
)

// Sealer returns a sealer for one purpose. Its key is derived from the primary key (HKDF-SHA-256), and it
// opens what any key of the keyring sealed for the same purpose, and what v0.1.0 sealed.
func (k *Keyring) Sealer(p Purpose) ports.Sealer { return purposeSealer{k, p} }

// DeriveSince sets the time from which sealers use derived keys. Until then they seal as v0.1.0 did, so that nodes of
// v0.1.0 can open the data. The zero time, which is the default, means always.
func (k *Keyring) DeriveSince(t time.Time) { k.since.Store(&t) }

// DerivesIn returns how long it takes until sealers use derived keys; zero or less if they do now.
func (k *Keyring) DerivesIn() time.Duration {
	if last := k.since.Load(); last != nil {
		return time.Until(*last)
	}
	return 0
}

type purposeSealer struct {
	ring    *Keyring
	purpose Purpose
}

// Seal implements ports.Sealer.
func (s purposeSealer) Seal(plain, context []byte) ([]byte, error) {
	if s.ring.DerivesIn() > 0 {
		return s.ring.sealDirectly(plain, context)
	}
	state := s.ring.state.Load()
	aead, err := state.derive(state.primary, s.purpose)
	if err != nil {
		return nil, fmt.Errorf("keyring: derive a key: %w", err)
	}
	header := envelopeHeader(versionDerived, state.primary)
	return aead.Seal(header, nil, plain, context), nil //nolint:gosec // the AEAD prepends a random nonce
}

// Open implements ports.Sealer. For data that an unknown key sealed, it reads the key file again, at most once a
// second: another process may have rotated it and sealed with the new key.
func (s purposeSealer) Open(ciphertext, context []byte) ([]byte, error) {
	plain, err := s.open(ciphertext, context)
	if err != nil && s.ring.reload(ciphertext) {
		plain, err = s.open(ciphertext, context)
	}
	if err != nil {
		return nil, errOpen
	}
	return plain, nil
}

func (s purposeSealer) open(ciphertext, context []byte) ([]byte, error) {
	state := s.ring.state.Load()
	if len(ciphertext) < headerSize || ciphertext[0] != versionDerived {
		return state.aead.Decrypt(ciphertext, context)
	}
	aead, err := state.derive(binary.BigEndian.Uint32(ciphertext[1:]), s.purpose)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nil, ciphertext[headerSize:], context)
}

// prefix is the beginning of everything that the sealer seals now.
func (s purposeSealer) prefix() []byte {
	if s.ring.DerivesIn() > 0 {
		return envelopeHeader(versionTink, s.ring.state.Load().primary)
	}
	return envelopeHeader(versionDerived, s.ring.state.Load().primary)
}

func envelopeHeader(version byte, key uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{version}, key)
}

// rootKeys are the bytes of the enabled keys, by id.
func rootKeys(handle *keyset.Handle) (map[uint32][]byte, error) {
	out := map[uint32][]byte{}
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			return nil, err
		}
		if entry.KeyStatus() != keyset.Enabled {
			continue
		}
		key, ok := entry.Key().(*aesgcm.Key)
		if !ok {
			return nil, errors.New("it holds a key of a type other than AES-GCM")
		}
		out[entry.KeyID()] = key.KeyBytes().Data(insecuresecretdataaccess.Token{})
	}
	return out, nil
}

// derivedKeys are the ciphers that were derived so far.
type derivedKeys struct {
	mu   sync.RWMutex
	made map[derivation]cipher.AEAD
}

type derivation struct {
	key     uint32
	purpose Purpose
}

// derive returns the cipher for a purpose under a key of the keyring. An error if there is no such key.
func (s *state) derive(key uint32, p Purpose) (cipher.AEAD, error) {
	want := derivation{key, p}
	s.derived.mu.RLock()
	aead, ok := s.derived.made[want]
	s.derived.mu.RUnlock()
	if ok {
		return aead, nil
	}
	root, ok := s.roots[key]
	if !ok {
		return nil, errOpen
	}
	secret, err := hkdf.Key(sha256.New, root, nil, "atrium seal 1: "+string(p), 32)
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	if aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, err
	}
	s.derived.mu.Lock()
	defer s.derived.mu.Unlock()
	s.derived.made[want] = aead
	return aead, nil
}
