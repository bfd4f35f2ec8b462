package payment_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// FuzzCheckSignature looks for headers that are accepted without a signature of the body.
func FuzzCheckSignature(f *testing.F) {
	key, now := secret.New("whsec_fuzz"), time.Unix(1_800_000_000, 0)
	body := []byte(`{"id":"evt_1","object":"event","type":"invoice.paid"}`)
	genuine := payment.Sign(key, body, now)
	stamp, sum, _ := strings.Cut(genuine, ",")
	for _, header := range []string{
		genuine, "", ",", "t=,v1=", sum, stamp, sum + "," + stamp, genuine + "," + sum, stamp + "," + stamp + "," + sum,
		"t=0," + sum, "t=9223372036854775807," + sum, "t=-9223372036854775808," + sum,
		"t=+1800000000," + sum, strings.ReplaceAll(genuine, "v1", "v0"), strings.ToUpper(genuine), stamp + ",v1=",
		stamp + strings.Repeat(","+sum, 20), " " + stamp + " , " + sum,
		payment.Sign(secret.New(""), body, now),
	} {
		f.Add(header, body)
	}
	f.Add(genuine, []byte("{}"))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		err := payment.CheckSignature([]secret.String{{}, key}, header, body, now)
		if err != nil {
			assert.That(t, errors.Is(err, payment.ErrSignature), "%q: %v", header, err)
			return
		}
		// An accepted header contains, in hexadecimal, the sum over one of its times.
		for part := range strings.SplitSeq(header, ",") {
			path, ok := strings.CutPrefix(strings.TrimSpace(part), "t=")
			if !ok {
				continue
			}
			mac := hmac.New(sha256.New, []byte(key.Reveal()))
			mac.Write([]byte(path + "."))
			mac.Write(body)
			if strings.Contains(strings.ToLower(header), hex.EncodeToString(mac.Sum(nil))) {
				return
			}
		}
		t.Errorf("%q is let in for %q", header, body)
	})
}

// FuzzParseEvent reads events that an untrusted gateway could have signed.
func FuzzParseEvent(f *testing.F) {
	for _, body := range []string{
		`{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice","customer":"cus_1"}}}`,
		`{"id":"evt_1","object":"event","type":"x","data":{"object":{"object":"customer","id":"cus_1"}}}`,
		`{"id":"evt_1","object":"event","type":"x","data":{"object":{"customer":{"id":"cus_1"}}}}`,
		`{"id":"evt_1","object":"event","type":"x","data":{"object":{"customer":null},"previous_attributes":{"customer":"cus_1"}}}`, `{"created":1e18}`, `null`, `[]`, ``, `{"data":[]}`,
		`{"id":"evt_1","object":"event","type":"x","created":9223372036854775807}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := payment.ParseEvent(body)
		if err != nil {
			assert.That(t, errors.Is(err, payment.ErrEventMalformed), "%q: %v", body, err)
			return
		}
		for _, text := range []string{e.ID, e.Type, e.Account, string(e.Customer)} {
			assert.That(t, len(text) <= 255 && !strings.Contains(text, "\x00"),
				"%q is kept of %q, which no store holds", text, body)
		}
		y := e.CreatedAt.Year()
		assert.That(t, y >= 1 && y <= 9999, "an event of the year %d, which no store holds", y)
	})
}
