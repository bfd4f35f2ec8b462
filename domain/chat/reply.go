package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// ReplyKind is the kind of endpoint that replies to the visitors of a template.
type ReplyKind string

// The kinds of replies. The zero ReplyKind is NoReply too.
const (
	NoReply         ReplyKind = "none"
	HTTPReply       ReplyKind = "http"              // a connection of kind connection.ReplyEndpoint
	CompatibleReply ReplyKind = "openai_compatible" // a connection of kind connection.OpenAICompatible
)

// Limits of a question, and of what is stored to answer it.
const (
	maxModel     = 128      // characters
	maxVariables = 16 << 10 // bytes

	MaxQuestion = 4000      // characters of a visitor's message
	MaxAnswer   = 32 << 10  // characters of an answer in the history
	MaxTurns    = 20        // of the history
	MaxReplied  = 128 << 10 // bytes of an answer
)

// Reply is the endpoint that replies to the visitors of a template. Atrium relays, and keeps no conversation.
type Reply struct {
	Kind       ReplyKind       `json:"kind"`
	Connection connection.ID   `json:"connection_id,omitempty"`
	Model      string          `json:"model,omitempty"`     // of an OpenAI-compatible API, up to 128 characters
	Variables  json.RawMessage `json:"variables,omitempty"` // of the prompt: a JSON object, up to 16 KiB; nil: none
}

// Errors for a visitor who sends a message.
var (
	ErrNoReplies = &fault.Error{Kind: fault.Conflict, Code: "replies_not_configured",
		Detail: "This chat does not answer messages."}
	ErrDailyReplies = &fault.Error{Kind: fault.RateLimited, Code: "daily_replies_reached",
		Detail: "This chat has answered as many messages today as it may. Try again tomorrow."}
	ErrReplyConnection = &fault.Error{Kind: fault.Invalid, Code: "reply_connection_unavailable",
		Detail: "The connection does not exist, is of another kind, or you cannot use it."}
)

// ErrPromptGone is for a chat whose instructions are in a prompt that no longer exists.
var ErrPromptGone = &fault.Error{Kind: fault.Conflict, Code: "chat_prompt_gone",
	Detail: "The prompt template that holds the instructions, or its version, no longer exists."}

// ReplyFailure says to a visitor why an answer is missing or not complete.
type ReplyFailure string

// The failures of replies.
const (
	ReplyFailed   ReplyFailure = "reply_failed"    // the endpoint is unreachable, refuses, or its response is invalid
	ReplyTimeout  ReplyFailure = "reply_timeout"   // it is too slow
	ReplyTooLarge ReplyFailure = "reply_too_large" // the answer exceeds MaxReplied
)

func (f ReplyFailure) Error() string { return string(f) }

// Detail explains f to a visitor, and reveals nothing of the endpoint.
func (f ReplyFailure) Detail() string {
	switch f {
	case ReplyTimeout:
		return "The answer took too long. Try again."
	case ReplyTooLarge:
		return "The answer is too long to show the rest of it."
	default:
		return "The chat cannot answer at the moment. Try again later."
	}
}

// Answers reports whether messages of visitors are answered.
func (r Reply) Answers() bool { return r.Kind == HTTPReply || r.Kind == CompatibleReply }

// Needs returns the kind of connection that r needs; "" for none.
func (r Reply) Needs() connection.Kind {
	switch r.Kind {
	case HTTPReply:
		return connection.ReplyEndpoint
	case CompatibleReply:
		return connection.OpenAICompatible
	default:
		return ""
	}
}

func (r Reply) same(o Reply) bool {
	return r.Kind == o.Kind && r.Connection == o.Connection && r.Model == o.Model &&
		string(r.Variables) == string(o.Variables)
}

func (r Reply) check(wrong *fault.Fields) {
	switch r.Kind {
	case "", NoReply:
		if r.Connection != "" || r.Model != "" || r.Variables != nil {
			wrong.Add("/reply", "not_allowed_value", "Must have no other members for the kind none.")
		}
		return
	case HTTPReply:
		if r.Model != "" {
			wrong.Add("/reply/model", "not_allowed_value", "Must not be given for the kind http.")
		}
	case CompatibleReply:
		if r.Model == "" {
			wrong.Add("/reply/model", "required", "Must be given for the kind openai_compatible.")
		}
	default:
		wrong.Add("/reply/kind", "not_allowed_value", "Must be http, openai_compatible or none.")
	}
	if r.Connection == "" {
		wrong.Add("/reply/connection_id", "required", "Must name a connection.")
	}
	checkText(wrong, "/reply/model", r.Model, maxModel)
	if len(r.Variables) > maxVariables {
		wrong.Add("/reply/variables", "too_long", "Must take at most 16 KiB as JSON.")
	}
}

// Turn is a message of a visitor and its answer, as the page remembers them. A page can claim any.
type Turn struct {
	Question string
	Answer   string
}

// Question is what a visitor asks. It has no roles and no instructions: those are the template's.
type Question struct {
	Text    string // 1 to MaxQuestion characters
	History []Turn // oldest first, up to MaxTurns
}

// Check returns an error with all that is wrong with q.
func (q Question) Check() error {
	var wrong fault.Fields
	if strings.TrimSpace(q.Text) == "" {
		wrong.Add("/text", "too_short", "Must not be empty.")
	}
	checkText(&wrong, "/text", q.Text, MaxQuestion)
	if len(q.History) > MaxTurns {
		wrong.Add("/history", "too_many_items", fmt.Sprintf("Must have at most %d items.", MaxTurns))
	}
	for i, t := range q.History {
		checkText(&wrong, fmt.Sprintf("/history/%d/text", i), t.Question, MaxQuestion)
		checkText(&wrong, fmt.Sprintf("/history/%d/answer", i), t.Answer, MaxAnswer)
	}
	return wrong.Err()
}

// Effective are the instructions that a model gets.
type Effective struct {
	Instructions string
	Missing      []string // required variables without a value, whose tags stay as written
}

// Effective returns the instructions in a prompt's version: its text, or its messages of the roles system and
// developer. Its variables have the values that are given, or else those of r. Errors are those of
// prompt.Content.Render.
func (r Reply) Effective(c prompt.Content, given map[string]any) (Effective, error) {
	values := map[string]any{}
	if r.Variables != nil {
		if err := json.Unmarshal(r.Variables, &values); err != nil {
			return Effective{}, err
		}
	}
	maps.Copy(values, given)
	out, err := c.Render(values, prompt.Partial)
	if err != nil {
		return Effective{}, err
	}
	parts := []string{}
	if out.Text != "" {
		parts = append(parts, out.Text)
	}
	for _, m := range out.Messages {
		if m.Role == "system" || m.Role == "developer" {
			parts = append(parts, m.Content)
		}
	}
	return Effective{Instructions: strings.Join(parts, "\n\n"), Missing: out.Missing}, nil
}
