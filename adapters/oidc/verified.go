package oidc

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	verifiedFor = time.Minute // how long a verification is remembered at most
	maxVerified = 2048        // verifications in a generation; two are kept
)

// verified caches tokens whose signature was verified: verifying takes 50 to 100 µs, a look-up 1 µs
// (BenchmarkVerify). Entries are evicted by generations, of which it holds at most two. The zero value is ready
// for use.
type verified struct {
	mu       sync.Mutex
	young    map[verifiedKey]verification
	old      map[verifiedKey]verification
	youngest time.Time // when young was begun
}

// verifiedKey contains the hash of the whole token, not the token.
type verifiedKey struct {
	issuer string
	sum    [sha256.Size]byte
}

// verification is a verified signature. It does not cover audience and time, which differ from call to call.
type verification struct {
	claims claims
	keys   *keySet
	until  time.Time
}

// cachedUntil returns when a verification expires from the cache: never after the token itself.
func cachedUntil(c claims, now time.Time) time.Time {
	if end := now.Add(verifiedFor); end.Before(c.ExpiresAt) {
		return end
	}
	return c.ExpiresAt
}

func (v *verified) get(key verifiedKey, now time.Time) (verification, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := v.young[key]
	if !ok {
		found, ok = v.old[key]
	}
	// A clock that was set back must not make entries last longer.
	return found, ok && now.Before(found.until) && found.until.Sub(now) <= verifiedFor
}

func (v *verified) put(key verifiedKey, one verification, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.young == nil || len(v.young) >= maxVerified || now.Sub(v.youngest).Abs() >= verifiedFor {
		v.old, v.young, v.youngest = v.young, map[verifiedKey]verification{}, now
	}
	v.young[key] = one
}
