package account

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/atrium-hq/atrium/domain/secret"
)

// Token format: atk_ + 43 base-62 digits of 256 random bits + 6 base-62 digits of a CRC-32 over
// all before, which refuses garbage without a look at the database.
const (
	tokenPrefix    = "atk_"
	tokenDigits    = 43
	checksumDigits = 6
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Hash is the SHA-256 of a whole token: what the store looks up.
type Hash [sha256.Size]byte

// Token is an API key's secret text.
type Token struct{ secret.String }

// NewToken returns a token of 256 random bits (rounded down to 43 digits: 256.03 bits of range).
func NewToken() Token {
	digits := make([]byte, 0, tokenDigits)
	for buf := make([]byte, 64); len(digits) < tokenDigits; {
		_, _ = rand.Read(buf) // never fails (crypto/rand)
		for _, b := range buf {
			if b < 248 && len(digits) < tokenDigits { // 248 = 4 × 62: no digit is favoured
				digits = append(digits, base62[b%62])
			}
		}
	}
	body := tokenPrefix + string(digits)
	return Token{secret.New(body + checksum(body))}
}

// ParseToken checks a token's form and checksum; a false answer costs no look-up.
func ParseToken(s string) (Token, bool) {
	if len(s) != len(tokenPrefix)+tokenDigits+checksumDigits || !strings.HasPrefix(s, tokenPrefix) {
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
