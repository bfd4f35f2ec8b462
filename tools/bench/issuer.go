package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"time"
)

// audience is the audience of the issuer's tokens.
const audience = "bench"

// issuer is an OpenID provider on loopback with one RSA key of 2048 bits.
type issuer struct {
	url    string // its identifier, as in the tokens' iss
	key    *rsa.PrivateKey
	server *http.Server
}

// startIssuer serves discovery and keys until stop.
func startIssuer(ctx context.Context) (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	i := &issuer{url: "http://" + l.Addr().String(), key: key,
		server: &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}}
	mux.HandleFunc("GET /.well-known/openid-configuration",
		answers(map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys"}))
	mux.HandleFunc("GET /keys", answers(map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "alg": "RS256", "use": "sig", "n": base64url(key.N.Bytes()),
		"e": base64url(big.NewInt(int64(key.E)).Bytes()),
	}}}))
	go func() { _ = i.server.Serve(l) }() // Atrium tells of keys that it cannot get
	return i, nil
}

func (i *issuer) stop() { _ = i.server.Close() } // nobody is waiting for it

// token returns a JWT for a user that Atrium does not know yet. It is valid for an hour, which is longer than any
// measurement.
func (i *issuer) token() (string, error) {
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": i.url, "sub": "bench-1", "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "bench@example.com", "email_verified": true, "name": "Bench",
	})
	if err != nil {
		return "", err
	}
	signed := base64url([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + base64url(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, i.key, crypto.SHA256, digest[:])
	return signed + "." + base64url(signature), err
}

func answers(document any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(document) // a client that is gone hears nothing
	}
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
