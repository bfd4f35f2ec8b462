package atrium

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrWebhook is the error of a webhook that is not genuine, or too old.
var ErrWebhook = errors.New("atrium: the webhook is not valid")

// webhookTolerance is the most time between a webhook's timestamp and now.
const webhookTolerance = 5 * time.Minute

// VerifyWebhook returns ErrWebhook unless one of the secrets signed the webhook within five minutes, as the Standard
// Webhooks specification describes. body must be exactly as it was received. It returns another error for a secret
// that is not valid.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) error {
	return VerifyWebhookAt(body, header, time.Now(), secrets...)
}

// VerifyWebhookAt is VerifyWebhook at another time, for tests.
func VerifyWebhookAt(body []byte, header http.Header, now time.Time, secrets ...string) error {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds < 0 || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > webhookTolerance {
		return ErrWebhook
	}
	for _, secret := range secrets {
		secret, err := checked("secret of the webhook", secret)
		if err != nil {
			return err
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return errors.New("atrium: the secret of a webhook is not valid base64")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
			text, ok := strings.CutPrefix(signature, "v1,")
			if signature, err := base64.StdEncoding.DecodeString(text); ok && err == nil && hmac.Equal(signature,
				want) {
				return nil
			}
		}
	}
	return ErrWebhook
}
