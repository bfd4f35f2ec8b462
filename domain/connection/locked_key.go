package connection

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" //nolint:gosec // RFC 8018 has it, and Snowflake's documentation makes keys with it
	"crypto/pbkdf2"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // the default of PBKDF2 in RFC 8018; only derives a key from a passphrase
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// The fields for a key with a passphrase.
const (
	fieldPrivateKey = "private_key"
	fieldPassphrase = "private_key_passphrase"
)

// lockedKey is the type of PEM block that holds a key with a passphrase (RFC 7468, section 11).
const lockedKey = "ENCRYPTED PRIVATE KEY"

// maxIterations bounds the work of trying a passphrase: 0.2 seconds. OpenSSL makes 2,048 iterations.
const maxIterations = 1 << 18

var errLocked = errors.New("the passphrase does not open the private key, or its encryption is not supported")

// The algorithms of PBES2 (RFC 8018, appendices A and B).
var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}

	hashes = map[string]func() hash.Hash{
		"1.2.840.113549.2.7":  sha1.New,
		"1.2.840.113549.2.9":  sha256.New,
		"1.2.840.113549.2.11": sha512.New,
	}
	ciphers = map[string]struct {
		keySize int
		block   func(key []byte) (cipher.Block, error)
	}{
		"1.2.840.113549.3.7":      {24, des.NewTripleDESCipher},
		"2.16.840.1.101.3.4.1.2":  {16, aes.NewCipher},
		"2.16.840.1.101.3.4.1.22": {24, aes.NewCipher},
		"2.16.840.1.101.3.4.1.42": {32, aes.NewCipher},
	}
)

// ParseLockedRSAKey is ParseRSAKey for a key in PKCS #8 with a passphrase. An empty passphrase is for a key without
// one.
func ParseLockedRSAKey(text, passphrase string) (*rsa.PrivateKey, error) {
	if passphrase == "" {
		return ParseRSAKey(text)
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil || strings.TrimSpace(string(rest)) != "" || block.Type != lockedKey || len(block.Bytes) > maxRSA {
		return nil, errors.New("not a private key in PKCS #8 with a passphrase")
	}
	der, err := unlock(block.Bytes, passphrase)
	if err != nil {
		return nil, err
	}
	return ParseRSAKey(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// unlock decrypts a key (RFC 5958, section 3) by PBES2 (RFC 8018, section 6.2).
func unlock(der []byte, passphrase string) ([]byte, error) {
	var key struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	var scheme struct{ Derivation, Encryption pkix.AlgorithmIdentifier }
	var derivation struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		Function   pkix.AlgorithmIdentifier `asn1:"optional"`
	}
	var iv []byte
	if !decode(der, &key) || !key.Algorithm.Algorithm.Equal(oidPBES2) ||
		!decode(key.Algorithm.Parameters.FullBytes, &scheme) || !scheme.Derivation.Algorithm.Equal(oidPBKDF2) ||
		!decode(scheme.Derivation.Parameters.FullBytes, &derivation) ||
		!decode(scheme.Encryption.Parameters.FullBytes, &iv) {
		return nil, errLocked
	}
	function := sha1.New
	if len(derivation.Function.Algorithm) > 0 {
		function = hashes[derivation.Function.Algorithm.String()]
	}
	c, ok := ciphers[scheme.Encryption.Algorithm.String()]
	if !ok || function == nil || derivation.Iterations < 1 || derivation.Iterations > maxIterations {
		return nil, errLocked
	}
	secret, err := pbkdf2.Key(function, passphrase, derivation.Salt, derivation.Iterations, c.keySize)
	if err != nil {
		return nil, errLocked
	}
	block, err := c.block(secret)
	if err != nil || len(iv) != block.BlockSize() || len(key.Data) == 0 || len(key.Data)%block.BlockSize() != 0 {
		return nil, errLocked
	}
	plain := make([]byte, len(key.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, key.Data)
	padding := int(plain[len(plain)-1]) // RFC 8018, section 6.1.1; a wrong key shows when the rest is parsed
	if padding < 1 || padding > block.BlockSize() {
		return nil, errLocked
	}
	return plain[:len(plain)-padding], nil
}

func decode(der []byte, target any) bool {
	rest, err := asn1.Unmarshal(der, target)
	return err == nil && len(rest) == 0
}

// parseKeyOrLocked checks a key's form, which may have a passphrase, which is another field.
func parseKeyOrLocked(text string) (any, error) {
	if block, rest := pem.Decode([]byte(text)); block != nil && block.Type == lockedKey &&
		strings.TrimSpace(string(rest)) == "" {
		return block, nil
	}
	return ParseRSAKey(text)
}

// checkKey finds a key that its passphrase does not open.
func (c Credential) checkKey() []fault.Field {
	d, ok := Describe(c.kind)
	if !ok || !d.hasSecret(fieldPassphrase) {
		return nil
	}
	key, passphrase := c.secrets[fieldPrivateKey].Reveal(), c.secrets[fieldPassphrase].Reveal()
	if _, err := ParseLockedRSAKey(key, passphrase); err == nil {
		return nil
	}
	if passphrase == "" {
		return []fault.Field{{Pointer: "/credential/" + fieldPassphrase, Code: "required",
			Detail: "Must be given, because the private key has a passphrase."}}
	}
	return []fault.Field{{Pointer: "/credential/" + fieldPassphrase, Code: "invalid_format",
		Detail: "Does not open the private key. Leave it empty if the key has no passphrase."}}
}
