package embed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
)

// maxAttributes is the maximum size of a visitor's attributes, in bytes.
const maxAttributes = 1024

// CheckAttributes returns an error unless attributes are a JSON object within the limit, or empty.
func CheckAttributes(attributes string) error {
	var members map[string]json.RawMessage
	var errs fault.Fields
	switch {
	case attributes == "":
	case len(attributes) > maxAttributes:
		errs.Add("/visitor_attributes", "too_long", "Must take at most 1,024 bytes.")
	case json.Unmarshal([]byte(attributes), &members) != nil || members == nil:
		errs.Add("/visitor_attributes", "invalid_format", "Must be a JSON object.")
	}
	return errs.Err()
}

// VisitorSecretPrefix is the prefix of the secrets that visitors are signed with.
const VisitorSecretPrefix = "atv_"

// ErrVisitorSignature does not distinguish a wrong signature from an expired one.
var ErrVisitorSignature = &fault.Error{Kind: fault.Forbidden, Code: "visitor_signature_invalid",
	Detail: "The visitor's signature is not valid or has expired. Reload the page."}

// SignVisitor returns the signature with which a site's backend vouches for a visitor until a moment: the seconds since
// 1970, a dot, and in hexadecimal the HMAC-SHA-256 of the seconds, a dot and the visitor. The key is the whole text of
// the secret. With attributes, the HMAC is of the letter a, the seconds, a dot, the SHA-256 of the attributes in
// hexadecimal, a dot and the visitor: no text is signed both with and without attributes.
func SignVisitor(by secret.String, visitor, attributes string, end time.Time) string {
	seconds := strconv.FormatInt(end.Unix(), 10)
	text := seconds + "." + visitor
	if attributes != "" {
		sum := sha256.Sum256([]byte(attributes))
		text = "a" + seconds + "." + hex.EncodeToString(sum[:]) + "." + visitor
	}
	mac := hmac.New(sha256.New, []byte(by.Reveal()))
	mac.Write([]byte(text))
	return seconds + "." + hex.EncodeToString(mac.Sum(nil))
}

// VouchedFor reports whether SignVisitor made the signature for a visitor, who must have a name, with these attributes,
// and whether it has not expired.
func VouchedFor(by secret.String, visitor, attributes, signature string, now time.Time) bool {
	text, _, _ := strings.Cut(signature, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || visitor == "" || now.Unix() >= seconds {
		return false
	}
	return hmac.Equal([]byte(signature), []byte(SignVisitor(by, visitor, attributes, time.Unix(seconds, 0))))
}
