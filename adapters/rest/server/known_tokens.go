package server

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	knownFor       = time.Hour   // how long a valid token is remembered
	knownRefresh   = time.Minute // how old its note can become before it is renewed
	maxKnownTokens = 50_000
)

// knownTokens remembers which tokens were valid recently, but not whose they are. It keeps keyed 64-bit
// hashes. A token that collides with another only reaches the look-up, which refuses it.
type knownTokens struct {
	seed maphash.Seed

	mu     sync.RWMutex
	seenAt map[uint64]time.Time
}

func newKnownTokens() *knownTokens {
	return &knownTokens{seed: maphash.MakeSeed(), seenAt: map[uint64]time.Time{}}
}

// has reports whether a token was valid within knownFor. noted means that it need not be remembered again.
func (p *knownTokens) has(token string, now time.Time) (isKnown, isNoted bool) {
	p.mu.RLock()
	seenAt, ok := p.seenAt[maphash.String(p.seed, token)]
	p.mu.RUnlock()
	age := now.Sub(seenAt).Abs() // the clock may have been set back
	return ok && age < knownFor, ok && age < knownRefresh
}

// Remember notes that a token is valid.
func (p *knownTokens) Remember(token string, now time.Time) {
	if _, isNoted := p.has(token, now); isNoted {
		return
	}
	h := maphash.String(p.seed, token)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seenAt) >= maxKnownTokens {
		for k, seenAt := range p.seenAt {
			if now.Sub(seenAt) >= knownFor {
				delete(p.seenAt, k)
			}
		}
		if len(p.seenAt) >= maxKnownTokens {
			clear(p.seenAt)
		}
	}
	p.seenAt[h] = now
}

// Forget removes the note about a token, which is not valid any more.
func (p *knownTokens) Forget(token string) {
	h := maphash.String(p.seed, token)
	p.mu.RLock()
	_, ok := p.seenAt[h]
	p.mu.RUnlock()
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seenAt, h)
}
