package atrium

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/atrium-hq/atrium/clients/go/internal/mustache"
)

// RenderedMessage is a message of a rendered prompt: one of the version, or one that a placeholder inserts, which is
// the same JSON as the application gave.
type RenderedMessage struct {
	Role    string
	Content any             // a string, a list of parts, or nil
	JSON    json.RawMessage // the whole message, as model servers take it
}

// MarshalJSON returns the whole message.
func (m RenderedMessage) MarshalJSON() ([]byte, error) { return m.JSON, nil }

// UnmarshalJSON reads any message.
func (m *RenderedMessage) UnmarshalJSON(text []byte) error {
	var members struct {
		Role    any `json:"role"`
		Content any `json:"content"`
	}
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	role, _ := members.Role.(string)
	*m = RenderedMessage{role, members.Content, bytes.Clone(text)}
	return nil
}

// preparedMessage is a message of a version.
type preparedMessage struct {
	placeholder string
	required    bool
	members     map[string]any // as encoding/json decodes them
}

// prepareMessage reads a message, whose content may be a string or parts in any Go types.
func prepareMessage(m PromptMessage) (preparedMessage, error) {
	p := preparedMessage{placeholder: valueOf(m.Placeholder), required: valueOf(m.Required)}
	text, err := json.Marshal(m)
	if err != nil {
		return p, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&p.members)
	if m.Content == nil && m.ToolCalls != nil {
		p.members["content"] = nil // model servers expect it beside tool calls
	}
	return p, err
}

// textOf returns a part's text, and whether it has one.
func textOf(part any) (members map[string]any, text string) {
	if members, _ = part.(map[string]any); members["type"] == "text" {
		text, _ = members["text"].(string)
	}
	return members, text
}

// texts returns the texts of m that are not empty.
func (m preparedMessage) texts() (texts []string) {
	switch content := m.members["content"].(type) {
	case string:
		if content != "" {
			texts = append(texts, content)
		}
	case []any:
		for _, part := range content {
			if _, text := textOf(part); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// with returns m with other texts.
func (m preparedMessage) with(texts []string) (RenderedMessage, error) {
	members := clonedMembers(m.members)
	switch content := members["content"].(type) {
	case string:
		if content != "" {
			members["content"] = texts[0]
		}
	case []any:
		parts := make([]any, len(content))
		for i, part := range content {
			if object, text := textOf(part); text != "" {
				object = clonedMembers(object)
				object["text"], texts = texts[0], texts[1:]
				part = object
			}
			parts[i] = part
		}
		members["content"] = parts
	}
	text, err := mustache.Encode(members)
	if err != nil {
		return RenderedMessage{}, err
	}
	var out RenderedMessage
	return out, out.UnmarshalJSON([]byte(text))
}

func clonedMembers(members map[string]any) map[string]any {
	out := make(map[string]any, len(members))
	for name, value := range members {
		out[name] = value
	}
	return out
}

// inserted returns the messages for each placeholder, as values have them, or the version's defaults.
func (p *preparedPrompt) inserted(values, plain map[string]any, r *mustache.Renderer) (map[string][]RenderedMessage,
	error) {
	all := map[string][]RenderedMessage{}
	for _, m := range p.messages {
		if _, isList := r.Values[m.placeholder].([]any); !isList || all[m.placeholder] != nil {
			continue
		}
		source := values[m.placeholder]
		if plain[m.placeholder] == nil {
			for _, v := range p.variables {
				if v.name == m.placeholder {
					source = v.defaultValue
				}
			}
		}
		text, err := encodedAsIs(source)
		if err != nil {
			return nil, err
		}
		var messages []RenderedMessage
		if json.Unmarshal(text, &messages) == nil { // else checkInserted reports it
			all[m.placeholder] = messages
		}
	}
	return all, nil
}

// encodedAsIs returns the JSON of v with <, > and & as they are.
func encodedAsIs(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return []byte(strings.TrimSuffix(out.String(), "\n")), err
}

// checkInserted adds what is wrong with a message that a placeholder inserts.
func checkInserted(item any, pointer string, errs *fieldErrors) {
	object, ok := item.(map[string]any)
	if !ok {
		errs.add(pointer, "wrong_type", "Must be an object: a message.")
		return
	}
	if role, isSet := object["role"]; isSet {
		if _, ok := role.(string); !ok {
			errs.add(pointer+"/role", "wrong_type", "Must be a string.")
		}
	}
}
