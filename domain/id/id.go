// Package id creates and checks identifiers: a prefix that names the kind of object, an underscore, and
// a UUIDv7 in 26 characters of Crockford's base 32 (the TypeID format, specification 0.3). They sort by
// creation time.
package id

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	length   = 26 // characters for 128 bits
)

// New returns a new identifier with prefix.
func New(prefix string) string {
	return encode(prefix, uuid.Must(uuid.NewV7())) // fails only if the system has no randomness
}

// Floor returns the lowest text that an identifier with prefix can have if it was created at a time or
// later. The result is not an identifier itself. Times before 1970 count as 1970.
func Floor(prefix string, now time.Time) string {
	var u uuid.UUID
	ms := uint64(max(0, now.UnixMilli()))
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // one byte of 48 bits
	}
	return encode(prefix, u)
}

// encode writes a UUID as 26 characters of Crockford's base 32 after a prefix.
func encode(prefix string, u uuid.UUID) string {
	var out [length]byte
	// 26 characters hold 130 bits: the first one carries three.
	var acc uint
	bits := 2
	offset := 0
	for _, b := range u {
		acc = acc<<8 | uint(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[offset] = alphabet[acc>>bits&31]
			offset++
		}
	}
	return prefix + "_" + string(out[:])
}

// Valid reports whether s is an identifier with prefix.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix+"_")
	if !ok || len(rest) != length || rest[0] > '7' {
		return false
	}
	for i := range length {
		if strings.IndexByte(alphabet, rest[i]) < 0 {
			return false
		}
	}
	return true
}
