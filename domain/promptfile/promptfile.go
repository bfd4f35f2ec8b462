// Package promptfile writes prompts as Markdown files, which people edit and git compares, and reads them again.
package promptfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Prompt is what a file holds about a prompt template and its version. Its JSON is the API's.
type Prompt struct {
	Name        string // empty if it follows from the path of the file
	Type        string
	Description string
	Tags        []string
	Content     Content

	lines map[string]int // where the file has a member of the content, by its JSON pointer; see Locate
}

// Error is what is wrong with a file.
type Error struct {
	Line   int // from 1; 0: unknown
	Detail string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Detail
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Detail)
}

// textLine is the line of a text, which begins what the API says about it.
var textLine = regexp.MustCompile(`^Line ([0-9]+)[:,]? `)

// Locate returns what the API says about a member of the content, with the line of the file instead of the line of the
// text.
func (p Prompt) Locate(pointer, detail string) *Error {
	line, member := 0, pointer
	for line == 0 && member != "" {
		if line = p.lines[member]; line == 0 {
			member = member[:strings.LastIndex(member, "/")]
		}
	}
	if found := textLine.FindStringSubmatch(detail); found != nil && line > 0 && member == pointer {
		n, err := strconv.Atoi(found[1])
		if err == nil {
			line, detail = line+n-1, detail[len(found[0]):]
		}
	}
	return &Error{line, detail}
}

// Content is a version's content.
type Content struct {
	Text           *string         `json:"text,omitempty"`
	Messages       []Message       `json:"messages,omitempty"`
	Format         string          `json:"format,omitempty"`
	Variables      json.RawMessage `json:"variables,omitempty"`
	ModelConfig    json.RawMessage `json:"model_config,omitempty"`
	Tools          json.RawMessage `json:"tools,omitempty"`
	ResponseFormat json.RawMessage `json:"response_format,omitempty"`
}

const fence = "---\n"

// Encode writes a prompt: its settings as YAML between two lines of three hyphens, and its text. A chat prompt has a
// section for each message, which begins with a line such as "# user" or "# placeholder history required". Lines in a
// message that look like it have a backslash before them. A message with more than a text has a section such as
// "# user json", with its members as JSON. Equal prompts give equal files.
func Encode(p Prompt) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(fence)
	for _, field := range []struct {
		name  string
		value any
		empty bool
	}{
		{"name", p.Name, p.Name == ""},
		{"type", p.Type, p.Type != "chat"},
		{"description", p.Description, p.Description == ""},
		{"tags", p.Tags, len(p.Tags) == 0},
		{"format", p.Content.Format, p.Content.Format == "" || p.Content.Format == "mustache"},
		{"variables", p.Content.Variables, isEmpty(p.Content.Variables)},
		{"model_config", p.Content.ModelConfig, isEmpty(p.Content.ModelConfig)},
		{"tools", p.Content.Tools, isEmpty(p.Content.Tools)},
		{"response_format", p.Content.ResponseFormat, isEmpty(p.Content.ResponseFormat)},
	} {
		if field.empty {
			continue
		}
		value, err := jsonOf(field.value)
		if err != nil {
			return nil, err
		}
		out.WriteString(field.name + ": " + value + "\n") // JSON is YAML
	}
	out.WriteString(fence)
	if p.Type != "chat" {
		if p.Content.Text != nil {
			out.WriteString(*p.Content.Text)
		}
		out.WriteString("\n")
		return out.Bytes(), nil
	}
	for i, m := range p.Content.Messages {
		if i > 0 {
			out.WriteString("\n")
		}
		if err := writeMessage(&out, m); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// isEmpty reports whether a value is what the API returns for none.
func isEmpty(raw json.RawMessage) bool {
	return slices.Contains([]string{"", "{}", "[]", "null"}, string(raw))
}

// jsonString matches each string of a JSON text.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// jsonOf returns a value as JSON on one line, without escapes that YAML does not have, and with the same escapes
// however the value has them.
func jsonOf(value any) (string, error) {
	text, err := encoded(value)
	return jsonString.ReplaceAllStringFunc(text, func(original string) string {
		var content string
		if json.Unmarshal([]byte(original), &content) != nil || strings.ContainsRune(content, utf8.RuneError) {
			return original // half of a surrogate pair, say
		}
		result, err := encoded(content)
		if err != nil {
			return original
		}
		return result
	}), err
}

func encoded(value any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Decode reads a file. Its settings can have any form of YAML. Unknown settings are an error. A byte order mark is
// ignored. In a file whose lines all end in a carriage return and a line feed, as editors of Windows and git write
// them, these are line feeds; in another file they belong to the text. Each error is an *Error.
func Decode(file []byte) (Prompt, error) {
	text := strings.TrimPrefix(string(file), "\ufeff")
	if strings.Count(text, "\r\n") == strings.Count(text, "\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	text, ok := strings.CutPrefix(text, fence)
	if !ok {
		return Prompt{}, &Error{1, "the file does not begin with a line of three hyphens"}
	}
	head, body, ok := strings.Cut("\n"+text, "\n"+fence)
	if !ok {
		return Prompt{}, &Error{1, "the settings do not end with a line of three hyphens"}
	}
	p := Prompt{Type: "text", lines: map[string]int{}}
	if err := p.settings(head); err != nil {
		return Prompt{}, err
	}
	start := strings.Count(head, "\n") + 3 // the line after the settings
	if p.Type == "chat" {
		return p, p.readMessages(body, start)
	}
	p.lines["/text"] = start
	p.Content.Text = new(strings.TrimSuffix(body, "\n"))
	return p, nil
}

// settings reads the YAML before the text into p.
func (p *Prompt) settings(head string) error {
	var fields map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(head), &fields); err != nil {
		detail := strings.TrimPrefix(err.Error(), "yaml: ")
		if found := yamlLine.FindStringSubmatch(detail); found != nil {
			line, _ := strconv.Atoi(found[1])
			return &Error{line, "settings: " + strings.TrimSpace(found[2])}
		}
		return &Error{1, "settings: " + detail}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		node := fields[name]
		target, ok := map[string]any{
			"name": &p.Name, "type": &p.Type, "description": &p.Description, "tags": &p.Tags,
			"format": &p.Content.Format, "variables": &p.Content.Variables, "model_config": &p.Content.ModelConfig,
			"tools": &p.Content.Tools, "response_format": &p.Content.ResponseFormat,
		}[name]
		if !ok {
			return &Error{node.Line, fmt.Sprintf("there is no setting %q", name)}
		}
		p.lines["/"+name] = node.Line
		value, err := jsonOfYAML(&node)
		if err == nil {
			err = json.Unmarshal(value, target)
		}
		if err != nil {
			return &Error{node.Line, fmt.Sprintf("the setting %s: %v", name, err)}
		}
	}
	return nil
}

// yamlLine is how the parser of YAML begins an error.
var yamlLine = regexp.MustCompile(`(?s)line ([0-9]+): (.*)`)

// jsonOfYAML returns a YAML value as JSON. Numbers keep every digit, and members their order.
func jsonOfYAML(n *yaml.Node) (json.RawMessage, error) {
	switch n.Kind {
	case yaml.SequenceNode, yaml.MappingNode:
		parts := make([]string, len(n.Content))
		for i, child := range n.Content {
			value, err := jsonOfYAML(child)
			if err != nil {
				return nil, err
			}
			parts[i] = string(value)
		}
		if n.Kind == yaml.SequenceNode {
			return json.RawMessage("[" + strings.Join(parts, ",") + "]"), nil
		}
		members := make([]string, 0, len(parts)/2)
		for i := 0; i+1 < len(parts); i += 2 {
			if n.Content[i].Tag != "!!str" {
				return nil, errors.New("a key is not a string")
			}
			members = append(members, parts[i]+":"+parts[i+1])
		}
		return json.RawMessage("{" + strings.Join(members, ",") + "}"), nil
	case yaml.ScalarNode:
		if n.Style == 0 && json.Valid([]byte(n.Value)) { // a constant, or a number, which YAML may take for a text
			return json.RawMessage(n.Value), nil
		}
		value, err := jsonOf(n.Value)
		return json.RawMessage(value), err
	}
	return nil, errors.New("aliases are not supported") // they could multiply a small file
}

// Place returns a template file's path in an archive, with slashes. A name that cannot be a path everywhere is
// replaced, and hasName is true: then the file contains the name.
func Place(name string) (path string, hasName bool) {
	if path, err := Path(name); err == nil {
		return filepath.ToSlash(path), false
	}
	sum := sha256.Sum256([]byte(name))
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = strings.TrimLeft(strings.Map(func(r rune) rune {
			if strings.ContainsRune(`\:*?"<>|`+"\x00", r) {
				return '_'
			}
			return r
		}, part), ".")
		if parts[i] == "" {
			parts[i] = "_"
		}
	}
	return strings.Join(parts, "/") + "-" + hex.EncodeToString(sum[:4]) + ".md", true
}

// Named returns the name of the template whose file has this path in an archive. It returns an error for a path that
// leads out of the archive, or that is none.
func Named(path string) (string, error) {
	name, ok := strings.CutSuffix(path, ".md")
	if !ok || strings.ContainsAny(path, "\\:\x00") || !fs.ValidPath(path) {
		return "", errors.New("the path of the file is not a relative path that ends in .md")
	}
	return name, nil
}

// Path returns a template file's path below a folder. It returns an error for a name that is no path there.
func Path(name string) (string, error) {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.ContainsAny(part, `\:*?"<>|`+"\x00") {
			return "", fmt.Errorf("the name %q cannot be the path of a file", name)
		}
	}
	path := filepath.FromSlash(name) + ".md"
	if !filepath.IsLocal(path) {
		return "", fmt.Errorf("the name %q cannot be the path of a file", name)
	}
	return path, nil
}
