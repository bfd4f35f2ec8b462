package replier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Compatible sends messages to a server with the API of OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat/create).
type Compatible struct {
	noTables
	guard  Guard
	pool   *pool
	limits Limits
}

// NewCompatible returns a Compatible.
func NewCompatible(g Guard, l Limits) *Compatible {
	return &Compatible{guard: g, pool: newPool(g), limits: l}
}

// completion is a request's body.
type completion struct {
	Model       string   `json:"model"`
	Stream      bool     `json:"stream"`
	Messages    []turn   `json:"messages"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	MaxTokens   *int     `json:"max_tokens,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

// Reply implements ports.Replier.
func (c *Compatible) Reply(
	ctx context.Context, target ports.Target, r ports.ReplyRequest, handle func(string) error,
) error {
	body := completion{Model: r.Model, Stream: true}
	if r.Instructions != "" {
		body.Messages = append(body.Messages, turn{"system", r.Instructions})
	}
	body.Messages = append(body.Messages, conversation(r.Question)...)
	if m := r.Config; m != nil {
		body.Temperature, body.TopP, body.MaxTokens, body.Stop = m.Temperature, m.TopP, m.MaxTokens, m.StopSequences
	}
	request := func(ctx context.Context) (*http.Request, error) {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		return c.request(ctx, target, http.MethodPost, "/chat/completions", text)
	}
	return c.pool.relay(ctx, target, c.limits, request, readDelta, readMessage, handle)
}

func (c *Compatible) request(
	ctx context.Context, target ports.Target, method, path string, body []byte,
) (*http.Request, error) {
	base := strings.TrimSuffix(target.Credential.Text("base_url"), "/")
	r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if key := target.Credential.Secret("api_key"); !key.IsZero() {
		r.Header.Set("Authorization", "Bearer "+key.Reveal())
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("User-Agent", "Atrium")
	return r, nil
}

// choices is the part of a completion, or of a piece of one, that a visitor sees.
type choices struct {
	Choices []struct {
		Index   int
		Delta   struct{ Content string }
		Message struct{ Content string }
	}
	Error json.RawMessage
}

func readChoices(data []byte) (c choices, err error) {
	if err = json.Unmarshal(data, &c); err == nil && len(c.Error) > 0 && string(c.Error) != "null" {
		err = errors.New("the server reports a failure")
	}
	return c, err
}

// readDelta reads a piece of a completion. The answer ends with [DONE].
func readDelta(data []byte) (p piece, err error) {
	c, err := readChoices(data)
	for _, one := range c.Choices {
		if one.Index == 0 {
			p.text += one.Delta.Content
		}
	}
	return p, err
}

// readMessage reads a completion of a server that does not stream.
func readMessage(data []byte) (piece, error) {
	c, err := readChoices(data)
	if err == nil && len(c.Choices) == 0 {
		err = errors.New("no choice")
	}
	if err != nil {
		return piece{}, err
	}
	return piece{text: c.Choices[0].Message.Content, isLast: true}, nil
}

// Probe implements ports.Warehouse. It lists the models, whose names are the version of the server.
func (c *Compatible) Probe(ctx context.Context, target ports.Target) connection.Report {
	request := func(ctx context.Context) (*http.Request, error) {
		return c.request(ctx, target, http.MethodGet, "/models", nil)
	}
	return c.guard.probe(ctx, target, request, func(body []byte) (connection.Server, error) {
		var models struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(body, &models); err != nil || models.Data == nil {
			return connection.Server{}, connection.NotThisDatabase
		}
		names := make([]string, 0, len(models.Data))
		for _, m := range models.Data {
			names = append(names, m.ID)
		}
		return connection.Server{Product: "OpenAI-compatible API", Version: printable(strings.Join(names, ", "))}, nil
	})
}

// printable returns the first 64 printable characters of a server's text.
func printable(s string) string {
	out := make([]rune, 0, 64)
	for _, r := range s {
		if len(out) == 64 {
			break
		}
		if r >= ' ' && r <= '~' {
			out = append(out, r)
		}
	}
	return string(out)
}
