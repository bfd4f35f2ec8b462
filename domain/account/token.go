package account

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/atrium-hq/atrium/domain/secret"
)

// A token is its prefix, 43 base-62 digits (just over 256 random bits), and 6 base-62 digits of a
// CRC-32 over all before, which refuses garbage without a look at the database.
const (
	KeyTokenPrefix        = "atk_" // of an API key
	invitationTokenPrefix = "ati_" // of an invitation
	tokenDigits           = 43
	checksumDigits        = 6
	base62                = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Hash is the SHA-256 of a whole token: what the store looks up.
type Hash [sha256.Size]byte

// Token is the secret text of an API key or an invitation.
type Token struct{ secret.String }

// NewToken returns a fresh token for an API key.
func NewToken() Token { return newToken(KeyTokenPrefix) }

func newToken(prefix string) Token {
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
	return Token{secret.New(body + checksum(body))}
}

// ParseToken checks the form and checksum of an API key's token; a false answer costs no look-up.
func ParseToken(s string) (Token, bool) { return parseToken(KeyTokenPrefix, s) }

// ParseInvitationToken does the same for an invitation's.
func ParseInvitationToken(s string) (Token, bool) { return parseToken(invitationTokenPrefix, s) }

func parseToken(prefix, s string) (Token, bool) {
	if len(s) != len(prefix)+tokenDigits+checksumDigits || !strings.HasPrefix(s, prefix) {
		return Token{}, false
	}
	body := s[:len(s)-checksumDigits]
	if checksum(body) != s[len(body):] {
		return Token{}, false
	}
	return Token{secret.New(s)}, true
}

// Hash returns what is stored of t.
func (t Token) Hash() Hash { return sha256.Sum256([]byte(t.Reveal())) }

// Hint returns the part of t that may be shown later.
func (t Token) Hint() string {
	s := t.Reveal()
	return s[len(s)-4:]
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, checksumDigits)
	for i := checksumDigits - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}
