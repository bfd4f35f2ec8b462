package atrium

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// SignVisitor returns the signature with which your backend vouches for a visitor of an embedded chat for as long as
// lasts says. secret is the visitor_secret of the embed token, and never belongs in a page. Put the signature into
// data-visitor-signature beside data-visitor. Spaces and line breaks around the secret are ignored.
func SignVisitor(secret, visitor string, lasts time.Duration) string {
	expiry := strconv.FormatInt(time.Now().Add(lasts).Unix(), 10)
	mac := hmac.New(sha256.New, []byte(trimmed(secret)))
	mac.Write([]byte(expiry + "." + visitor))
	return expiry + "." + hex.EncodeToString(mac.Sum(nil))
}
