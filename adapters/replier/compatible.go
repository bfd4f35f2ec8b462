package replier

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
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

// Reply implements ports.Replier.
func (c *Compatible) Reply(
	ctx context.Context, target ports.Target, r ports.ReplyRequest, yield func(embed.Piece) error,
) error {
	request := func(ctx context.Context) (*http.Request, error) {
		text, err := json.Marshal(completion(target.Credential, r))
		if err != nil {
			return nil, err
		}
		return c.request(ctx, target, http.MethodPost, "chat/completions", text)
	}
	return c.pool.relay(ctx, target, c.limits, exchange{request, readDelta, readMessage}, yield)
}

// completion returns a request's body. Members of extra_params pass through, but cannot replace the conversation. The
// prompt's tools and the chat's workflows are left out, because no one would answer the calls.
func completion(c connection.Credential, r ports.ReplyRequest) map[string]any {
	body := map[string]any{}
	if m := r.Model; m != nil {
		maps.Copy(body, m.ExtraParams)
		if m.Temperature != nil {
			body["temperature"] = *m.Temperature
		}
		if m.TopP != nil {
			body["top_p"] = *m.TopP
		}
		if m.TopK != nil {
			body["top_k"] = *m.TopK
		}
		if m.MaxTokens != nil {
			body[maxTokensName(c, r.ModelName)] = *m.MaxTokens
		}
		if m.StopSequences != nil {
			body["stop"] = m.StopSequences
		}
	}
	if r.ResponseFormat != nil {
		body["response_format"] = r.ResponseFormat
	}
	var messages []turn
	if r.Instructions != "" {
		messages = append(messages, turn{"system", r.Instructions})
	}
	body["messages"] = append(messages, conversation(r.Question)...)
	body["model"], body["stream"] = r.ModelName, true
	return body
}

// completionTokens matches the models of OpenAI that refuse max_tokens: the o series, and GPT-5 and later
// (https://platform.openai.com/docs/api-reference/chat/create#chat-create-max_tokens). A provider can be before the
// name, as at OpenRouter.
var completionTokens = regexp.MustCompile(`(^|/)(gpt-([5-9]|[1-9][0-9])|o[0-9])($|[-.:])`)

// maxTokensName returns the member of a request that limits an answer's tokens.
func maxTokensName(c connection.Credential, model string) string {
	if name := c.Text("max_tokens_member"); name != "auto" && name != "" {
		return name
	}
	if completionTokens.MatchString(model) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// request returns a request to a path below the base URL, whose query it keeps: Azure's has the api-version.
func (c *Compatible) request(
	ctx context.Context, target ports.Target, method, path string, body []byte,
) (*http.Request, error) {
	base, err := url.Parse(target.Credential.Text("base_url"))
	if err != nil {
		return nil, connection.NotThisDatabase // without err, which quotes it
	}
	r, err := http.NewRequestWithContext(ctx, method, base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range target.Credential.Headers() {
		r.Header.Set(name, value)
	}
	if key := target.Credential.Secret("api_key"); key.IsZero() {
	} else if target.Credential.Text("api_key_header") == "api-key" {
		r.Header.Set("Api-Key", key.Reveal())
	} else {
		r.Header.Set("Authorization", "Bearer "+key.Reveal())
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("User-Agent", "Atrium")
	return r, nil
}

// choices is the part in a completion, or in a piece of one, that a visitor sees.
type choices struct {
	Choices []struct {
		Index          int
		Delta, Message said
		FinishReason   string `json:"finish_reason"`
	}
	Error json.RawMessage
	XGroq struct{ Error string } `json:"x_groq"` // https://github.com/groq/groq-python
}

// interruptions are the reasons for which an answer is not complete: OpenRouter's
// (https://openrouter.ai/docs/api-reference/overview) and DeepSeek's
// (https://api-docs.deepseek.com/api/create-chat-completion).
var interruptions = []string{"error", "insufficient_system_resource"}

// said is a model's output in one piece.
type said struct {
	Content  content
	Refusal  string
	Tools    []json.RawMessage `json:"tool_calls"`
	Function json.RawMessage   `json:"function_call"`

	// What the model thinks, by the names of DeepSeek, vLLM and llama.cpp, of OpenRouter, Groq and Ollama, and of
	// others. Some servers send the same text by several names.
	ReasoningContent string `json:"reasoning_content"`
	Reasoning        string
	Thinking         string
}

// content is a message's content: a string, or an array of parts. Mistral's reasoning is in parts of type thinking
// (https://docs.mistral.ai/capabilities/reasoning).
type content struct{ text, thinking string }

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '[' {
		return json.Unmarshal(data, &c.text)
	}
	var parts []struct {
		Text     string
		Thinking json.RawMessage
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		if p.Thinking == nil {
			continue
		}
		var inner content
		if err := inner.UnmarshalJSON(p.Thinking); err != nil {
			return err
		}
		c.thinking += inner.text
	}
	return nil
}

// pieces returns what a visitor gets of s, in the order of the model's output.
func (s said) pieces() []embed.Piece {
	var all []embed.Piece
	for _, p := range []embed.Piece{
		{Part: embed.PartReasoning, Text: cmp.Or(s.ReasoningContent, s.Reasoning, s.Thinking, s.Content.thinking)},
		{Part: embed.PartText, Text: s.Content.text},
		{Part: embed.PartRefusal, Text: s.Refusal},
	} {
		if p.Text != "" {
			all = append(all, p)
		}
	}
	return all
}

func readChoices(data []byte) (c choices, err error) {
	if err = json.Unmarshal(data, &c); err == nil && (isSet(c.Error) || c.XGroq.Error != "") {
		err = errReported
	}
	return c, err
}

var errReported = errors.New("the server reports a failure")

func isSet(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

// readDelta reads a completion piece. Only the first choice is shown.
func readDelta(data []byte) (e part, err error) {
	c, err := readChoices(data)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if slices.Contains(interruptions, choice.FinishReason) {
			return part{}, errReported
		}
		e.pieces = append(e.pieces, choice.Delta.pieces()...)
		e.hasProgress = e.hasProgress || len(choice.Delta.Tools) > 0 || isSet(choice.Delta.Function)
		e.reason = choice.FinishReason
	}
	return e, err
}

// readMessage reads a completion from a server that does not stream.
func readMessage(data []byte) (part, error) {
	c, err := readChoices(data)
	if err == nil && len(c.Choices) == 0 {
		err = errors.New("no choice")
	}
	if err != nil {
		return part{}, err
	}
	return part{pieces: c.Choices[0].Message.pieces(), reason: c.Choices[0].FinishReason}, nil
}

// Probe implements ports.Warehouse. It lists the models, whose names are the version of the server.
func (c *Compatible) Probe(ctx context.Context, target ports.Target) connection.Report {
	request := func(ctx context.Context) (*http.Request, error) {
		r, err := c.request(ctx, target, http.MethodGet, "models", nil)
		if err == nil {
			// Azure lists models beside its deployments
			// (https://learn.microsoft.com/azure/ai-services/openai/reference).
			resource, _, _ := strings.Cut(r.URL.Path, "/deployments/")
			r.URL.Path = strings.TrimSuffix(resource, "/models") + "/models"
		}
		return r, err
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

// printable returns the first 64 printable characters from a server's text.
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
