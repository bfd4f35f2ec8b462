package seal_test

import (
	"strconv"
	"testing"
)

// BenchmarkDigest compares a digest whose key is remembered with one whose key must be derived.
func BenchmarkDigest(b *testing.B) {
	e := newEnvelope(b, newRing(b), &shelf{})
	content := []byte("POST /api/connections")
	b.Run("the key is remembered", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Digest("bench", content)
		}
	})
	b.Run("the key is derived", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			e.Digest("bench "+strconv.Itoa(i), content)
		}
	})
}
