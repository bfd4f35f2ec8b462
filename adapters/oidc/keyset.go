package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwk"
)

const (
	maxKeys    = 100  // in a set; providers publish fewer than ten
	minRSABits = 2048 // RFC 7518, section 3.3
	maxRSABits = 8192 // above this, verifying a signature is too expensive
)

// keySet has the keys of one issuer that tokens can be signed with. It is immutable.
type keySet struct {
	keys    []key
	refused []error // why other keys that the issuer publishes are not used
}

type key struct {
	id     string // may be empty
	alg    string // the one of algorithms that fits the key
	public crypto.PublicKey
}

// find returns the key that a token names, if the key has the token's algorithm, and nil if not found. For a token that
// names no key it returns the only key that fits the algorithm.
func (s *keySet) find(h header) *key {
	var found *key
	for i := range s.keys {
		k := &s.keys[i]
		switch {
		case k.alg != h.Algorithm:
		case h.KeyID == "" && found != nil:
			return nil
		case h.KeyID == "":
			found = k
		case k.id == h.KeyID:
			return k
		}
	}
	return found
}

// parseKeySet reads a JWK Set. It ignores keys that it does not understand or that have another use
// (RFC 7517, section 5).
func parseKeySet(document []byte) (*keySet, error) {
	parsed, err := jwk.Parse(document, jwk.WithStrictKeySetParsing(false), jwk.WithMaxKeys(maxKeys))
	if err != nil {
		return nil, errors.New("is not a JWK Set of at most 100 keys") // jwk's error quotes the document
	}
	set := &keySet{}
	for i := range parsed.Len() {
		member, _ := parsed.Key(i)
		k, err := usable(member)
		if err != nil {
			set.refused = append(set.refused, fmt.Errorf("key %d: %w", i, err))
			continue
		}
		set.keys = append(set.keys, k)
	}
	return set, nil
}

// usable returns published as a key to verify tokens with, or an error that explains why it is not one.
func usable(keyOf jwk.Key) (key, error) {
	if _, ok := keyOf.(jwk.UnsupportedKey); ok {
		return key{}, errors.New("is malformed, too small, or of a kind that is not supported")
	}
	if private, err := jwk.IsPrivateKey(keyOf); err != nil || private {
		return key{}, errors.New("is not a public key")
	}
	if use, ok := keyOf.KeyUsage(); ok && use != jwk.ForSignature.String() {
		return key{}, errors.New("is not for signatures")
	}
	if ops, ok := keyOf.KeyOps(); ok && !slices.Contains(ops, jwk.KeyOpVerify) {
		return key{}, errors.New("is not for verifying")
	}
	var public any
	if err := jwk.Export(keyOf, &public); err != nil {
		return key{}, errors.New("is malformed")
	}
	alg, err := algorithm(public)
	if err != nil {
		return key{}, err
	}
	if algorithm, ok := keyOf.Algorithm(); ok && algorithm.String() != alg {
		return key{}, fmt.Errorf("is not for %s, the one algorithm that is accepted of such a key", alg)
	}
	id, _ := keyOf.KeyID()
	return key{id, alg, public}, nil
}

// algorithm returns the one algorithm that fits a key.
func algorithm(public crypto.PublicKey) (string, error) {
	switch p := public.(type) {
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return "", fmt.Errorf("has %d bits, not %d to %d", bits, minRSABits, maxRSABits)
		}
		return "RS256", nil
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return "", errors.New("is not on the curve P-256")
		}
		return "ES256", nil
	case ed25519.PublicKey:
		return "EdDSA", nil
	}
	return "", errors.New("is neither RSA, nor P-256, nor Ed25519")
}
