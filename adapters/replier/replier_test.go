package replier_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

var key = bytes.Repeat([]byte("k"), 32)

// guard allows networks of the target, on any port.
func guard(target ports.Target, end time.Time, limit int64) replier.Network {
	return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: func(uint16) bool { return true },
		Connect: proof.Patience, Deadline: end, Bytes: limit})
}

var limits = replier.Limits{Silence: proof.Patience, Progress: proof.Patience, Total: proof.Patience,
	Close: proof.Patience, Bytes: 2 << 20}

// serve starts an endpoint, and returns targets of both kinds at it.
func serve(t *testing.T, handler http.HandlerFunc) (endpoint, compatible ports.Target) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return at(t, s.URL)
}

func at(t *testing.T, url string) (endpoint, compatible ports.Target) {
	t.Helper()
	target := func(kind connection.Kind, credential map[string]string) ports.Target {
		text, err := json.Marshal(credential)
		require.NoError(t, err)
		c, err := connection.ParseCredential(kind, text)
		require.NoError(t, err)
		allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		return ports.Target{Credential: c, Egress: identity.Egress{Allow: allow}, Limits: ports.DefaultLimits()}
	}
	return target(connection.ReplyEndpoint, map[string]string{"url": url + "/replies",
			"signing_secret": "whsec_" + base64.StdEncoding.EncodeToString(key)}),
		target(connection.OpenAICompatible, map[string]string{"base_url": url + "/v1", "api_key": "sk-canary"})
}

var request = ports.ReplyRequest{
	ID: "msg_1", Template: "ctpl_1", Token: "etok_1", Origin: "https://shop.example", Visitor: "v42",
	ModelName: "small", Effective: chat.Effective{Instructions: "Be brief.",
		Model: &prompt.ModelConfig{Temperature: new(0.5), MaxTokens: new(9)}},
	Question: embed.Question{Text: "Where?", History: []embed.Turn{{Question: "Hi", Answer: "Hello"}}},
}

// collect returns the answer.
func collect(ctx context.Context, r ports.Replier, target ports.Target) (string, error) {
	var text strings.Builder
	err := r.Reply(ctx, target, request, func(p embed.Piece) error {
		text.WriteString(p.Text)
		return nil
	})
	return text.String(), err
}

func stream(w http.ResponseWriter, data ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, d := range data {
		_, _ = fmt.Fprintf(w, ": a comment\n\ndata: %s\n\n", d)
	}
}

func TestAnEndpointGetsASignedMessage(t *testing.T) {
	var got struct {
		Type, ID, Instructions string
		Messages               []struct{ Role, Content string }
		Visitor, Origin        string
	}
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(r.Header.Get("Webhook-Id") + "." + r.Header.Get("Webhook-Timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("Webhook-Signature") != want {
			t.Errorf("the signature is %q, want %q", r.Header.Get("Webhook-Signature"), want)
		}
		if err := json.Unmarshal(body, &got); err != nil || r.Method != "POST" || r.URL.Path != "/replies" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		stream(w, `{"text":"On "}`, `{"text":"its way."}`, `[DONE]`, `{"text":"never"}`)
	})
	text, err := collect(t.Context(), replier.NewEndpoint(guard, limits), target)
	if text != "On its way." || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	said := fmt.Sprint(got)
	want := "{chat.message msg_1 Be brief. [{user Hi} {assistant Hello} {user Where?}] v42 https://shop.example}"
	assert.Equal(t, "said", said, want)
}

func TestACompatibleServerGetsACompletion(t *testing.T) {
	var body string
	_, target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-canary" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		stream(w, `{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"On "}},{"index":1,"delta":{"content":"never"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"its way."}}]}`, `{"choices":[]}`, `[DONE]`)
	})
	text, err := collect(t.Context(), replier.NewCompatible(guard, limits), target)
	if text != "On its way." || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if want := `{"max_tokens":9,"messages":[{"role":"system","content":"Be brief."},` +
		`{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},{"role":"user","content":"Where?"}],` +
		`"model":"small","stream":true,"temperature":0.5}`; body != want {
		t.Errorf("%s", body)
	}
}

func TestAnswersInOnePiece(t *testing.T) {
	target, other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"text":"whole","choices":[{"message":{"content":"whole"}}]}`)
	})
	for _, err := range []error{
		func() error { _, err := collect(t.Context(), replier.NewEndpoint(guard, limits), target); return err }(),
		func() error { _, err := collect(t.Context(), replier.NewCompatible(guard, limits), other); return err }(),
	} {
		assert.NoError(t, err)
	}
}

func TestABadEndpointIsOneFailure(t *testing.T) {
	isReached := false
	forbidden := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		isReached = true
	}))
	l, err := net.Listen("tcp", "127.0.0.2:0")
	require.NoError(t, err)
	forbidden.Listener.Close()
	forbidden.Listener = l
	forbidden.Start()
	defer forbidden.Close()
	const secret = "canary-of-the-endpoint"
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    embed.ReplyFailure
		text    string
	}{
		"an error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, 500) }, embed.ReplyFailed, ""},
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, 401) },
			embed.ReplyFailed, ""},
		"a redirect to a forbidden address": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, forbidden.URL, http.StatusTemporaryRedirect)
		}, embed.ReplyFailed, ""},
		"another media type": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, secret) },
			embed.ReplyFailed, ""},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { stream(w, `{"text":"a"}`, secret) },
			embed.ReplyFailed, "a"},
		"a failure in the stream": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, `{"text":"a"}`, `{"error":"`+secret+`"}`)
		}, embed.ReplyFailed, "a"},
		"a stream without an end": {func(w http.ResponseWriter, _ *http.Request) { stream(w, `{"text":"a"}`) },
			embed.ReplyFailed, "a"},
		"a reset": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, `{"text":"a"}`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, embed.ReplyFailed, "a"},
		"a long line": {func(w http.ResponseWriter, _ *http.Request) { stream(w, strings.Repeat("x", 1<<20)) },
			embed.ReplyTooLarge, ""},
		"a long answer": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, `{"text":"a"}`, `{"text":"`+strings.Repeat("x", embed.MaxReplied)+`"}`)
		}, embed.ReplyTooLarge, "a"},
		"more bytes than are read": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w)
			for range 3 << 20 >> 10 {
				_, _ = io.WriteString(w, strings.Repeat(":", 1023)+"\n")
			}
		}, embed.ReplyTooLarge, ""},
		"silence": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, embed.ReplyTimeout, ""},
		"silence after a word": {func(w http.ResponseWriter, r *http.Request) {
			stream(w, `{"text":"a"}`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, embed.ReplyTimeout, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // without it the server does not notice that the client is gone
				tt.handler(w, r)
			})
			l := limits
			if tt.want == embed.ReplyTimeout {
				l.Silence = time.Second // in which the word before must arrive
			}
			text, err := collect(t.Context(), replier.NewEndpoint(guard, l), target)
			if f, _ := errors.AsType[embed.ReplyFailure](err); f != tt.want || text != tt.text {
				t.Errorf("%q, %v", text, err)
			}
			if strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("the error holds what the endpoint sent: %v", err)
			}
		})
	}
	if isReached {
		t.Error("the redirect was followed")
	}
}

func TestOnlyAllowedNetworksAreReached(t *testing.T) {
	target, other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
	target.Egress, other.Egress = identity.Egress{}, identity.Egress{}
	for _, err := range []error{
		func() error { _, err := collect(t.Context(), replier.NewEndpoint(guard, limits), target); return err }(),
		func() error { _, err := collect(t.Context(), replier.NewCompatible(guard, limits), other); return err }(),
	} {
		if !errors.Is(err, connection.NetworkNotAllowed) {
			t.Error(err)
		}
	}
}

func TestAVisitorWhoLeavesEndsTheRequest(t *testing.T) {
	goneSignal := make(chan struct{})
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stream(w, `{"text":"a"}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(goneSignal)
	})
	ctx, cancel := context.WithCancel(t.Context())
	err := replier.NewEndpoint(guard, limits).Reply(ctx, target, request, func(embed.Piece) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-goneSignal:
	case <-time.After(proof.Patience):
		t.Error("the endpoint still answers")
	}
}

func TestProbes(t *testing.T) {
	for name, tt := range map[string]struct {
		status             int
		body               string
		endpoint, compared connection.Code
	}{
		"let in":        {200, `{"data":[{"id":"small"},{"id":"large"}]}`, "", ""},
		"not its API":   {200, `<html>`, "", connection.NotThisDatabase},
		"a wrong key":   {401, ``, connection.AuthFailed, connection.AuthFailed},
		"another path":  {404, ``, connection.NotThisDatabase, connection.NotThisDatabase},
		"too much":      {429, ``, connection.QuotaExceeded, connection.QuotaExceeded},
		"out of order":  {500, ``, connection.HostUnreachable, connection.HostUnreachable},
		"a redirection": {302, ``, connection.NotThisDatabase, connection.NotThisDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			target, other := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); (r.Method == "POST" && !bytes.Contains(body, []byte(`"type":"ping"`))) ||
					(r.Method == "GET" && r.URL.Path != "/v1/models") {
					t.Errorf("%s %s: %s", r.Method, r.URL, body)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			if got := replier.NewEndpoint(guard, limits).Probe(t.Context(), target); got.Failure() != tt.endpoint ||
				len(got.Checks) != len(connection.Steps()) {
				t.Errorf("endpoint: %+v", got)
			}
			got := replier.NewCompatible(guard, limits).Probe(t.Context(), other)
			if got.Failure() != tt.compared || (tt.compared == "" && got.Server.Version != "small, large") {
				t.Errorf("compatible: %+v", got)
			}
		})
	}
	t.Run("nothing there", func(t *testing.T) {
		item, _ := at(t, fmt.Sprintf("http://127.0.0.1:%d", fixture.ClosedPort(t)))
		if got := replier.NewEndpoint(guard, limits).Probe(t.Context(), item).Failure(); got != connection.PortClosed {
			t.Error(got)
		}
	})
}
