package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash/crc32"
	"strings"
)

// A token is its prefix, 43 base-62 digits (just over 256 random bits), and a CRC-32 over all before in 6 base-62
// digits, which rejects invalid tokens without a database query.
const (
	tokenDigits    = 43
	checksumDigits = 6
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Hash is a whole token's SHA-256: what the store looks up.
type Hash [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, h[:]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := base64.RawURLEncoding.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return errors.New("secret: not a hash")
	}
	copy(h[:], b)
	return nil
}

// Token is a secret string that Atrium issued and later receives as proof.
type Token struct{ String }

// NewToken returns a new token. The prefix names its purpose, and lets scanners of source code find it.
func NewToken(prefix string) Token {
	digits := make([]byte, 0, tokenDigits)
	for buf := make([]byte, 64); len(digits) < tokenDigits; {
		_, _ = rand.Read(buf) // never fails (crypto/rand)
		for _, b := range buf {
			if b < 248 && len(digits) < tokenDigits { // 248 = 4 × 62: no digit is favoured
				digits = append(digits, base62[b%62])
			}
		}
	}
	body := prefix + string(digits)
	sum := checksum(body)
	return Token{New(body + string(sum[:]))}
}

// ParseToken checks a token's form and checksum, with prefix, so that an invalid one costs no look-up.
func ParseToken(prefix, s string) (Token, bool) {
	if len(s) != len(prefix)+tokenDigits+checksumDigits || !strings.HasPrefix(s, prefix) {
		return Token{}, false
	}
	body := s[:len(s)-checksumDigits]
	if sum := checksum(body); string(sum[:]) != s[len(body):] {
		return Token{}, false
	}
	return Token{New(s)}, true
}

// Hash returns the stored form of t.
//
// The buffer is on the stack, and long enough for any token.
func (t Token) Hash() Hash { return sha256.Sum256(append(make([]byte, 0, 128), t.Reveal()...)) }

// Hint returns the part of t that may be shown later.
func (t Token) Hint() string {
	s := t.Reveal()
	return s[len(s)-4:]
}

// checksum returns the digits of the CRC-32 of body, like crc32.ChecksumIEEE, which would need body on the heap.
func checksum(body string) (out [checksumDigits]byte) {
	sum := ^uint32(0)
	for i := range len(body) {
		sum = crc32.IEEETable[(sum^uint32(body[i]))&0xff] ^ sum>>8
	}
	sum = ^sum
	for i := checksumDigits - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}
