package oidc

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestVerified(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	keyOf := func(i int) verifiedKey {
		return verifiedKey{"https://id.example", sha256.Sum256(fmt.Append(nil, i))}
	}
	lasting := claims{Claims: account.Claims{ExpiresAt: now.Add(time.Hour)}}

	t.Run("a verification is remembered for a minute", func(t *testing.T) {
		var v verified
		v.put(keyOf(1), verification{until: cachedUntil(lasting, now)}, now)
		for delay, want := range map[time.Duration]bool{0: true, time.Minute - 1: true, time.Minute: false,
			-time.Second: false, -time.Hour: false} {
			if _, got := v.get(keyOf(1), now.Add(delay)); got != want {
				t.Errorf("remembered after %v = %v", delay, got)
			}
		}
	})

	t.Run("never past the end of its token", func(t *testing.T) {
		var v verified
		v.put(keyOf(1), verification{until: cachedUntil(claims{Claims: account.Claims{ExpiresAt: now.Add(time.Second)}},
			now)}, now)
		if _, ok := v.get(keyOf(1), now.Add(time.Second-1)); !ok {
			t.Error("it was forgotten before")
		}
		if _, ok := v.get(keyOf(1), now.Add(time.Second)); ok {
			t.Error("it was remembered after")
		}
	})

	t.Run("another issuer's token of the same hash is another", func(t *testing.T) {
		var v verified
		v.put(keyOf(1), verification{until: cachedUntil(lasting, now)}, now)
		other := keyOf(1)
		other.issuer = "https://other.example"
		if _, ok := v.get(other, now); ok {
			t.Error("it was taken for the first")
		}
	})

	t.Run("there are never more than two generations", func(t *testing.T) {
		var v verified
		for i := range 5 * maxVerified {
			v.put(keyOf(i), verification{until: cachedUntil(lasting, now)}, now)
			if n := len(v.young) + len(v.old); n > 2*maxVerified {
				t.Fatalf("%d are remembered", n)
			}
			if _, ok := v.get(keyOf(max(0, i-maxVerified+1)), now); !ok {
				t.Fatalf("after %d, one of the youngest %d is forgotten", i, maxVerified)
			}
		}
	})

	t.Run("few old ones are let go too", func(t *testing.T) {
		var v verified
		for i := range 3 {
			instant := now.Add(time.Duration(i) * time.Minute)
			v.put(keyOf(i), verification{until: cachedUntil(lasting, instant)}, instant)
		}
		assert.Equal(t, "are held", len(v.young)+len(v.old), 2)
	})
}

func TestRecall(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	issuer := fixture.NewIssuer(t, "EdDSA")
	v := New(slog.New(slog.DiscardHandler))
	claims := issuer.Claims("atrium", now)
	claims["exp"] = now.Add(30 * time.Second).Unix()
	token := issuer.Token(claims)
	verify := func(audience string, at time.Time) bool {
		_, err := v.Verify(t.Context(), []identity.Issuer{{URL: issuer.URL, Audiences: []string{audience}}}, token, at)
		return err == nil
	}
	isRecalled := func(instant time.Time) bool {
		_, ok := v.recall(t.Context(), issuer.URL, sha256.Sum256([]byte(token)), instant)
		return ok
	}
	if verify("other", now) || isRecalled(now) {
		t.Error("a token that was refused is remembered")
	}
	if !verify("atrium", now) || !isRecalled(now) {
		t.Fatal("a token that was accepted is not remembered")
	}
	if verify("other", now) {
		t.Error("what one org's audience accepted, another's does too")
	}
	if isRecalled(now.Add(30 * time.Second)) {
		t.Error("the memory outlives the token")
	}
	if !verify("atrium", now.Add(89*time.Second)) || isRecalled(now.Add(89*time.Second)) {
		t.Error("within the skew, a token is verified each time")
	}
	if verify("atrium", now.Add(90*time.Second)) {
		t.Error("a token was accepted after its end")
	}
	if !verify("atrium", now) || verify("atrium", now.Add(-61*time.Second)) {
		t.Error("a remembered token was accepted before it was issued")
	}
}
