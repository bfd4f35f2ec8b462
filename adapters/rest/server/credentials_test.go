package server

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestGuesses(t *testing.T) {
	a := &API{Now: Now, Unauthenticated: NewLimiter(2, 2), KnownTokens: newKnownTokens(),
		Measures: newMeasures(prometheus.NewRegistry(), func() int { return 0 })}
	obs, now := &Observation{Address: "192.0.2.1"}, Now()
	isAllowed := func(token string) error { return a.LimitFailedAuth(http.Header{}, obs, token, now) }
	a.KnownTokens.Remember("proven", now)
	for range 2 {
		if err := isAllowed("unknown"); err != nil {
			t.Fatalf("refused with guesses left: %v", err)
		}
		if err := a.CountFailedAuth(http.Header{}, obs, "unknown",
			identity.ErrUnauthenticated); PublicError(err).Code != "unauthenticated" {
			t.Fatalf("a guess within the limit: %v", err)
		}
	}
	h := http.Header{}
	if err := a.LimitFailedAuth(h, obs, "unknown", now); err != ErrRateLimited || h.Get("Retry-After") == "" ||
		h.Get("Ratelimit") == "" {
		t.Errorf("with no guesses left: %v, %v", err, h)
	}
	if err := isAllowed("proven"); err != nil {
		t.Errorf("a token that proved something lately: %v", err)
	}
	if err := a.LimitFailedAuth(http.Header{}, &Observation{Address: "192.0.2.2"}, "unknown", now); err != nil {
		t.Errorf("from another address: %v", err)
	}
	if err := a.CountFailedAuth(http.Header{}, obs, "proven", identity.ErrUnauthenticated); err != ErrRateLimited {
		t.Errorf("a token that proves nothing any more: %v", err)
	}
	assert.ErrorIs(t, isAllowed("proven"), ErrRateLimited)
}

func TestProvenTokens(t *testing.T) {
	p, now := newKnownTokens(), Now()
	p.Remember("a", now)
	for delay, want := range map[time.Duration]bool{0: true, knownFor - 1: true, knownFor: false} {
		if got, _ := p.has("a", now.Add(delay)); got != want {
			t.Errorf("after %v: %v, want %v", delay, got, want)
		}
	}
	for i := range maxKnownTokens + 10 {
		p.Remember(strconv.Itoa(i), now)
	}
	if len(p.seenAt) > maxKnownTokens {
		t.Errorf("%d notes are kept, want %d at most", len(p.seenAt), maxKnownTokens)
	}
}

func TestTakeAll(t *testing.T) {
	now := Now()
	key, user := NewLimiter(60, 3), newNamedLimiter("user", 60, 4)
	take := func(k string) (*Limiter, http.Header) {
		h := http.Header{}
		return TakeAll(h, now, 1, Allowance{key, k}, Allowance{user, "u"}), h
	}
	for i, want := range []struct {
		key       string
		refused   *Limiter
		ratelimit string
	}{
		{"k1", nil, `"default";r=2;t=1`},
		{"k1", nil, `"default";r=1;t=2`},
		{"k1", nil, `"default";r=0;t=3`},
		{"k1", key, `"default";r=0;t=3`}, // takes nothing of the user's
		{"k2", nil, `"user";r=0;t=4`},
		{"k2", user, `"user";r=0;t=4`},
		{"k3", user, `"user";r=0;t=4`},
	} {
		refusedLimiter, h := take(want.key)
		if refusedLimiter != want.refused || h.Get("Ratelimit") != want.ratelimit ||
			(h.Get("Retry-After") != "") != (refusedLimiter != nil) {
			t.Errorf("%d. refused by %v, %v; want %v %s", i, refusedLimiter, h, want.refused, want.ratelimit)
		}
	}
	if remainder := key.left("k3", now); remainder != 3 {
		t.Errorf("a key has %v tokens after its user was refused, want 3", remainder)
	}
}

func TestRefusedSignUpsCountAgainstTheirAddress(t *testing.T) {
	for _, refusal := range []error{account.ErrSignUpClosed, account.ErrClaimMissing, identity.ErrUnauthenticated} {
		if !hasNoAccount(refusal) {
			t.Errorf("%v does not count", refusal)
		}
	}
	for _, other := range []error{identity.ErrForbidden, ports.ErrUnavailable, context.Canceled} {
		if hasNoAccount(other) {
			t.Errorf("%v counts", other)
		}
	}
}
