package embed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
)

// VisitorSecretPrefix is the prefix of the secrets that visitors are signed with.
const VisitorSecretPrefix = "atv_"

// ErrVisitorSignature does not distinguish a wrong signature from an expired one.
var ErrVisitorSignature = &fault.Error{Kind: fault.Forbidden, Code: "visitor_signature_invalid",
	Detail: "The visitor's signature is not valid or has expired. Reload the page."}

// SignVisitor returns the signature with which a site's backend vouches for a visitor until a moment: the seconds since
// 1970, a dot, and in hexadecimal the HMAC-SHA-256 of the seconds, a dot and the visitor. The key is the whole text of
// the secret.
func SignVisitor(by secret.String, visitor string, end time.Time) string {
	seconds := strconv.FormatInt(end.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(by.Reveal()))
	mac.Write([]byte(seconds + "." + visitor))
	return seconds + "." + hex.EncodeToString(mac.Sum(nil))
}

// VouchedFor reports whether SignVisitor made the signature for a visitor, who must have a name, and whether it has not
// expired.
func VouchedFor(by secret.String, visitor, signature string, now time.Time) bool {
	text, _, _ := strings.Cut(signature, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || visitor == "" || now.Unix() >= seconds {
		return false
	}
	return hmac.Equal([]byte(signature), []byte(SignVisitor(by, visitor, time.Unix(seconds, 0))))
}
