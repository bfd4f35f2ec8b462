package replier

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Endpoint sends messages to an organisation's own program, in requests that are signed like Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks).
type Endpoint struct {
	noTables
	guard  Guard
	pool   *pool
	limits Limits
}

// NewEndpoint returns an Endpoint.
func NewEndpoint(g Guard, l Limits) *Endpoint {
	return &Endpoint{guard: g, pool: newPool(g), limits: l}
}

// message is a request's body.
type message struct {
	Type         string              `json:"type"` // chat.message, or ping for a probe
	ID           string              `json:"id"`
	Template     chat.ID             `json:"chat_template_id,omitempty"`
	Token        embed.TokenID       `json:"embed_token_id,omitempty"`
	Origin       *string             `json:"origin,omitempty"`
	Visitor      *string             `json:"visitor,omitempty"`
	Signed       *bool               `json:"visitor_signed,omitempty"` // nil if there is no visitor
	Attributes   json.RawMessage     `json:"visitor_attributes,omitempty"`
	Conversation string              `json:"conversation_id,omitempty"`
	Page         string              `json:"page_url,omitempty"`
	Session      string              `json:"session_id,omitempty"`
	Prompt       *promptVersion      `json:"prompt,omitempty"` // nil: the instructions are the template's own
	Instructions string              `json:"instructions,omitempty"`
	Config       *prompt.ModelConfig `json:"model_config,omitempty"`
	Tools        json.RawMessage     `json:"tools,omitempty"`
	Format       json.RawMessage     `json:"response_format,omitempty"`
	Workflows    []workflow          `json:"workflows,omitempty"`
	Messages     []turn              `json:"messages,omitempty"`
}

// promptVersion is the version that has the instructions.
type promptVersion struct {
	Template prompt.ID        `json:"prompt_template_id"`
	Version  prompt.VersionID `json:"version_id"`
	Number   int              `json:"version_number"`
	Rollout  *rollout         `json:"rollout,omitempty"` // nil: no rollout chose it
}

// rollout names the rollout that chose a version for the session, and the version's share in percent.
type rollout struct {
	Label  string `json:"label"`
	Weight int    `json:"weight"`
}

func versionOf(v *chat.PromptVersion) *promptVersion {
	if v == nil {
		return nil
	}
	out := &promptVersion{Template: v.Template, Version: v.Version, Number: v.Number}
	if v.Rollout != "" {
		out.Rollout = &rollout{v.Rollout, v.Weight}
	}
	return out
}

// workflow is a workflow that the program may start, as the registry describes it.
type workflow struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Version     string       `json:"version"`
	Effects     chat.Effects `json:"effects"`
	EmbedSafe   bool         `json:"embed_safe"` // visitors may have it started
}

// turn is one conversation message.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation returns a question's messages in order. Roles depend only on their positions.
func conversation(q embed.Question) []turn {
	turns := make([]turn, 0, 2*len(q.History)+2)
	for _, t := range q.History {
		turns = append(turns, turn{"user", t.Question}, turn{"assistant", t.Answer})
	}
	return append(turns, turn{"user", q.Text})
}

// Reply implements ports.Replier.
func (e *Endpoint) Reply(
	ctx context.Context, target ports.Target, r ports.ReplyRequest, yield func(embed.Piece) error,
) error {
	m := message{
		Type: "chat.message", ID: r.ID, Template: r.Template, Token: r.Token, Origin: orNil(string(r.Origin)),
		Visitor: orNil(r.Visitor), Attributes: r.Attributes, Conversation: r.Question.Conversation,
		Page:    r.Question.Page,
		Session: r.Session, Prompt: versionOf(r.Prompt),
		Instructions: r.Instructions, Config: r.Model,
		Tools: r.Tools, Format: r.ResponseFormat, Messages: conversation(r.Question),
	}
	if r.Visitor != "" {
		m.Signed = &r.Signed
	}
	for _, w := range r.Workflows {
		m.Workflows = append(m.Workflows,
			workflow{w.ID, w.Name, w.Description, w.Version, w.Effects, w.EmbedSafe})
	}
	return e.pool.relay(ctx, target, e.limits, exchange{e.request(target, m), readEvent, readAnswer}, yield)
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// readEvent reads {"text": …}, {"reasoning": …} or {"refusal": …}; {"error": …} reports a failure. Other objects, such
// as a program's own signs of life, are no part of the answer.
func readEvent(data []byte) (part, error) {
	var in struct {
		Text, Reasoning, Refusal string
		Error                    json.RawMessage
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return part{}, err
	}
	if isSet(in.Error) {
		return part{}, errReported
	}
	all := said{Content: content{text: in.Text}, Reasoning: in.Reasoning, Refusal: in.Refusal}
	return part{pieces: all.pieces()}, nil
}

// readAnswer reads an answer in one piece.
func readAnswer(data []byte) (part, error) {
	e, err := readEvent(data)
	e.reason = "stop"
	return e, err
}

// request returns a function that creates a message's signed request.
func (e *Endpoint) request(target ports.Target, m message) func(context.Context) (*http.Request, error) {
	return func(ctx context.Context) (*http.Request, error) {
		body, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, target.Credential.Text("url"), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		secret := strings.TrimPrefix(target.Credential.Secret("signing_secret").Reveal(), "whsec_")
		key, err := base64.StdEncoding.DecodeString(secret)
		if err != nil {
			return nil, connection.AuthFailed
		}
		sign(r.Header, m.ID, time.Now(), body, key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream, application/json")
		r.Header.Set("User-Agent", "Atrium")
		return r, nil
	}
}

// Probe implements ports.Warehouse. It sends a signed message of type ping.
func (e *Endpoint) Probe(ctx context.Context, target ports.Target) connection.Report {
	request := e.request(target, message{Type: "ping", ID: id.New("msg")})
	return e.guard.probe(ctx, target, request, func([]byte) (connection.Server, error) {
		return connection.Server{Product: "Reply endpoint"}, nil
	})
}
