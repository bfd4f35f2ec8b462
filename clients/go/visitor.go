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
	return SignVisitorWith(secret, visitor, "", lasts)
}

// SignVisitorWith is SignVisitor with what your backend says of the visitor: the text of a JSON object, or "". The page
// must pass exactly this text as data-visitor-attributes.
func SignVisitorWith(secret, visitor, attributes string, lasts time.Duration) string {
	expiry := strconv.FormatInt(time.Now().Add(lasts).Unix(), 10)
	text := expiry + "." + visitor
	if attributes != "" {
		sum := sha256.Sum256([]byte(attributes))
		text = "a" + expiry + "." + hex.EncodeToString(sum[:]) + "." + visitor
	}
	mac := hmac.New(sha256.New, []byte(trimmed(secret)))
	mac.Write([]byte(text))
	return expiry + "." + hex.EncodeToString(mac.Sum(nil))
}
