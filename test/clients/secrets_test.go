package clients

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// The halves of a credential that is broken in the middle. No text of a client may contain one of them.
const head, tail = "atk_firsthalf", "secondhalf"

// unfit are credentials that no request can carry.
var unfit = map[string]string{
	"a line break":                    head + "\n" + tail,
	"a carriage return":               head + "\r" + tail,
	"two lines of a file":             head + "\n" + tail + "\n",
	"a space":                         head + " " + tail,
	"an ellipsis, as in the examples": head + "…" + tail,
	"a letter of Latin-1":             head + "é" + tail,
	"a no-break space at the end":     head + tail + "\u00a0",
	"a byte order mark":               "\ufeff" + head + tail,
	"a NUL":                           head + "\x00" + tail,
	"a DEL":                           head + "\x7f" + tail,
}

// isSilent fails the test unless the error is the client's own and contains no half of the credential.
func isSilent(t *testing.T, name string, failedFailure *failure) {
	t.Helper()
	if failedFailure == nil || failedFailure.Kind != "secret" {
		t.Errorf("%s: the error is %+v, want the client's own for secrets", name, failedFailure)
		return
	}
	if strings.Contains(failedFailure.Text, head) || strings.Contains(failedFailure.Text, tail) {
		t.Errorf("%s: the error contains the credential: %s", name, failedFailure.Text)
	}
}

func TestNoClientPrintsACredentialThatNoRequestCanCarry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		s.requests()
		for name, token := range unfit {
			ownSettings := settings{Base: w.server.URL, Token: token, TimeoutMS: 30_000}
			isSilent(t, name+" in the constructor", d.do(t, command{Do: "new", Settings: &ownSettings}, nil).Error)
		}
		for name, token := range unfit {
			w.connect(t, d)
			owner := callOptions{Token: token}
			isSilent(t, name+" in a call", d.do(t, command{Do: "call", Name: "me.get", Options: owner}, nil).Error)
			ownSettings := settings{Base: w.server.URL, Token: token, Refreshes: true, TimeoutMS: 30_000}
			if r := d.do(t, command{Do: "new", Settings: &ownSettings}, nil); r.Error != nil {
				t.Fatalf("%s: %+v", name, r.Error)
			}
			isSilent(t, name+" from a function", d.do(t, command{Do: "call", Name: "me.get"}, nil).Error)
			secrets := []string{"webhook", "visitor"}
			if _, isGo := d.(*goDriver); isGo {
				secrets = secrets[:1] // SignVisitor returns no error: the server refuses its signature
			}
			for _, do := range secrets {
				r := d.do(
					t,
					command{Do: do, Text: "{}", Secrets: []string{token}, Now: 1614265330, Headers: map[string]string{
						"Webhook-Id": "msg_1", "Webhook-Timestamp": "1614265330", "Webhook-Signature": "v1,AAAA"}},
					nil,
				)
				isSilent(t, name+" in the secret of a "+do, r.Error)
			}
		}
		if got := s.requests(); len(got) > 0 {
			t.Errorf("%d requests were sent", len(got))
		}
	})
}

func TestEveryClientIgnoresTheWhitespaceAroundACredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	signedTexts := map[string]string{"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
		"Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
	inEach(t, func(t *testing.T, d driver) {
		for _, text := range []string{"\n", "\r\n", " ", "\t\n \n"} {
			s := w.connect(t, d)
			token := text + w.key + text
			s.must(t, command{Name: "me.get", Options: callOptions{Token: token}})
			for _, refreshes := range []bool{false, true} {
				ownSettings := settings{Base: w.server.URL, Token: token, Refreshes: refreshes, TimeoutMS: 30_000}
				if r := d.do(t, command{Do: "new", Settings: &ownSettings}, nil); r.Error != nil ||
					strings.Contains(r.Text, w.key) {
					t.Fatalf("%q: %+v", text, r)
				}
				s.must(t, command{Name: "me.get"})
			}
			for _, request := range s.requests() {
				assert.Equal(t, text+": the header", request.headers.Get("Authorization"), "Bearer "+w.key)
			}
			r := d.do(t, command{Do: "webhook", Text: `{"test": 2432232314}`, Headers: signedTexts, Now: 1614265330,
				Secrets: []string{text + secret + text}}, nil)
			if r.Error != nil {
				t.Errorf("%q around the secret of a webhook: %+v", text, r.Error)
			}
			r = d.do(
				t,
				command{Do: "visitor", Text: "customer-42", Secrets: []string{text + secret + text}, Now: 60},
				nil,
			)
			signature, _ := r.Value.(string)
			end, mac, _ := strings.Cut(signature, ".")
			want := hmac.New(sha256.New, []byte(secret))
			fmt.Fprintf(want, "%s.customer-42", end)
			if mac != hex.EncodeToString(want.Sum(nil)) {
				t.Errorf("%q around the secret of an embed token: the signature is %q", text, mac)
			}
		}
	})
}

func TestEveryClientRefusesAnAddressWithoutPrintingItsPassword(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, d driver) {
		for _, base := range []string{"https://user:" + head + "@example.com", "https://user:" + head + "℀@example.com",
			"https://example.com:" + head, "https://[" + head, "https://user:" + head + "@[::1", head} {
			ownSettings := settings{Base: base, Token: "x"}
			r := d.do(t, command{Do: "new", Settings: &ownSettings}, nil)
			if r.Error == nil {
				t.Errorf("%s is accepted", base)
			} else if strings.Contains(r.Error.Text, head) {
				t.Errorf("the error contains the password: %s", r.Error.Text)
			}
		}
	})
}
