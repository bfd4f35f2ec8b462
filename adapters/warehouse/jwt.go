package warehouse

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// SignJWT makes a JSON Web Token (RFC 7519) of claims, signed by RS256 (RFC 7518, section 3.3). A keyID
// of "" is left out.
func SignJWT(key *rsa.PrivateKey, keyID string, claims map[string]any) (string, error) {
	header := map[string]string{"alg": "RS256", "typ": "JWT"}
	if keyID != "" {
		header["kid"] = keyID
	}
	var token string
	for _, part := range []any{header, claims} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		if token != "" {
			token += "."
		}
		token += base64.RawURLEncoding.EncodeToString(text)
	}
	sum := sha256.Sum256([]byte(token))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return token + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
