package oidc_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestSlowIssuer(t *testing.T) {
	t.Run("a caller waits no longer than its context", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		token := issuer.Token(issuer.Claims(app, noon))
		synctest.Test(t, func(t *testing.T) {
			issuer.Answer(fixture.Silent)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := directly(issuer).Verify(ctx, issuers(issuer), token, noon)
			unavailable(t, err)
			if took := time.Since(start); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it took %v: %v", took, err)
			}
			time.Sleep(5 * time.Second) // the fetch goes on without the caller
		})
	})

	t.Run("nor longer than five seconds", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		token := issuer.Token(issuer.Claims(app, noon))
		synctest.Test(t, func(t *testing.T) {
			issuer.Answer(fixture.Silent)
			start := time.Now()
			_, err := directly(issuer).Verify(t.Context(), issuers(issuer), token, noon)
			unavailable(t, err)
			assert.Equal(t, "it took", time.Since(start), 5*time.Second)
		})
	})

	t.Run("one that gave up does not spoil it for the others", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		token := issuer.Token(issuer.Claims(app, noon))
		synctest.Test(t, func(t *testing.T) {
			issuer.Answer(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(2 * time.Second)
				issuer.Answer(nil)
				issuer.ServeHTTP(w, r)
			})
			verifier := directly(issuer)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var pair sync.WaitGroup
			pair.Go(func() {
				_, err := verifier.Verify(ctx, issuers(issuer), token, noon)
				unavailable(t, err)
			})
			synctest.Wait()
			pair.Go(func() {
				got, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
				accepted(t, got, err)
			})
			pair.Wait()
			if n := issuer.Requests(fixture.KeysPath); n != 1 {
				t.Errorf("the keys were fetched %d times", n)
			}
		})
	})

	t.Run("a token with a known key does not wait for unknown ones", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		token := issuer.Token(issuer.Claims(app, noon))
		unknown := fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": "key-2"}, issuer.Claims(app, noon),
			issuer.Key().Private)
		synctest.Test(t, func(t *testing.T) {
			verifier := directly(issuer)
			got, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
			accepted(t, got, err)
			issuer.Answer(fixture.Silent)
			var waiting sync.WaitGroup
			waiting.Go(func() {
				got, err := verifier.Verify(t.Context(), issuers(issuer), unknown, noon.Add(2*time.Minute))
				refused(t, got, err)
			})
			synctest.Wait()
			start := time.Now()
			got, err = verifier.Verify(t.Context(), issuers(issuer), token, noon.Add(2*time.Minute))
			accepted(t, got, err)
			assert.Equal(t, "it waited for", time.Since(start), 0)
			waiting.Wait()
		})
	})

	t.Run("in a long outage only those wait who came before its first sign", func(t *testing.T) {
		issuer := fixture.NewIssuer(t, "ES256")
		token := issuer.Token(issuer.Claims(app, noon))
		synctest.Test(t, func(t *testing.T) {
			verifier := directly(issuer)
			got, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
			accepted(t, got, err)
			issuer.Answer(fixture.Silent)
			for minute := 5; minute < 60; minute++ {
				start := time.Now()
				got, err := verifier.Verify(t.Context(), issuers(issuer), token,
					noon.Add(time.Duration(minute)*time.Minute))
				accepted(t, got, err)
				want := time.Duration(0)
				if minute == 5 {
					want = 5 * time.Second
				}
				if took := time.Since(start); took != want {
					t.Errorf("in minute %d it waited for %v", minute, took)
				}
				time.Sleep(time.Minute)
			}
			if n := issuer.Requests(fixture.DiscoveryPath); n != 56 {
				t.Errorf("the issuer was asked %d times, not once a minute", n)
			}
		})
	})
}

func TestHugeAnswersTakeNoMemory(t *testing.T) {
	issuer := fixture.NewIssuer(t, "ES256")
	issuer.Answer(fixture.Huge)
	var previous, current runtime.MemStats
	runtime.ReadMemStats(&previous)
	_, err := newVerifier().Verify(t.Context(), issuers(issuer), issuer.Token(issuer.Claims(app, noon)), noon)
	runtime.ReadMemStats(&current)
	unavailable(t, err)
	if grew := current.TotalAlloc - previous.TotalAlloc; grew > 16<<20 {
		t.Errorf("%d MiB were allocated", grew>>20)
	}
}
