package rest

import (
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// refuse counts a refusal by the limit that refused, and returns err.
func (a *API) refuse(reason string, err error) error {
	a.measured.refusals.WithLabelValues(reason).Inc()
	return err
}

// enter waits for the turn of by's request, and counts it if its turn does not come.
func (a *API) enter(ctx context.Context, g *gates, by identity.Actor) error {
	err := g.enter(ctx, by)
	switch {
	case err == nil:
		return nil
	case err == errCallerBusy: //nolint:errorlint // errWorkspaceBusy has the same code, so errors.Is equates them
		return a.refuse("caller_busy", err)
	default:
		return a.refuse("workspace_busy", err)
	}
}

// mayGuess refuses a token before it is looked up if its address has sent too many invalid ones. A token that was
// valid within provenFor is still looked up, so that a guessing program does not lock out others at its address.
func (a *API) mayGuess(h http.Header, seen *observed, token string, at time.Time) error {
	if !a.proven.has(token, at) && a.unknown.exhausted(h, seen.address, at) {
		return a.refuse("address_rate", errRateLimited)
	}
	return nil
}

// guessed counts an invalid token, or one without an account, against its address.
func (a *API) guessed(h http.Header, seen *observed, token string, err error) error {
	if !refusesEntry(err) {
		return err
	}
	a.proven.forget(token)
	return a.unproven(h, seen, err)
}

// refusesEntry reports whether err tells a caller that they have no account here.
func refusesEntry(err error) bool {
	return foreseen(err).Kind == fault.Unauthenticated || errors.Is(err, account.ErrSignUpClosed) ||
		errors.Is(err, account.ErrClaimMissing)
}

// unproven counts a request that shows no valid credential against its address.
func (a *API) unproven(h http.Header, seen *observed, err error) error {
	if !a.unknown.take(h, seen.address, now()) {
		return a.refuse("address_rate", errRateLimited)
	}
	return err
}

const (
	provenFor      = time.Hour   // how long a valid token is remembered
	provenNoted    = time.Minute // how old its note can become before it is renewed
	maxProvenNotes = 50_000
)

// provenTokens remembers which tokens were valid recently, but not whose they are. It keeps keyed 64-bit
// hashes. A token that collides with another only reaches the look-up, which refuses it.
type provenTokens struct {
	seed maphash.Seed

	mu    sync.RWMutex
	notes map[uint64]time.Time
}

func newProvenTokens() *provenTokens {
	return &provenTokens{seed: maphash.MakeSeed(), notes: map[uint64]time.Time{}}
}

func (p *provenTokens) has(token string, now time.Time) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	at, ok := p.notes[maphash.String(p.seed, token)]
	return ok && now.Sub(at) < provenFor
}

func (p *provenTokens) note(token string, now time.Time) {
	h := maphash.String(p.seed, token)
	p.mu.RLock()
	at, ok := p.notes[h]
	p.mu.RUnlock()
	if ok && now.Sub(at) < provenNoted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.notes) >= maxProvenNotes {
		for k, at := range p.notes {
			if now.Sub(at) >= provenFor {
				delete(p.notes, k)
			}
		}
		if len(p.notes) >= maxProvenNotes {
			clear(p.notes)
		}
	}
	p.notes[h] = now
}

func (p *provenTokens) forget(token string) {
	h := maphash.String(p.seed, token)
	p.mu.RLock()
	_, ok := p.notes[h]
	p.mu.RUnlock()
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.notes, h)
}
