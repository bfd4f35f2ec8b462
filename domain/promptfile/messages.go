package promptfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Message is a chat prompt message, or a placeholder.
type Message struct {
	Role        string          // empty for a placeholder
	Content     *string         // nil without a text
	Members     json.RawMessage // all members but the role, as an object, of a message with more than a text; or nil
	Placeholder string
	Required    bool
}

// plainMessage is the JSON of a message without Members.
type plainMessage struct {
	Role        string  `json:"role,omitempty"`
	Content     *string `json:"content,omitempty"`
	Placeholder string  `json:"placeholder,omitempty"`
	Required    bool    `json:"required,omitempty"`
}

// MarshalJSON writes m as the API has it.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Members == nil {
		return json.Marshal(plainMessage{m.Role, m.Content, m.Placeholder, m.Required})
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.Members, &members); err != nil {
		return nil, err
	}
	role, err := json.Marshal(m.Role)
	if err != nil {
		return nil, err
	}
	members["role"] = role
	return json.Marshal(members)
}

// UnmarshalJSON reads a message of the API.
func (m *Message) UnmarshalJSON(text []byte) error {
	var plain plainMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&plain) == nil {
		*m = Message{Role: plain.Role, Content: plain.Content, Placeholder: plain.Placeholder, Required: plain.Required}
		return nil
	}
	*m = Message{}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if err := json.Unmarshal(members["role"], &m.Role); err != nil {
		return err
	}
	delete(members, "role")
	value, err := jsonOf(members)
	m.Members = json.RawMessage(value)
	return err
}

// section is a message's first line, and each line that would be one but for a backslash before it.
var section = regexp.MustCompile(
	`^\\*# ((system|developer|user|assistant|tool)( json)?|placeholder [A-Za-z_][A-Za-z0-9_.-]*( required)?)$`)

func isSection(line string) bool { return section.MatchString(line) && !strings.HasPrefix(line, `\`) }

// writeMessage escapes content lines that look like a heading, so that parsing returns the same message.
func writeMessage(out *bytes.Buffer, m Message) error {
	switch {
	case m.Placeholder != "":
		out.WriteString("# placeholder " + m.Placeholder)
		if m.Required {
			out.WriteString(" required")
		}
		out.WriteString("\n")
		return nil
	case m.Members != nil:
		out.WriteString("# " + m.Role + " json\n")
		if err := json.Indent(out, m.Members, "", "  "); err != nil {
			return err
		}
		out.WriteString("\n")
		return nil
	}
	out.WriteString("# " + m.Role + "\n")
	if m.Content == nil {
		return nil
	}
	for line := range strings.SplitSeq(*m.Content, "\n") {
		if section.MatchString(line) {
			out.WriteString(`\`)
		}
		out.WriteString(line + "\n")
	}
	return nil
}

// sections reads the messages of a file.
type sections struct {
	messages []Message
	isJSON   bool     // whether the last message has its members as JSON
	lines    []string // of the last message
}

// readMessages reads the sections of a chat prompt's file, which begin in a certain line.
func (p *Prompt) readMessages(body string, start int) error {
	var s sections
	all := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	for i, line := range all {
		switch {
		case isSection(line):
			if err := s.finish(); err != nil {
				return &Error{p.lines[fmt.Sprintf("/messages/%d", len(s.messages)-1)], err.Error()}
			}
			s.begin(line)
			pointer := fmt.Sprintf("/messages/%d", len(s.messages)-1)
			if p.lines[pointer] = start + i; !s.isJSON {
				p.lines[pointer+"/content"] = start + i + 1
			}
		case line == "" && (i+1 == len(all) || isSection(all[i+1])): // between two messages
			if i+1 == len(all) {
				s.lines = append(s.lines, line)
			}
		case len(s.messages) == 0 || s.messages[len(s.messages)-1].Placeholder != "":
			if strings.TrimSpace(line) != "" {
				return &Error{start + i, "the line is in no message: a message begins with a line such as # user"}
			}
		case section.MatchString(line):
			s.lines = append(s.lines, line[1:])
		default:
			s.lines = append(s.lines, line)
		}
	}
	if err := s.finish(); err != nil {
		return &Error{p.lines[fmt.Sprintf("/messages/%d", len(s.messages)-1)], err.Error()}
	}
	p.Content.Messages = s.messages
	return nil
}

// begin adds the message that a section's first line announces.
func (s *sections) begin(line string) {
	name, isRequired := strings.CutSuffix(strings.TrimPrefix(line, "# "), " required")
	if placeholder, ok := strings.CutPrefix(name, "placeholder "); ok {
		s.messages, s.isJSON = append(s.messages, Message{Placeholder: placeholder, Required: isRequired}), false
		return
	}
	name, s.isJSON = strings.CutSuffix(name, " json")
	s.messages = append(s.messages, Message{Role: name})
}

// finish gives the last message its content.
func (s *sections) finish() error {
	text := strings.Join(s.lines, "\n")
	s.lines = nil
	if len(s.messages) == 0 || s.messages[len(s.messages)-1].Role == "" {
		return nil
	}
	last := &s.messages[len(s.messages)-1]
	if !s.isJSON {
		last.Content = &text
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil || members == nil {
		return errors.New("the message is not a JSON object")
	}
	if members["role"] != nil {
		return errors.New("the role of the message belongs into the line above its JSON")
	}
	value, err := jsonOf(members)
	last.Members = json.RawMessage(value)
	return err
}
