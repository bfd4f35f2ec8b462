package oidc

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	maxToken   = 16 << 10     // bytes; a header of 32 KiB must hold other things too
	maxSubject = 255          // bytes (OpenID Connect Core, section 2)
	maxDate    = 253402300799 // the last second of the year 9999: RFC 3339 writes none after it
	skew       = account.ClockSkew
)

// algorithms are those a token may be signed with: each fits one kind of key, and none is
// symmetric, so that a public key never serves as a secret (RFC 8725, section 3.1).
var algorithms = []string{"RS256", "ES256", "EdDSA"}

// types are the accepted values of typ. A provider signs other things with the same keys, such as
// logout tokens (RFC 8725, section 3.11); RFC 9068 names the access tokens.
var types = []string{"", "jwt", "at+jwt"}

// token is a JWT in the compact serialization whose signature is not verified yet.
type token struct {
	header    header
	claims    claims
	signed    string // the part that is signed
	signature []byte
}

// header has the JOSE header parts that Atrium uses. Parameters that bring or name keys (jwk, jku, x5c, x5u) are
// ignored.
type header struct {
	Algorithm string         `json:"alg"`
	KeyID     string         `json:"kid"`
	Type      string         `json:"typ"`
	Critical  jsontext.Value `json:"crit"`
}

// claims are a token's claims with those that decide whether it is accepted.
type claims struct {
	account.Claims
	audiences []string
	party     string    // azp: the client that the token was issued to; empty: not given
	notBefore time.Time // zero: not given
}

// parse reads a token of one of types strictly: each token has exactly one accepted text, and JSON objects with
// duplicate members are refused. read extracts its claims.
func parse(text string, types []string, read func(raw map[string]any) (claims, error)) (t token, err error) {
	segments := strings.Split(text, ".")
	if len(segments) != 3 {
		return t, refused("it is no JWT: that has three parts with dots between them, and this has %d", len(segments))
	}
	var ok bool
	t.signed = text[:len(text)-len(segments[2])-1]
	if t.signature, ok = decode(segments[2]); !ok {
		return t, refused("it is no JWT: its signature is not base64url")
	}
	if !unmarshal(segments[0], &t.header) {
		return t, refused("it is no JWT: its header is not JSON in base64url")
	}
	if err := t.header.acceptable(types); err != nil {
		return t, err
	}
	var raw map[string]any
	if !unmarshal(segments[1], &raw) {
		return t, refused("it is no JWT: its claims are not a JSON object in base64url, or name one twice")
	}
	t.claims, err = read(raw)
	return t, err
}

func (h header) acceptable(types []string) error {
	typ := strings.TrimPrefix(strings.ToLower(h.Type), "application/")
	switch {
	case !slices.Contains(algorithms, h.Algorithm):
		return refused("its algorithm (alg) is %.20q; accepted are %s", h.Algorithm, strings.Join(algorithms, ", "))
	case !slices.Contains(types, typ):
		return refused("its type (typ) is %.40q, which is not accepted here", h.Type)
	case h.Critical != nil:
		return refused("it has critical extensions (crit), which Atrium does not know")
	}
	return nil
}

func unmarshal(segment string, target any) bool {
	b, ok := decode(segment)
	return ok && json.Unmarshal(b, target) == nil
}

// decode reads base64url without padding. It refuses line breaks, which Go's decoder would skip.
func decode(segment string) ([]byte, bool) {
	if strings.ContainsAny(segment, "\r\n") {
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	return b, err == nil
}

// read extracts the claims that RFC 7519 and OpenID Connect define. Claims that decide on acceptance must be well
// formed; others are left empty if they are not.
func read(raw map[string]any) (claims, error) {
	c := claims{Claims: account.Claims{Raw: raw}}
	c.Issuer, _ = raw["iss"].(string)
	c.Subject, _ = raw["sub"].(string)
	c.Email, _ = raw["email"].(string)
	c.Name, _ = raw["name"].(string)
	c.EmailVerified = c.Email != "" && isEmailVerified(raw, c.Issuer)
	var exp, nbf, iat bool
	c.ExpiresAt, exp = date(raw, "exp")
	c.notBefore, nbf = date(raw, "nbf")
	c.IssuedAt, iat = date(raw, "iat")
	c.audiences = audiences(raw["aud"])
	c.party, _ = raw["azp"].(string)
	switch {
	case !exp || !nbf || !iat:
		return c, refused("one of its times (exp, nbf, iat) is no number of seconds")
	case c.ExpiresAt.IsZero():
		return c, refused("it does not say when it ends (exp)")
	case c.Issuer == "":
		return c, refused("it does not say who issued it (iss)")
	case !validSubject(c.Subject):
		return c, refused("its subject (sub) is missing, longer than %d bytes, or holds control characters", maxSubject)
	}
	return c, nil
}

// entraIssuers are how issuers of Microsoft Entra ID begin, in each of its clouds.
var entraIssuers = []string{
	"https://login.microsoftonline.com/", "https://login.microsoftonline.us/",
	"https://login.partner.microsoftonline.cn/",
}

// isEmailVerified reports whether an issuer calls the e-mail address in its claims verified. Some providers write that
// as a string. Entra ID has another claim for it: the owner of the address's domain has been verified
// (https://learn.microsoft.com/entra/identity-platform/optional-claims-reference).
func isEmailVerified(raw map[string]any, issuer string) bool {
	value, isSet := raw["email_verified"]
	isEntra := slices.ContainsFunc(entraIssuers, func(begin string) bool { return strings.HasPrefix(issuer, begin) })
	if isSet || !isEntra {
		return value == true || value == "true"
	}
	value = raw["xms_edov"]
	return value == true || value == "true" || value == "1" || value == 1.0
}

// validSubject also refuses control characters: no provider uses them, and PostgreSQL cannot store NUL.
func validSubject(s string) bool {
	return s != "" && len(s) <= maxSubject && !strings.ContainsFunc(s, unicode.IsControl)
}

// date reads a NumericDate; the zero time if it is missing.
func date(raw map[string]any, name string) (time.Time, bool) {
	v, isSet := raw[name]
	if !isSet {
		return time.Time{}, true
	}
	seconds, ok := v.(float64)
	if !ok || seconds < 0 || seconds > maxDate {
		return time.Time{}, false
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC(), true
}

// audiences reads one audience, or a list of them.
func audiences(aud any) []string {
	switch v := aud.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// acceptedBy returns the claims if they are meant for one of issuer's audiences and are valid now.
func (c claims) acceptedBy(issuer identity.Issuer, now time.Time) (*account.Claims, error) {
	meant := func(audience string) bool { return audience != "" && slices.Contains(issuer.Audiences, audience) }
	switch format := func(t time.Time) string { return t.Format(time.RFC3339) }; {
	case !slices.ContainsFunc(c.audiences, meant):
		return nil, refused("it is for the audiences (aud) %.200q; configured are %q", c.audiences, issuer.Audiences)
	case len(c.audiences) > 1 && !meant(c.party): // OpenID Connect Core, section 3.1.3.7
		return nil, refused("it has several audiences (aud), and its authorized party (azp) %.200q is none of those "+
			"configured: %q", c.party, issuer.Audiences)
	case !now.Before(c.ExpiresAt.Add(skew)):
		return nil, refused("it expired (exp) at %s; now is %s", format(c.ExpiresAt), format(now))
	case now.Before(c.notBefore.Add(-skew)):
		return nil, refused("it is not valid before (nbf) %s; now is %s", format(c.notBefore), format(now))
	case now.Before(c.IssuedAt.Add(-skew)):
		return nil, refused("it was issued (iat) in the future, at %s; now is %s", format(c.IssuedAt), format(now))
	}
	return &c.Claims, nil
}
