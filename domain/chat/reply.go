package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
)

// ReplyKind is the kind of endpoint that replies to a template's visitors.
type ReplyKind string

// The kinds of replies. The zero ReplyKind is NoReply too.
const (
	NoReply         ReplyKind = "none"
	HTTPReply       ReplyKind = "http"              // a connection of kind connection.ReplyEndpoint
	CompatibleReply ReplyKind = "openai_compatible" // a connection of kind connection.OpenAICompatible
)

// Limits of what is stored to answer a question.
const (
	maxModel     = 128      // characters
	maxVariables = 16 << 10 // bytes

	maxFromVisitor = 20 // variables
)

// Reply is the endpoint that replies to a template's visitors. Atrium relays, and keeps no conversation.
type Reply struct {
	Kind       ReplyKind       `json:"kind"`
	Connection connection.ID   `json:"connection_id,omitempty"`
	Model      string          `json:"model,omitempty"`     // of an OpenAI-compatible API, up to 128 characters
	Variables  json.RawMessage `json:"variables,omitempty"` // of the prompt: a JSON object, up to 16 KiB; nil: none

	ShowReasoning bool `json:"show_reasoning,omitempty"` // whether visitors get what the model thought
	AskFeedback   bool `json:"ask_feedback,omitempty"`   // whether visitors can say that an answer was helpful, or not

	// FromVisitor names variables, up to 20, whose values are a signed visitor's attributes of the same names.
	FromVisitor []string `json:"visitor_variables,omitempty"`
}

// ValuesOf returns the values of variables that a visitor's attributes have: a JSON object, or "" for none.
func (r Reply) ValuesOf(attributes string) (map[string]any, error) {
	if attributes == "" || len(r.FromVisitor) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(attributes))
	d.UseNumber() // large integers keep every digit
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return nil, err
	}
	maps.DeleteFunc(values, func(name string, _ any) bool { return !slices.Contains(r.FromVisitor, name) })
	return values, nil
}

// Errors about what replies to a chat's messages.
var (
	ErrReplyConnection = &fault.Error{Kind: fault.Invalid, Code: "reply_connection_unavailable",
		Detail: "The connection does not exist, is of another kind, or you cannot use it."}
)

// ErrPromptGone is for a chat whose instructions are in a prompt that no longer exists.
var ErrPromptGone = &fault.Error{Kind: fault.Conflict, Code: "chat_prompt_gone",
	Detail: "The prompt template that holds the instructions, or its version, no longer exists."}

// Answers reports whether messages of visitors are answered.
func (r Reply) Answers() bool { return r.Kind == HTTPReply || r.Kind == CompatibleReply }

// Needs returns the kind of connection that r needs, or "".
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

// equal reports whether r and o reply in the same way. All kinds that do not answer are equal.
func (r Reply) equal(o Reply) bool {
	if !r.Answers() || !o.Answers() {
		return r.Answers() == o.Answers()
	}
	sameVariables := equalJSON(r.Variables, o.Variables) && slices.Equal(r.FromVisitor, o.FromVisitor)
	r.Variables, o.Variables, r.FromVisitor, o.FromVisitor = nil, nil, nil, nil
	return sameVariables && reflect.DeepEqual(r, o) // so that no member can be forgotten here
}

// check adds what is wrong with r's members, which depend on its kind.
func (r Reply) check(errs *fault.Fields) {
	switch r.Kind {
	case "", NoReply:
		if r.Connection != "" || r.Model != "" || r.Variables != nil || r.ShowReasoning || r.AskFeedback ||
			len(r.FromVisitor) > 0 {
			errs.Add("/reply", "not_allowed_value", "Must have no other members for the kind none.")
		}
		return
	case HTTPReply:
		if r.Model != "" {
			errs.Add("/reply/model", "not_allowed_value", "Must not be given for the kind http.")
		}
	case CompatibleReply:
		if r.Model == "" {
			errs.Add("/reply/model", "required", "Must be given for the kind openai_compatible.")
		}
	default:
		errs.Add("/reply/kind", "not_allowed_value", "Must be http, openai_compatible or none.")
	}
	if r.Connection == "" {
		errs.Add("/reply/connection_id", "required", "Must name a connection.")
	}
	errs.AddText("/reply/model", r.Model, maxModel)
	if len(r.Variables) > maxVariables {
		errs.Add("/reply/variables", "too_long", "Must take at most 16 KiB as JSON.")
	}
	checkIDs(errs, "/reply/visitor_variables", r.FromVisitor, maxFromVisitor,
		func(i int) string { return fmt.Sprintf("/reply/visitor_variables/%d", i) })
}
