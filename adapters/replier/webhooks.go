package replier

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// Webhooks sends a workspace's events, and the turns of its chats, to its endpoints.
type Webhooks struct{ guard Guard }

var _ ports.WebhookSender = (*Webhooks)(nil)

// NewWebhooks returns a Webhooks.
func NewWebhooks(g Guard) *Webhooks { return &Webhooks{guard: g} }

const (
	webhookTotal   = 15 * time.Second
	webhookConnect = 5 * time.Second
	webhookBytes   = 256 << 10 // received bytes, TLS included
	maxHeader      = 2000      // bytes of an additional header's value

	stampLayout = "2006-01-02T15:04:05.000Z" // of moments, in UTC
)

// payload is a webhook's body, WebhookPayload of the contract.
type payload struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      struct {
		ID        string         `json:"id"`
		Seq       int64          `json:"seq"`
		Workspace string         `json:"workspace_id"`
		Subject   payloadSubject `json:"subject"`
		Actor     *string        `json:"actor"`
		Change    map[string]any `json:"change"`
	} `json:"data"`
}

type payloadSubject struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Revision *int64 `json:"revision"`
}

func payloadOf(e event.Event) ([]byte, error) {
	p := payload{Type: e.Type, Timestamp: e.At.UTC().Format(stampLayout)}
	p.Data.ID, p.Data.Seq, p.Data.Workspace = e.ID, e.Seq, string(e.Workspace)
	p.Data.Subject = payloadSubject{ID: e.Subject, Type: event.SubjectType(e.Type)}
	if e.Revision > 0 {
		p.Data.Subject.Revision = &e.Revision
	}
	p.Data.Actor = orNil(string(e.Actor))
	if p.Data.Change = e.Data; e.Data == nil {
		p.Data.Change = map[string]any{}
	}
	return json.Marshal(p)
}

// sign adds the headers of the Standard Webhooks specification, with one signature for each key.
func sign(h http.Header, id string, now time.Time, body []byte, keys ...[]byte) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", stamp)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
}

// transcript is a turn's body.
type transcript struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      struct {
		ID           string               `json:"id"`
		Workspace    identity.WorkspaceID `json:"workspace_id"`
		Template     chat.ID              `json:"chat_template_id"`
		Token        embed.TokenID        `json:"embed_token_id"`
		Origin       *string              `json:"origin"`
		Visitor      *string              `json:"visitor"`
		Signed       bool                 `json:"visitor_signed"`
		Session      *string              `json:"session_id"`
		Conversation string               `json:"conversation_id"`
		Page         *string              `json:"page_url"`
		Prompt       *promptVersion       `json:"prompt"`
		Question     string               `json:"text"`
		Answer       string               `json:"answer"`
		Refused      bool                 `json:"refused"`
	} `json:"data"`
}

func transcriptOf(t *ports.Turn) ([]byte, error) {
	out := transcript{Type: "chat.turn", Timestamp: t.At.UTC().Format(stampLayout)}
	d := &out.Data
	d.ID, d.Workspace, d.Template, d.Token = t.ID, t.Workspace, t.Template, t.Token
	d.Origin, d.Visitor, d.Signed = orNil(string(t.Origin)), orNil(t.Visitor), t.Signed
	d.Session, d.Conversation, d.Page = orNil(t.Session), t.Conversation, orNil(t.Page)
	d.Prompt, d.Question, d.Answer, d.Refused = versionOf(t.Prompt), t.Question, t.Answer, t.Refused
	return json.Marshal(out)
}

// Send implements ports.WebhookSender.
func (w *Webhooks) Send(ctx context.Context, target ports.WebhookTarget, d *webhook.Delivery,
	now time.Time) webhook.Outcome {
	body, err := payloadOf(d.Event)
	return w.attempt(ctx, target, d.Event.ID, body, err, now)
}

// SendTurn implements ports.WebhookSender.
func (w *Webhooks) SendTurn(ctx context.Context, target ports.WebhookTarget, t *ports.Turn,
	now time.Time) webhook.Outcome {
	body, err := transcriptOf(t)
	return w.attempt(ctx, target, t.ID, body, err, now)
}

// attempt sends a body, unless it could not be written, and measures the time.
func (w *Webhooks) attempt(ctx context.Context, target ports.WebhookTarget, id string, body []byte, err error,
	now time.Time) webhook.Outcome {
	if err != nil {
		return webhook.Outcome{Failure: "internal"}
	}
	start := time.Now()
	out := w.send(ctx, target, id, body, now, start.Add(webhookTotal))
	out.Took = time.Since(start)
	return out
}

// send makes one attempt to deliver a body. Whatever happens is an Outcome, and the receiver's response is kept without
// the target's headers.
func (w *Webhooks) send(ctx context.Context, target ports.WebhookTarget, id string, body []byte,
	now, end time.Time) webhook.Outcome {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		return webhook.Outcome{Failure: "internal"}
	}
	for name, value := range target.Headers {
		r.Header.Set(name, value)
	}
	sign(r.Header, id, now, body, target.Keys...)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Atrium-Webhooks")
	limits := ports.Limits{Connect: webhookConnect, Total: webhookTotal, Bytes: webhookBytes}
	client, err := w.guard.client(ports.Target{Egress: target.Egress, Limits: limits}, end, webhookBytes)
	if err != nil {
		return webhook.Outcome{Failure: "internal"}
	}
	response, err := client.Do(r)
	if err != nil {
		return webhook.Outcome{Failure: string(codeOf(err))}
	}
	defer func() { _ = response.Body.Close() }() // it was read from
	answer, _ := io.ReadAll(io.LimitReader(response.Body, webhook.MaxAnswer+maxHeader))
	return webhook.Outcome{Status: response.StatusCode, Answer: storable(redacted(string(answer), target.Headers)),
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), now)}
}

// redacted returns a response's beginning without the values of headers, which a receiver may echo.
func redacted(answer string, headers map[string]string) string {
	for _, value := range headers {
		_, credential, _ := strings.Cut(value, " ") // without the scheme
		for _, secret := range []string{value, credential} {
			if len(secret) >= 4 {
				answer = strings.ReplaceAll(answer, secret, "[redacted]")
			}
		}
	}
	return answer[:min(len(answer), webhook.MaxAnswer)]
}

// storable returns a response as UTF-8 that PostgreSQL can store.
func storable(answer string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(answer, "\uFFFD"), "\x00", "\uFFFD")
}

// retryAfter reads the header Retry-After, which has seconds or a date (RFC 9110, section 10.2.3); 0 if neither.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 20); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if moment, err := http.ParseTime(text); err == nil {
		return max(0, moment.Sub(now))
	}
	return 0
}
