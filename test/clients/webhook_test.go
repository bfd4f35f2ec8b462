package clients

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/program"
)

// eventually waits for something that happens in the background.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for late := time.Now().Add(program.Patience); !happened(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it has not happened: " + what)
		}
	}
}

// TestVerifyWebhook signs as the Standard Webhooks specification describes. The first signature is the example of its
// reference libraries.
func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	const (
		secret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		other   = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		id      = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		body    = `{"test": 2432232314}`
		now     = int64(1614265330)
		example = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	signed := func(secret, text string, at int64) string {
		key, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, at, text)
		return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	with := func(signature string, at int64) map[string]string {
		return map[string]string{"Webhook-Id": id, "Webhook-Timestamp": fmt.Sprint(at), "Webhook-Signature": signature}
	}
	cases := []struct {
		name    string
		headers map[string]string
		body    string
		secrets []string
		valid   bool
	}{
		{"the specification's example", with(example, now), body, []string{secret}, true},
		{"a second secret", with(signed(other, body, now), now), body, []string{secret, other}, true},
		{"several signatures", with("v1,AAAA v2,x "+example, now), body, []string{secret}, true},
		{"bytes beyond ASCII", with(signed(secret, `{"a":"ü😀"}`, now), now), `{"a":"ü😀"}`, []string{secret}, true},
		{"another secret", with(example, now), body, []string{other}, false},
		{"another body", with(example, now), `{"test": 2432232315}`, []string{secret}, false},
		{"too old", with(signed(secret, body, now-301), now-301), body, []string{secret}, false},
		{"too new", with(signed(secret, body, now+301), now+301), body, []string{secret}, false},
		{"just in time", with(signed(secret, body, now-300), now-300), body, []string{secret}, true},
		{"no headers", map[string]string{"Host": "example.com"}, body, []string{secret}, false},
		{"another version of the signature", with("v2,"+example[3:], now), body, []string{secret}, false},
		{"a signature that is not base64", with("v1,%%%", now), body, []string{secret}, false},
	}
	inEach(t, func(t *testing.T, d driver) {
		for _, tt := range cases {
			r := d.do(t, command{Do: "webhook", Text: tt.body, Headers: tt.headers, Secrets: tt.secrets, Now: now}, nil)
			switch {
			case tt.valid && r.Error != nil:
				t.Errorf("%s: %+v", tt.name, *r.Error)
			case !tt.valid && (r.Error == nil || r.Error.Kind != "webhook"):
				t.Errorf("%s: the error is %+v", tt.name, r.Error)
			}
		}
	})
}
