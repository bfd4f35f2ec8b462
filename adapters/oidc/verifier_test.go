package oidc_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/tokens"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestMain(m *testing.M) { os.Exit(fixture.WithoutLeaks(m.Run())) }

const app = "atrium"

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func newVerifier() *oidc.Verifier { return oidc.New(slog.New(slog.DiscardHandler)) }

func issuers(all ...*fixture.Issuer) []identity.Issuer {
	var out []identity.Issuer
	for _, i := range all {
		out = append(out, identity.Issuer{URL: i.URL, Audiences: []string{app}})
	}
	return out
}

// refused fails the test unless err says nothing but that there is no valid credential.
func refused(t *testing.T, c *account.Claims, err error) {
	t.Helper()
	if c != nil || !errors.Is(err, identity.ErrUnauthenticated) || err.Error() != identity.ErrUnauthenticated.Error() {
		t.Errorf("got %+v, %v; want nothing but ErrUnauthenticated", c, err)
	}
}

func accepted(t *testing.T, c *account.Claims, err error) {
	t.Helper()
	if err != nil || c == nil || c.Subject != "ann-1" {
		t.Errorf("got %+v, %v; want ann-1", c, err)
	}
}

func TestAccepted(t *testing.T) {
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		t.Run(alg+" is verified", func(t *testing.T) {
			issuer := fixture.NewIssuer(t, alg)
			got, err := newVerifier().Verify(t.Context(), issuers(issuer), issuer.Token(issuer.Claims(app, noon)), noon)
			require.NoError(t, err)
			want := &account.Claims{
				Issuer: issuer.URL, Subject: "ann-1", Email: "ann@example.com", EmailVerified: true, Name: "Ann",
				IssuedAt: noon, ExpiresAt: noon.Add(time.Hour), Raw: got.Raw,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got.Raw["email"] != "ann@example.com" || got.Raw["exp"] != float64(noon.Add(time.Hour).Unix()) {
				t.Errorf("raw claims = %v", got.Raw)
			}
		})
	}

	issuer := fixture.NewIssuer(t, "ES256")
	verifier := newVerifier()
	tests := map[string]struct {
		claim string
		value any // nil: the claim is left out
		check func(*account.Claims) bool
	}{
		"the audience as a list of one":         {"aud", []string{app}, nil},
		"another party than the only audience":  {"azp", "spa", nil},
		"audiences beside things that are none": {"aud", []any{1, app}, nil},
		"expired within the skew":               {"exp", noon.Add(-59 * time.Second).Unix(), nil},
		"a fraction of a second left of it":     {"exp", float64(noon.Unix()) - 59.5, nil},
		"not valid before the skew is over":     {"nbf", noon.Add(time.Minute).Unix(), nil},
		"issued within the skew":                {"iat", noon.Add(time.Minute).Unix(), nil},
		"without iat":                           {"iat", nil, nil},
		"e-mail verified, written as a string": {"email_verified", "true",
			func(c *account.Claims) bool { return c.EmailVerified }},
		"e-mail not verified": {"email_verified", false,
			func(c *account.Claims) bool { return !c.EmailVerified && c.Email != "" }},
		"nor by another string": {"email_verified", "yes",
			func(c *account.Claims) bool { return !c.EmailVerified }},
		"nor by a number": {"email_verified", 1, func(c *account.Claims) bool { return !c.EmailVerified }},
		"nor if nothing is said": {"email_verified", nil,
			func(c *account.Claims) bool { return !c.EmailVerified }},
		"nor if there is no e-mail": {"email", nil,
			func(c *account.Claims) bool { return !c.EmailVerified && c.Email == "" }},
		"nor if it is none": {"email", []string{"a@b"},
			func(c *account.Claims) bool { return !c.EmailVerified && c.Email == "" }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claims := issuer.Claims(app, noon)
			if claims[tt.claim] = tt.value; tt.value == nil {
				delete(claims, tt.claim)
			}
			got, err := verifier.Verify(t.Context(), issuers(issuer), issuer.Token(claims), noon)
			accepted(t, got, err)
			if err == nil && tt.check != nil && !tt.check(got) {
				t.Errorf("claims = %+v", got)
			}
		})
	}

	t.Run("one audience of several, if the authorized party is one of ours", func(t *testing.T) {
		claims := issuer.Claims(app, noon)
		claims["aud"], claims["azp"] = []string{"other", app}, app
		got, err := verifier.Verify(t.Context(), issuers(issuer), issuer.Token(claims), noon)
		accepted(t, got, err)
	})

	for _, typ := range []any{nil, "JWT", "at+jwt", "application/at+jwt", "AT+JWT"} {
		t.Run(fmt.Sprint("of type ", typ), func(t *testing.T) {
			header := map[string]any{"alg": "ES256", "kid": "key-1", "typ": typ}
			token := fixture.SignToken(t, header, issuer.Claims(app, noon), issuer.Key().Private)
			got, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
			accepted(t, got, err)
		})
	}

	t.Run("naming no key, if only one fits", func(t *testing.T) {
		token := fixture.SignToken(t, map[string]any{"alg": "ES256"}, issuer.Claims(app, noon), issuer.Key().Private)
		got, err := verifier.Verify(t.Context(), issuers(issuer), token, noon)
		accepted(t, got, err)
	})
}

// TestRefusedUnasked holds tokens that no key could save: the issuer is not even asked.
func TestRefusedUnasked(t *testing.T) {
	issuer := fixture.NewIssuer(t, "RS256")
	key, ok := issuer.Key().Private.(*rsa.PrivateKey)
	if !ok {
		t.Fatal("not an RSA key")
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := issuer.Token(issuer.Claims(app, noon))
	head, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")

	header := func(name string, value any, key any) string {
		h := map[string]any{"alg": "RS256", "kid": "key-1", "typ": "JWT"}
		h[name] = value
		return fixture.SignToken(t, h, issuer.Claims(app, noon), key)
	}
	claim := func(name string, value any) string {
		c := issuer.Claims(app, noon)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return issuer.Token(c)
	}
	tests := map[string]string{
		"nothing":                             "",
		"an API key":                          "atk_1234",
		"only dots":                           "..",
		"two parts":                           head + "." + payload,
		"four parts":                          good + ".e30",
		"five, as of an encrypted one":        head + "...." + signature,
		"the JSON serialization":              `{"payload":"` + payload + `","protected":"` + head + `","signature":"` + signature + `"}`,
		"a space before":                      " " + good,
		"a line break within":                 good[:len(good)-5] + "\n" + good[len(good)-5:],
		"padding":                             good + "==",
		"the other base64":                    head + "." + payload + "." + strings.ReplaceAll(signature, "_", "/") + "+/",
		"a header that is no JSON":            "AAAA." + payload + "." + signature,
		"claims that are no object":           fixture.SignToken(t, map[string]any{"alg": "RS256"}, nil, key),
		"too long":                            claim("padding", strings.Repeat("x", 16<<10)),
		"alg none":                            header("alg", "none", nil),
		"alg None":                            header("alg", "None", nil),
		"no alg":                              header("alg", "", nil),
		"HS256 with the public key as secret": header("alg", "HS256", public),
		"HS256 with its DER form":             header("alg", "HS256", der),
		"HS256 with the modulus":              header("alg", "HS256", key.N.Bytes()),
		"RS512":                               header("alg", "RS512", key),
		"RS384":                               header("alg", "RS384", key),
		"PS256":                               header("alg", "PS256", key),
		"a critical extension":                header("crit", []string{"exp"}, key),
		"an empty list of them":               header("crit", []string{}, key),
		"a logout token":                      header("typ", "logout+jwt", key),
		"a key id that is no string":          header("kid", 1, key),
		"an issuer that is not configured":    claim("iss", "https://elsewhere.example"),
		"the issuer with a final slash":       claim("iss", issuer.URL+"/"),
		"the issuer in other letters":         claim("iss", strings.ToUpper(issuer.URL)),
		"issuers as a list":                   claim("iss", []string{issuer.URL}),
		"no issuer":                           claim("iss", nil),
		"another app's audience":              claim("aud", "payroll"),
		"audiences of other apps":             claim("aud", []string{"payroll", "wiki"}),
		"an audience that begins like ours":   claim("aud", app+"-admin"),
		"no audience":                         claim("aud", nil),
		"an empty audience":                   claim("aud", ""),
		"an audience in an object":            claim("aud", map[string]any{app: app}),
		"expired":                             claim("exp", noon.Add(-time.Minute).Unix()),
		"expired long ago":                    claim("exp", 0),
		"without an end":                      claim("exp", nil),
		"with an end in words":                claim("exp", "2999-01-01"),
		"with a negative end":                 claim("exp", -1),
		"with an end beyond all calendars":    claim("exp", 1e300),
		"not valid yet":                       claim("nbf", noon.Add(61*time.Second).Unix()),
		"valid from a string on":              claim("nbf", "0"),
		"valid from beyond all calendars on":  claim("nbf", 1e300),
		"valid from before all time on":       claim("nbf", -1),
		"issued in the future":                claim("iat", noon.Add(61*time.Second).Unix()),
		"issued in words":                     claim("iat", "now"),
		"without a subject":                   claim("sub", nil),
		"with an empty one":                   claim("sub", ""),
		"with one that is no string":          claim("sub", 7),
		"with one that is too long":           claim("sub", strings.Repeat("s", 256)),
	}
	verifier := newVerifier()
	configuredIssuers := issuers(issuer)
	configuredIssuers[0].Audiences = append(configuredIssuers[0].Audiences, "") // must not stand for a missing one
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := verifier.Verify(t.Context(), configuredIssuers, token, noon)
			refused(t, got, err)
		})
	}
	t.Run("where no issuer is configured", func(t *testing.T) {
		got, err := verifier.Verify(t.Context(), nil, good, noon)
		refused(t, got, err)
	})
	t.Run("where the issuer has no URL, as the token has no issuer", func(t *testing.T) {
		got, err := verifier.Verify(t.Context(), []identity.Issuer{{Audiences: []string{app}}}, claim("iss", ""), noon)
		refused(t, got, err)
	})
	t.Run("where the issuer has no audience", func(t *testing.T) {
		got, err := verifier.Verify(t.Context(), []identity.Issuer{{URL: issuer.URL}}, good, noon)
		refused(t, got, err)
	})
	if n := issuer.Requests(fixture.DiscoveryPath) + issuer.Requests(fixture.KeysPath); n != 0 {
		t.Errorf("the issuer was asked %d times", n)
	}
	t.Run("while the token they were made from is accepted", func(t *testing.T) {
		got, err := verifier.Verify(t.Context(), configuredIssuers, good, noon)
		accepted(t, got, err)
	})
}

// TestRefusedByKeys has tokens that are valid except for their signer.
func TestRefusedByKeys(t *testing.T) {
	issuer, other := fixture.NewIssuer(t, "ES256"), fixture.NewIssuer(t, "ES256")
	rsaKey, edKey, stranger := fixture.NewSigningKey(t, "RS256", "rsa"), fixture.NewSigningKey(t, "EdDSA", "ed"),
		fixture.NewSigningKey(t, "ES256", "key-1")
	foreign := fixture.NewSigningKey(t, "ES256", "foreign")
	key := issuer.Key()
	issuer.Publish(key.JWK(), rsaKey.JWK(), edKey.JWK(), fixture.NewSigningKey(t, "ES256", "key-2").JWK())
	other.Publish(other.Key().JWK(), foreign.JWK())

	sign := func(alg, kid string, by fixture.SigningKey) string {
		return fixture.SignToken(t, map[string]any{"alg": alg, "kid": kid}, issuer.Claims(app, noon), by.Private)
	}
	embeddedText := fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": "key-1", "jwk": stranger.JWK()},
		issuer.Claims(app, noon), stranger.Private)
	linkedText := fixture.SignToken(t,
		map[string]any{"alg": "ES256", "kid": "foreign", "jku": other.URL + fixture.KeysPath}, issuer.Claims(app, noon),
		foreign.Private)
	full := sign("ES256", "key-1", key)
	unsignedText := full[:strings.LastIndexByte(full, '.')]
	text := fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": "ed"}, issuer.Claims(app, noon), key.Private)
	text = text[:strings.LastIndexByte(text, '.')]
	edSignature, err := edKey.Private.Sign(nil, []byte(text), crypto.Hash(0))
	require.NoError(t, err)
	otherToken := fixture.SignToken(t, map[string]any{"alg": "ES256", "kid": "key-1"}, issuer.Claims("other", noon),
		key.Private)
	otherSignature := otherToken[strings.LastIndexByte(otherToken, '.')+1:]
	tests := map[string]string{
		"a stranger's key under a known id":        sign("ES256", "key-1", stranger),
		"the other issuer's key of the same id":    sign("ES256", "key-1", other.Key()),
		"the other issuer's key under its own id":  sign("ES256", "foreign", foreign),
		"a key that the token brings along":        embeddedText,
		"a key that the token tells where to find": linkedText,
		"the id of a key of another kind":          sign("ES256", "rsa", key),
		"the algorithm of another key":             text + "." + base64.RawURLEncoding.EncodeToString(edSignature),
		"no id, where two keys fit":                fixture.SignToken(t, map[string]any{"alg": "ES256"}, issuer.Claims(app, noon), key.Private),
		"an unknown id":                            sign("ES256", "nobody's", key),
		"no signature":                             unsignedText + ".",
		"the signature of another token":           unsignedText + "." + otherSignature,
		"one that is too short":                    full[:len(full)-8],
		"one with bytes after it":                  full + "AAAA",
	}
	verifier := newVerifier()
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := verifier.Verify(t.Context(), issuers(issuer, other), token, noon)
			refused(t, got, err)
		})
	}
	for _, by := range []fixture.SigningKey{key, rsaKey, edKey} {
		t.Run("while its own "+by.Alg+" key is accepted", func(t *testing.T) {
			got, err := verifier.Verify(t.Context(), issuers(issuer, other), sign(by.Alg, by.ID, by), noon)
			accepted(t, got, err)
		})
	}
}

func TestContract(t *testing.T) {
	tokens.Verifier(t, func(*testing.T) ports.Verifier { return newVerifier() })
}
