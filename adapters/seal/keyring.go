// Package seal encrypts with the deployment's keyring: a Tink keyset of AES-256-GCM keys, stored in a file that only
// its owner can read, or passed inline.
package seal

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/atrium-hq/atrium/domain/secret"
)

var (
	// ErrNoKeyFile means that the key file does not exist. If data is sealed with it, the operator must
	// restore it; Create is only for a deployment that has sealed nothing yet.
	ErrNoKeyFile = errors.New("keyring: there is no key file")

	// ErrWrongKeyring is returned by Verify if the data was sealed with other keys.
	ErrWrongKeyring = errors.New("keyring: this is not the keyring that the data was sealed with")

	// ErrInline is returned by Rotate if the keyring has no file to write to.
	ErrInline = errors.New("keyring: the keyset was given inline and cannot be rotated in place: rotate it in a key " +
		"file and hand over the new content")

	// errOpen is the one error for all reasons: no caller may learn why sealed bytes do not open.
	errOpen = errors.New("keyring: the sealed bytes do not open with this keyring and associated data")
)

// Config configures where the keys are.
type Config struct {
	// KeyFile is the path of the key file that Create wrote.
	KeyFile string

	// Keyset is a key file's content, for nodes without a disk. It overrides KeyFile.
	Keyset secret.String
}

// Keyring holds the keys. For returns a sealer that seals under its primary key and opens under any of its keys. A
// Keyring is safe for concurrent use, and never prints key material.
type Keyring struct {
	file   string // empty for an inline keyset
	state  atomic.Pointer[state]
	looked atomic.Int64 // when the key file was last looked at for a key that is not known, in Unix nanoseconds
	since  atomic.Pointer[time.Time]
}

// state is what Rotate replaces as a whole.
type state struct {
	handle  *keyset.Handle
	aead    tink.AEAD
	primary uint32
	roots   map[uint32][]byte
	derived derivedKeys
}

// newState prepares a keyring's keys: the primary key encrypts, every key decrypts.
func newState(handle *keyset.Handle) (*state, error) {
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, errors.New("it holds a key that is not for authenticated encryption (AEAD)")
	}
	primary, err := handle.Primary()
	if err != nil {
		return nil, errors.New("it has no primary key")
	}
	s := &state{
		handle:  handle,
		aead:    primitive,
		primary: primary.KeyID(),
		derived: derivedKeys{made: map[derivation]cipher.AEAD{}},
	}
	s.roots, err = rootKeys(handle)
	return s, err
}

// Open reads the keyring. It returns ErrNoKeyFile if the key file is missing, and refuses a file that group or
// others may read or write.
func Open(c Config) (*Keyring, error) {
	k := &Keyring{}
	if !c.Keyset.IsZero() {
		s, err := parse(strings.NewReader(c.Keyset.Reveal()))
		if err != nil {
			return nil, fmt.Errorf("keyring: the inline keyset: %w", err)
		}
		k.state.Store(s)
		return k, nil
	}
	s, err := readFile(c.KeyFile)
	if err != nil {
		return nil, err
	}
	k.file = c.KeyFile
	k.state.Store(s)
	return k, nil
}

// sealDirectly seals under the primary key itself, as v0.1.0 did.
func (k *Keyring) sealDirectly(plain, context []byte) ([]byte, error) {
	ciphertext, err := k.state.Load().aead.Encrypt(plain, context)
	if err != nil {
		return nil, fmt.Errorf("keyring: encrypt %d bytes: %w", len(plain), err)
	}
	return ciphertext, nil
}

// reload reads the key file again to find an unknown key, and reports whether it did.
func (k *Keyring) reload(ciphertext []byte) bool {
	id, ok := sealingKey(ciphertext)
	isKnown := slices.ContainsFunc(k.Keys(), func(i KeyInfo) bool { return i.ID == id })
	if !ok || isKnown || k.file == "" {
		return false
	}
	nanos, last := time.Now().UnixNano(), k.looked.Load()
	if time.Duration(nanos-last) < time.Second || !k.looked.CompareAndSwap(last, nanos) {
		return false
	}
	return k.Reload() == nil
}

// KeyInfo has the key parts that may be shown.
type KeyInfo struct {
	ID      uint32 `json:"id"`
	Primary bool   `json:"primary"`
	Status  string `json:"status"` // enabled, disabled or destroyed; only enabled keys open anything
}

// Keys lists the keys, oldest first.
func (k *Keyring) Keys() []KeyInfo {
	handle := k.state.Load().handle
	keys := make([]KeyInfo, 0, handle.Len())
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			panic(err) // i is within the handle's length
		}
		keys = append(keys, KeyInfo{ID: entry.KeyID(), Primary: entry.IsPrimary(),
			Status: strings.ToLower(entry.KeyStatus().String())})
	}
	return keys
}

// The check value is this text, sealed for this purpose.
var (
	checkText    = []byte("atrium")
	checkPurpose = []byte("atrium keyring check")
)

// Check returns a value to store with the data. Verify later uses it to check that a keyring belongs to the data. It
// reveals nothing. Nodes of v0.1.0 can verify it, too.
func (k *Keyring) Check() ([]byte, error) { return k.sealDirectly(checkText, checkPurpose) }

// Verify returns ErrWrongKeyring, with the key ids that explain it, unless this keyring opens
// a value that Check made, of this keyring or of an earlier state of it.
func (k *Keyring) Verify(check []byte) error {
	if text, err := k.state.Load().aead.Decrypt(check, checkPurpose); err == nil && slices.Equal(text, checkText) {
		return nil
	}
	ids := make([]string, 0, 1)
	for _, key := range k.Keys() {
		ids = append(ids, fmt.Sprint(key.ID))
	}
	from := "the inline keyset"
	if k.file != "" {
		from = "key file " + k.file
	}
	return fmt.Errorf("%w: the data needs %s, and %s holds %s: bring back the key file that belongs to this data, "+
		"nothing else can open it",
		ErrWrongKeyring, neededKey(check), from, strings.Join(ids, ", "))
}

// neededKey names the key that sealed something.
func neededKey(ciphertext []byte) string {
	id, ok := sealingKey(ciphertext)
	if !ok {
		return "another key"
	}
	return fmt.Sprintf("key %d", id)
}

// sealingKey returns the id of the key that sealed data, which is at its beginning.
func sealingKey(ciphertext []byte) (id uint32, ok bool) {
	if len(ciphertext) < headerSize || (ciphertext[0] != versionTink && ciphertext[0] != versionDerived) {
		return 0, false
	}
	return binary.BigEndian.Uint32(ciphertext[1:]), true
}
