package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
)

// Message is one chat message, or a placeholder where the caller inserts messages. Its JSON is the same in the API,
// stores and hashes. It has the members of OpenAI's chat completions, which most providers accept:
// https://platform.openai.com/docs/api-reference/chat/create
type Message struct {
	Role        string          // system, developer, user, assistant or tool
	Content     string          // a text; a rendered one can be empty
	Parts       []Part          // instead of Content
	NoContent   bool            // whether the content is null, beside ToolCalls
	Name        string          // of the participant, at most 64 characters; may be empty
	ToolCalls   json.RawMessage // a JSON array, of an assistant; or nil
	ToolCallID  string          // the call that a tool answers; may be empty
	Placeholder string          // a variable's name, instead of all of the above
	Required    bool            // whether the placeholder must be filled

	// Inserted is the JSON of a message that the caller inserted for a placeholder, as it was. Only a Rendered has it,
	// instead of everything else.
	Inserted json.RawMessage
}

// Part is one part of a message's content.
type Part struct {
	Type    string                     // text, image_url, input_audio or file
	Text    string                     // of the type text
	Members map[string]json.RawMessage // all others, by name
}

const (
	textPart        = "text"
	maxMessageName  = 64 // characters
	maxContentParts = 100
)

var (
	roles     = []string{"system", "developer", "user", "assistant", "tool"}
	partTypes = []string{textPart, "image_url", "input_audio", "file"}
)

// messageJSON is the JSON of a message.
type messageJSON struct {
	Role        string          `json:"role,omitempty"`
	Content     json.RawMessage `json:"content,omitempty"` // a string, a list of parts, or null beside tool calls
	Name        string          `json:"name,omitempty"`
	ToolCalls   json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID  string          `json:"tool_call_id,omitempty"`
	Placeholder string          `json:"placeholder,omitempty"`
	Required    bool            `json:"required,omitempty"`
}

// MarshalJSON writes m.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Inserted != nil {
		return m.Inserted, nil
	}
	out := messageJSON{Role: m.Role, Name: m.Name, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID,
		Placeholder: m.Placeholder, Required: m.Required}
	if m.Placeholder == "" {
		var content any
		switch {
		case m.Parts != nil:
			content = m.Parts
		case !m.NoContent:
			content = m.Content
		}
		text, err := mustache.Encode(content)
		if err != nil {
			return nil, err
		}
		out.Content = json.RawMessage(text)
	}
	text, err := mustache.Encode(out)
	return []byte(text), err
}

// UnmarshalJSON reads m. Members that a message does not have are ignored: the API's contract refuses them.
func (m *Message) UnmarshalJSON(text []byte) error {
	var in messageJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*m = Message{Role: in.Role, Name: in.Name, ToolCalls: in.ToolCalls, ToolCallID: in.ToolCallID,
		Placeholder: in.Placeholder, Required: in.Required}
	if strings.HasPrefix(string(in.Content), "[") {
		return json.Unmarshal(in.Content, &m.Parts)
	}
	if in.Content == nil || string(in.Content) == "null" {
		m.NoContent = in.ToolCalls != nil
		return nil
	}
	return json.Unmarshal(in.Content, &m.Content)
}

// MarshalJSON writes p: its type, its text, and its other members in the order of their names.
func (p Part) MarshalJSON() ([]byte, error) {
	members := []string{"type"}
	values := map[string]any{"type": p.Type, "text": p.Text}
	if p.Type == textPart {
		members = append(members, "text")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Members)) {
		members, values[name] = append(members, name), p.Members[name]
	}
	for i, name := range members {
		key, err := mustache.Encode(name)
		if err != nil {
			return nil, err
		}
		value, err := mustache.Encode(values[name])
		if err != nil {
			return nil, err
		}
		members[i] = key + ":" + value
	}
	return []byte("{" + strings.Join(members, ",") + "}"), nil
}

var errNotPart = errors.New("prompt: the part of a message has no type")

// UnmarshalJSON reads p.
func (p *Part) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*p = Part{}
	if members["type"] == nil {
		return errNotPart
	}
	if err := json.Unmarshal(members["type"], &p.Type); err != nil {
		return err
	}
	delete(members, "type")
	if p.Type == textPart && members["text"] != nil {
		if err := json.Unmarshal(members["text"], &p.Text); err != nil {
			return err
		}
		delete(members, "text")
	}
	if len(members) > 0 {
		p.Members = members
	}
	return nil
}

// Texts returns the texts of m: its content, or the texts of its parts.
func (m Message) Texts() []string {
	var texts []string
	if m.Content != "" {
		texts = append(texts, m.Content)
	}
	for _, p := range m.Parts {
		if p.Type == textPart {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// isPlain reports whether m has only a role and a text, or is a placeholder.
func (m Message) isPlain() bool {
	return m.Parts == nil && m.ToolCalls == nil && m.Name == "" && m.ToolCallID == ""
}

// check adds the errors in a message, which is at pointer.
func (m Message) check(pointer string, errs *fault.Fields) {
	hasWords := m.Role != "" || m.Content != "" || !m.isPlain()
	switch {
	case m.Placeholder != "" && hasWords:
		errs.Add(pointer, "not_allowed_value", "Must have role and content, or a placeholder, but not both.")
	case m.Placeholder != "":
		if !isVariableName(m.Placeholder) {
			errs.Add(pointer+"/placeholder", "invalid_format", nameRule)
		}
	case !hasWords:
		errs.Add(pointer, "required", "Must have role and content, or a placeholder.")
	default:
		m.checkWords(pointer, errs)
		if m.Required {
			errs.Add(pointer+"/required", "not_allowed_value", "Is for placeholders.")
		}
	}
}

// checkWords adds the errors in a message that is no placeholder.
func (m Message) checkWords(pointer string, errs *fault.Fields) {
	if m.Role == "" {
		errs.Add(pointer+"/role", "required", "Must be given with content.")
	} else if !slices.Contains(roles, m.Role) {
		errs.Add(pointer+"/role", "not_allowed_value", "Must be system, developer, user, assistant or tool.")
	}
	switch {
	case m.Parts != nil:
		m.checkParts(pointer+"/content", errs)
	case m.Content == "" && m.ToolCalls == nil:
		errs.Add(pointer+"/content", "required", "Must not be empty.")
	}
	errs.AddCharacters(pointer+"/content", m.Content)
	errs.AddCharacters(pointer+"/name", m.Name)
	errs.AddCharacters(pointer+"/tool_call_id", m.ToolCallID)
	if utf8.RuneCountInString(m.Name) > maxMessageName {
		errs.Add(pointer+"/name", "too_long", fmt.Sprintf("Must have at most %d characters.", maxMessageName))
	}
	if m.ToolCalls != nil {
		if calls, err := decodeJSON(m.ToolCalls); err != nil || !fits("array", calls) {
			errs.Add(pointer+"/tool_calls", "wrong_type", "Must be an array.")
		}
		if m.Role != "assistant" {
			errs.Add(pointer+"/tool_calls", "not_allowed_value", "Only a message of the role assistant has tool calls.")
		}
	}
	if m.ToolCallID != "" && m.Role != "tool" {
		errs.Add(pointer+"/tool_call_id", "not_allowed_value", "Only a message of the role tool answers a tool call.")
	}
}

// checkParts adds the errors in the parts of m's content, which is at pointer.
func (m Message) checkParts(pointer string, errs *fault.Fields) {
	switch n := len(m.Parts); {
	case n == 0:
		errs.Add(pointer, "too_few_items", "Must have at least one item.")
	case n > maxContentParts:
		errs.Add(pointer, "too_many_items", fmt.Sprintf("Must have at most %d items.", maxContentParts))
	}
	for i, p := range m.Parts {
		pointer := fmt.Sprintf("%s/%d", pointer, i)
		switch value, _ := decodeJSON(p.Members[p.Type]); {
		case !slices.Contains(partTypes, p.Type):
			errs.Add(pointer+"/type", "not_allowed_value", "Must be text, image_url, input_audio or file.")
		case p.Type == textPart && p.Text == "":
			errs.Add(pointer+"/text", "required", "Must not be empty.")
		case p.Type == textPart:
			errs.AddCharacters(pointer+"/text", p.Text)
		case m.Role != "user":
			errs.Add(pointer+"/type", "not_allowed_value", "Only a message of the role user has other parts than text.")
		case !fits("object", value):
			errs.Add(pointer+"/"+p.Type, "required", "Must be an object.")
		}
	}
}

// slot is where a content has a text.
type slot struct {
	pointer string
	text    *string
}

// slots returns where c has texts, in order. They are not empty.
func (c *Content) slots() []slot {
	var all []slot
	add := func(text *string, pointer string) {
		if *text != "" {
			all = append(all, slot{pointer, text})
		}
	}
	add(&c.Text, "/text")
	for i := range c.Messages {
		m := &c.Messages[i]
		add(&m.Content, fmt.Sprintf("/messages/%d/content", i))
		for k := range m.Parts {
			add(&m.Parts[k].Text, fmt.Sprintf("/messages/%d/content/%d/text", i, k))
		}
	}
	return all
}

// withTexts returns a copy of c with other texts in its slots.
func (c Content) withTexts(texts []string) Content {
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = slices.Clone(c.Messages[i].Parts)
	}
	for i, s := range c.slots() {
		*s.text = texts[i]
	}
	return c
}
