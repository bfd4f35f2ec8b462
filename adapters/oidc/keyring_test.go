package oidc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// direct reaches an issuer without a network, under any name: for fake clocks, and for TLS.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	answeredResponses := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		answeredResponses <- w.Result()
	}()
	select {
	case resp := <-answeredResponses:
		return resp, r.Context().Err()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func directly(i *fixture.Issuer) *oidc.Verifier {
	return oidc.NewVerifier(direct{i}, slog.New(slog.DiscardHandler))
}

func unavailable(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ports.ErrUnavailable) || errors.Is(err, identity.ErrUnauthenticated) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

func TestRotation(t *testing.T) {
	verifier, issuer := newVerifier(), fixture.NewIssuer(t, "ES256")
	old := issuer.Key()
	oldToken := issuer.Token(issuer.Claims(app, noon))
	verify := func(token string, instant time.Time) error {
		_, err := verifier.Verify(t.Context(), issuers(issuer), token, instant)
		return err
	}
	require.NoError(t, verify(oldToken, noon))
	issuer.Rotate(fixture.NewSigningKey(t, "ES256", "key-2"))
	newToken := issuer.Token(issuer.Claims(app, noon))

	assert.ErrorIs(t, verify(newToken, noon.Add(59*time.Second)), identity.ErrUnauthenticated)
	if err := verify(newToken, noon.Add(time.Minute)); err != nil {
		t.Errorf("a new key was not found after a minute: %v", err)
	}
	assert.ErrorIs(t, verify(oldToken, noon.Add(time.Minute)), identity.ErrUnauthenticated)
	if err := verify(fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": "key-1"},
		issuer.Claims(app, noon.Add(time.Second)), old.Private), noon.Add(time.Minute)); !errors.Is(err,
		identity.ErrUnauthenticated) {
		t.Errorf("a key that vanished verified a token: %v", err)
	}

	issuer.Rotate(fixture.NewSigningKey(t, "ES256", "key-3"))
	if err := verify(newToken, noon.Add(6*time.Minute-time.Microsecond)); err != nil {
		t.Errorf("keys of less than five minutes were fetched again: %v", err)
	}
	assert.ErrorIs(t, verify(newToken, noon.Add(6*time.Minute)), identity.ErrUnauthenticated)
	issuer.Publish()
	if err := verify(issuer.Token(issuer.Claims(app, noon)), noon.Add(12*time.Minute)); !errors.Is(err,
		identity.ErrUnauthenticated) {
		t.Errorf("a key of an issuer that withdrew all was accepted: %v", err)
	}
}

func TestRefreshes(t *testing.T) {
	issuer := fixture.NewIssuer(t, "ES256")
	verifier := directly(issuer)
	stranger := fixture.NewSigningKey(t, "EdDSA", "")
	good := issuer.Token(issuer.Claims(app, noon))
	requests := func(t *testing.T, want int) {
		t.Helper()
		if d, k := issuer.Requests(fixture.DiscoveryPath), issuer.Requests(fixture.KeysPath); d != want || k != want {
			t.Errorf("the issuer was asked %d times where its keys are, %d times for them; want %d", d, k, want)
		}
	}
	jointCall := func(t *testing.T, n int, instant time.Time, token func(int) string, want error) {
		t.Helper()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if _, err := verifier.Verify(t.Context(), issuers(issuer), token(i), instant); !errors.Is(err, want) {
					t.Errorf("error = %v, want %v", err, want)
				}
			})
		}
		all.Wait()
	}
	unknown := func(i int) string {
		return fixture.SignToken(t, map[string]any{"alg": "EdDSA", "kid": fmt.Sprint("unknown-", i)},
			issuer.Claims(app, noon), stranger.Private)
	}

	synctest.Test(t, func(t *testing.T) {
		jointCall(t, 100, noon, func(int) string { return good }, nil)
		requests(t, 1) // the first callers share one fetch
		jointCall(t, 1000, noon.Add(59*time.Second), unknown, identity.ErrUnauthenticated)
		requests(t, 1)
		jointCall(t, 1000, noon.Add(time.Minute), unknown, identity.ErrUnauthenticated)
		requests(t, 2)
		jointCall(t, 1000, noon.Add(119*time.Second), unknown, identity.ErrUnauthenticated)
		requests(t, 2)
		jointCall(t, 1000, noon.Add(2*time.Minute), unknown, identity.ErrUnauthenticated)
		requests(t, 3)
		jointCall(t, 100, noon.Add(2*time.Minute), func(int) string { return good }, nil)
		requests(t, 3)
		jointCall(t, 1000, noon.Add(-time.Hour), unknown, identity.ErrUnauthenticated) // the clock was set back
		requests(t, 3)                                                                 // for they are not issued yet
		jointCall(t, 1000, noon, unknown, identity.ErrUnauthenticated)
		requests(t, 4)
	})
}

func TestOutage(t *testing.T) {
	outages := map[string]func(*fixture.Issuer){
		"refuses connections":  func(i *fixture.Issuer) { i.Network.Cut() },
		"fails":                func(i *fixture.Issuer) { i.Answer(fixture.Failing) },
		"answers garbage":      func(i *fixture.Issuer) { i.Answer(fixture.Garbage) },
		"answers without end":  func(i *fixture.Issuer) { i.Answer(fixture.Huge) },
		"is another issuer":    func(i *fixture.Issuer) { i.Answer(discovers(i.URL+"/", i.URL+fixture.KeysPath)) },
		"redirects":            func(i *fixture.Issuer) { i.Answer(redirects(i)) },
		"publishes no keys":    func(i *fixture.Issuer) { i.Answer(keysAnswer(i, `{"error":"later"}`)) },
		"publishes half of it": func(i *fixture.Issuer) { i.Answer(keysAnswer(i, `{"keys":[{"kty":"EC",`)) },
		"publishes too many": func(i *fixture.Issuer) {
			i.Answer(keysAnswer(i, `{"keys":[{}`+strings.Repeat(",{}", 100)+`]}`))
		},
		"answers huge keys": func(i *fixture.Issuer) {
			good, _ := json.Marshal(map[string]any{"keys": []any{i.Key().JWK()}})
			i.Answer(keysAnswer(i, string(good)+strings.Repeat(" ", 1<<20)))
		},
	}
	for name, begin := range outages {
		t.Run("while the issuer "+name, func(t *testing.T) {
			issuer := fixture.NewIssuer(t, "ES256")
			token := issuer.Token(issuer.Claims(app, noon))
			acquaintedVerifier, stranger := newVerifier(), newVerifier()
			got, err := acquaintedVerifier.Verify(t.Context(), issuers(issuer), token, noon)
			accepted(t, got, err)

			begin(issuer)
			for minute := range 30 {
				instant := noon.Add(time.Duration(minute) * time.Minute)
				got, err := acquaintedVerifier.Verify(t.Context(), issuers(issuer), token, instant)
				accepted(t, got, err)
				_, err = stranger.Verify(t.Context(), issuers(issuer), token, instant)
				unavailable(t, err)
			}
			_, err = stranger.Verify(t.Context(), issuers(issuer), issuer.Token(issuer.Claims("other", noon)), noon)
			refused(t, nil, err) // no outage makes a wrong token a doubtful one

			issuer.Answer(nil)
			issuer.Network.Restore()
			got, err = stranger.Verify(t.Context(), issuers(issuer), token, noon.Add(29*time.Minute+5*time.Second))
			accepted(t, got, err)
		})
	}
}

func TestOldKeysEnd(t *testing.T) {
	const sixHours = 6 * time.Hour
	for name, askedTime := range map[string]time.Duration{"asked all the while": time.Hour,
		"asked again only then": sixHours} {
		t.Run("six hours after the issuer was last heard, "+name, func(t *testing.T) {
			issuer := fixture.NewIssuer(t, "ES256")
			verifier := newVerifier()
			verify := func(instant time.Time) (*account.Claims, error) {
				return verifier.Verify(t.Context(), issuers(issuer), issuer.Token(issuer.Claims(app, instant)), instant)
			}
			got, err := verify(noon)
			accepted(t, got, err)
			issuer.Network.Cut()
			for delay := askedTime; delay < sixHours; delay += askedTime {
				got, err := verify(noon.Add(delay))
				accepted(t, got, err)
			}
			if askedTime < sixHours {
				got, err := verify(noon.Add(sixHours - time.Second))
				accepted(t, got, err)
			}
			for range 2 {
				_, err := verify(noon.Add(sixHours))
				unavailable(t, err)
			}
			issuer.Network.Restore()
			got, err = verify(noon.Add(sixHours + 5*time.Second))
			accepted(t, got, err)
		})
	}
}

func TestOutageIsLogged(t *testing.T) {
	issuer := fixture.NewIssuer(t, "ES256")
	issuer.Answer(fixture.Failing)
	var log bytes.Buffer
	verifier := oidc.New(slog.New(slog.NewTextHandler(&log, nil)))
	token := issuer.Token(issuer.Claims(app, noon))
	_, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
	unavailable(t, err)
	if !strings.Contains(log.String(), issuer.URL) || !strings.Contains(log.String(), "answered 500") {
		t.Errorf("log = %q: it tells neither who nor what", &log)
	}
	if all := log.String() + err.Error(); strings.Contains(all, token) || strings.Contains(all, "ann-1") {
		t.Error("the token, or what it says, was told")
	}
}

func TestTLS(t *testing.T) {
	tests := map[string]struct {
		issuer, keys string
		ok           bool
	}{
		"https throughout":                    {"https://id.example", "https://keys.example/jwks", true},
		"http on loopback":                    {"http://127.0.0.1:1", "http://127.0.0.1:2/jwks", true},
		"by name":                             {"http://localhost:1", "http://localhost:1/jwks", true},
		"in IPv6":                             {"http://[::1]:1", "http://[::1]:1/jwks", true},
		"an issuer without TLS":               {"http://id.example", "https://keys.example/jwks", false},
		"keys without TLS":                    {"https://id.example", "http://keys.example/jwks", false},
		"keys on our own machine":             {"https://id.example", "http://127.0.0.1:1/jwks", false},
		"a loopback issuer with keys without": {"http://127.0.0.1:1", "http://keys.example/jwks", false},
		"a name that begins like loopback":    {"http://127.0.0.1.example", "https://keys.example/jwks", false},
		"keys in a file":                      {"https://id.example", "file:///etc/passwd", false},
		"keys nowhere":                        {"https://id.example", "", false},
		"keys at a path":                      {"https://id.example", "/jwks", false},
		"an issuer with a query":              {"https://id.example?x=1", "https://keys.example/jwks", false},
		"an issuer with a password":           {"https://u:p@id.example", "https://keys.example/jwks", false},
		"an issuer that is no URL":            {"id.example", "https://keys.example/jwks", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			issuer := fixture.NewIssuer(t, "ES256")
			issuer.URL = tt.issuer
			servedValues := issuer.Key().JWK()
			verifier := oidc.NewVerifier(direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/jwks" {
					r.URL.Path = fixture.KeysPath
					issuer.Publish(servedValues)
					issuer.ServeHTTP(w, r)
					return
				}
				discovers(tt.issuer, tt.keys)(w, r)
			})}, slog.New(slog.DiscardHandler))
			got, err := verifier.Verify(t.Context(), issuers(issuer), issuer.Token(issuer.Claims(app, noon)), noon)
			if tt.ok {
				accepted(t, got, err)
			} else {
				unavailable(t, err)
			}
		})
	}
}

// discovers returns a handler that serves the discovery document at every path.
func discovers(issuer, keys string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, keys)
	}
}

// redirects leads to the right answers, in a place that was not asked for.
func redirects(i *fixture.Issuer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/moved") {
			discovers(i.URL, i.URL+fixture.KeysPath)(w, r)
			return
		}
		http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusFound)
	}
}

// keysAnswer answers document where the keys should be.
func keysAnswer(i *fixture.Issuer, document string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == fixture.KeysPath {
			_, _ = fmt.Fprint(w, document)
			return
		}
		discovers(i.URL, i.URL+fixture.KeysPath)(w, r)
	}
}
