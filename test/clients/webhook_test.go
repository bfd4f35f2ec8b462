package clients

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

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
	sign := func(secret, text string, index int64) string {
		key, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
		require.NoError(t, err)
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.%s", id, index, text)
		return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	textsWith := func(signature string, at int64) map[string]string {
		return map[string]string{"Webhook-Id": id, "Webhook-Timestamp": fmt.Sprint(at), "Webhook-Signature": signature}
	}
	cases := []struct {
		name    string
		headers map[string]string
		body    string
		secrets []string
		valid   bool
	}{
		{"the specification's example", textsWith(example, now), body, []string{secret}, true},
		{"a second secret", textsWith(sign(other, body, now), now), body, []string{secret, other}, true},
		{"several signatures", textsWith("v1,AAAA v2,x "+example, now), body, []string{secret}, true},
		{"bytes beyond ASCII", textsWith(sign(secret, `{"a":"ü😀"}`, now), now), `{"a":"ü😀"}`, []string{secret}, true},
		{"another secret", textsWith(example, now), body, []string{other}, false},
		{"another body", textsWith(example, now), `{"test": 2432232315}`, []string{secret}, false},
		{"too old", textsWith(sign(secret, body, now-301), now-301), body, []string{secret}, false},
		{"too new", textsWith(sign(secret, body, now+301), now+301), body, []string{secret}, false},
		{"just in time", textsWith(sign(secret, body, now-300), now-300), body, []string{secret}, true},
		{"no headers", map[string]string{"Host": "example.com"}, body, []string{secret}, false},
		{"another version of the signature", textsWith("v2,"+example[3:], now), body, []string{secret}, false},
		{"a signature that is not base64", textsWith("v1,%%%", now), body, []string{secret}, false},
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

// TestAReceiverWithThePublicLibraryOfNPMVerifiesWebhooks sends webhooks of a server to a program that uses the library
// of Standard Webhooks.
func TestAReceiverWithThePublicLibraryOfNPMVerifiesWebhooks(t *testing.T) {
	t.Parallel()
	const source = "testdata/receiver"
	packages, output, err := services.Packages(services.NPM(t), source, "standardwebhooks")
	if err != nil {
		t.Fatalf("npm ci: %v\n%s", err, output)
	}
	program := exec.Command("node", filepath.Join(source, "receiver.mjs"), packages)
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	require.NoError(t, err)
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the receiver did not start")
	}
	w := newWorld(t, sqlite)
	client, err := atrium.New(w.node.URL, w.key)
	require.NoError(t, err)
	hook, err := client.Webhooks.Create(t.Context(), atrium.WebhookCreate{URL: lines.Text(),
		Events: []string{"prompt_template.*"}})
	require.NoError(t, err)
	if _, err := io.WriteString(in, hook.Secret+"\n"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		draft := atrium.PromptTemplateCreate{Name: fmt.Sprint("ünï ", i)}
		if _, err := client.PromptTemplates.Create(t.Context(), draft); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if !lines.Scan() {
			t.Fatal("the receiver has ended")
		}
		var got struct{ Type, ID, AsSent, OtherSecret, Old, Altered string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got))
		const wrong, old = "No matching signature", "too old"
		if got.Type != "prompt_template.created" || !strings.HasPrefix(got.ID, "evt_") || got.AsSent != "" ||
			!strings.Contains(got.OtherSecret, wrong) || !strings.Contains(got.Altered, wrong) ||
			!strings.Contains(got.Old, old) {
			t.Errorf("the library says %+v", got)
		}
	}
}
