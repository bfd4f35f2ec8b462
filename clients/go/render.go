package atrium

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/clients/go/internal/mustache"
)

// RenderError is a prompt that cannot be rendered with its values. errors.Is compares its code.
type RenderError struct {
	Code   Code // missing_variables, invalid_variables, unsupported_syntax or render_too_large
	Errors []FieldError
}

// Error returns the code and what is wrong. It contains no value.
func (e *RenderError) Error() string {
	text := "atrium: the prompt cannot be rendered: " + string(e.Code)
	for _, f := range e.Errors {
		text += "; " + f.Pointer + ": " + f.Detail
	}
	return text
}

// Is reports whether target is the code of e.
func (e *RenderError) Is(target error) bool { return target == e.Code }

// Rendered is a prompt with its variables filled in.
type Rendered struct {
	Text     string            `json:"text,omitempty"`     // of a text prompt
	Messages []RenderedMessage `json:"messages,omitempty"` // of a chat prompt
	Missing  []string          `json:"missing"`            // required variables without a value
	Unused   []string          `json:"unused"`             // names of values that the version does not use
}

var errRenderTooLarge = &RenderError{Code: CodeRenderTooLarge}

// Render fills in the variables of a version, with the same result as the server, byte for byte. Values are inserted
// unchanged: they are not escaped or expanded. In mode RenderModePartial, the tags of required variables without a
// value are kept. It returns a *RenderError, or an error for values that are not JSON.
func Render(version *PromptVersion, values map[string]any, mode RenderMode) (*Rendered, error) {
	p, err := preparePrompt(version)
	if err != nil {
		return nil, err
	}
	return p.render(values, mode)
}

// preparedPrompt is a version whose texts are parsed.
type preparedPrompt struct {
	version   *PromptVersion
	variables []declared
	messages  []preparedMessage
	parts     []mustache.Text // the text, then the texts of the messages
}

// anyType is the type of a variable whose values may be of every type, null included.
const anyType = "any"

// declared is a variable with the defaults of the API filled in.
type declared struct {
	name, kind   string
	required     bool
	defaultValue any // nil if there is none
	enum         []any
}

// preparePrompt parses a version once for many calls of render. A placeholder without a variable declares one of type
// array.
func preparePrompt(v *PromptVersion) (*preparedPrompt, error) {
	p := &preparedPrompt{version: v}
	if v.Text != nil && *v.Text != "" {
		p.parts = append(p.parts, mustache.Text{Text: *v.Text})
	}
	for _, m := range v.Messages {
		prepared, err := prepareMessage(m)
		if err != nil {
			return nil, err
		}
		p.messages = append(p.messages, prepared)
		for _, text := range prepared.texts() {
			p.parts = append(p.parts, mustache.Text{Text: text})
		}
	}
	for i, part := range p.parts {
		if v.Format == PromptFormatNone {
			p.parts[i].Nodes = []mustache.Node{{Kind: mustache.Literal, End: len(part.Text)}}
			continue
		}
		nodes, err := mustache.Parse(part.Text, refusePartial)
		if err != nil {
			return nil, &RenderError{CodeUnsupportedSyntax,
				[]FieldError{{Pointer: "/text", Code: "unsupported_syntax", Detail: err.Error()}}}
		}
		p.parts[i].Nodes = nodes
	}
	for _, d := range v.Variables {
		one := declared{name: d.Name, kind: "string", required: d.Required == nil || *d.Required}
		if d.Type != nil {
			one.kind = string(*d.Type)
		}
		one.defaultValue, one.enum = d.Default, d.Enum
		p.variables = append(p.variables, one)
	}
	for _, m := range p.messages {
		name := m.placeholder
		if name == "" {
			continue
		}
		i := slices.IndexFunc(p.variables, func(d declared) bool { return d.name == name })
		if i < 0 {
			i = len(p.variables)
			p.variables = append(p.variables, declared{name: name, kind: "array"})
		}
		p.variables[i].required = p.variables[i].required || m.required
	}
	return p, nil
}

// refusePartial refuses includes: the server has replaced those of a version before a client gets it.
func refusePartial(string) string { return "partials are not supported." }

// renderError returns the error for what ended a render.
func renderError(err error) error {
	if errors.Is(err, mustache.ErrTooLarge) || errors.Is(err, mustache.ErrTooMuchWork) {
		return errRenderTooLarge
	}
	return fmt.Errorf("atrium: %w", err)
}

// sameJSON compares decoded values with plain numbers.
func sameJSON(a, b any) bool {
	x, err := mustache.Encode(a)
	if err != nil {
		return false
	}
	y, err := mustache.Encode(b)
	return err == nil && x == y
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// render returns the same texts and errors as the server's render operation; the clients' shared tests compare them.
func (p *preparedPrompt) render(values map[string]any, mode RenderMode) (*Rendered, error) {
	plain, err := plainValues(values)
	if err != nil {
		return nil, fmt.Errorf("atrium: the values of a prompt must be JSON: %w", err)
	}
	r := mustache.NewRenderer()
	errs := p.bind(plain, r)
	inserted, err := p.inserted(values, plain, r)
	if err != nil {
		return nil, fmt.Errorf("atrium: the messages of a placeholder must be JSON: %w", err)
	}
	invalid, missing := len(errs) > 0, []string{}
	for _, v := range p.variables {
		if _, ok := r.Values[v.name]; v.required && !ok {
			missing = append(missing, v.name)
			r.Missing[v.name] = true
			if mode != RenderModePartial {
				errs.add(v.name, "required", "Must be given.")
			}
		}
	}
	if invalid {
		return nil, &RenderError{CodeInvalidVariables, errs}
	}
	optional := map[string]bool{}
	for _, v := range p.variables {
		optional[v.name] = !v.required
	}
	r.Expect(p.parts, optional)
	out := &Rendered{Unused: p.unused(plain, r.Values)}
	texts := make([]string, len(p.parts))
	for i, part := range p.parts {
		if texts[i], err = r.Render(part); err != nil {
			return nil, renderError(err)
		}
	}
	if valueOf(p.version.Text) != "" {
		out.Text, texts = texts[0], texts[1:]
	}
	for _, m := range p.messages {
		if m.placeholder == "" || r.Missing[m.placeholder] {
			n := len(m.texts())
			message, err := m.with(texts[:n])
			if err != nil {
				return nil, err
			}
			out.Messages, texts = append(out.Messages, message), texts[n:]
			continue
		}
		for _, message := range inserted[m.placeholder] {
			if r.Insert(len(message.JSON)) != nil {
				return nil, errRenderTooLarge
			}
			out.Messages = append(out.Messages, message)
		}
	}
	for _, path := range r.Absent() {
		if missing = append(missing, strings.ReplaceAll(path, "/", ".")); mode != RenderModePartial {
			errs.add(path, "required", "Must be given.")
		}
	}
	if len(errs) > 0 {
		return nil, &RenderError{CodeMissingVariables, errs}
	}
	out.Missing = missing
	return out, nil
}

// plainValues returns values as the server decodes them, with numbers in one notation.
func plainValues(values map[string]any) (map[string]any, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain map[string]any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	for name, value := range plain {
		plain[name] = mustache.PlainNumbers(value)
	}
	return plain, nil
}

// fieldErrors collects what is wrong with variables.
type fieldErrors []FieldError

func (f *fieldErrors) add(name, code, detail string) {
	*f = append(*f, FieldError{Pointer: "/variables/" + name, Code: code, Detail: detail})
}

// bind checks values, and stores them with defaults for those that are not given.
func (p *preparedPrompt) bind(values map[string]any, r *mustache.Renderer) (errs fieldErrors) {
	for name, value := range values {
		i := slices.IndexFunc(p.variables, func(v declared) bool { return v.name == name })
		if isNull := value == nil && i >= 0 && p.variables[i].kind != anyType; !isNull &&
			(i >= 0 || !strings.Contains(name, ".")) {
			r.Values[name] = value
		}
	}
	for _, v := range p.variables {
		value, ok := r.Values[v.name]
		if ok && value == nil && v.defaultValue != nil {
			ok = false
		}
		switch {
		case !ok && v.defaultValue != nil:
			if plain, err := plainValues(map[string]any{"value": v.defaultValue}); err == nil {
				r.Values[v.name] = plain["value"]
			}
		case ok && v.kind != anyType && kindOf(value) != v.kind:
			errs.add(v.name, "wrong_type", "Must be of type "+v.kind+".")
		case ok && len(v.enum) > 0 && !slices.ContainsFunc(v.enum, func(allowed any) bool {
			plain, err := plainValues(map[string]any{"value": allowed})
			return err == nil && sameJSON(plain["value"], value)
		}):
			errs.add(v.name, "not_allowed_value", "Must be one of the values that the version allows.")
		}
	}
	for i, m := range p.messages {
		list, ok := r.Values[m.placeholder].([]any)
		if !ok || slices.ContainsFunc(p.messages[:i], func(other preparedMessage) bool {
			return other.placeholder == m.placeholder
		}) {
			continue
		}
		for k, item := range list {
			checkInserted(item, fmt.Sprintf("%s/%d", m.placeholder, k), &errs)
		}
	}
	return errs
}

// kindOf returns the type of a decoded value, as prompts declare it.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

// unused returns the given names that no tag and no placeholder uses.
func (p *preparedPrompt) unused(values, bound map[string]any) []string {
	uses := mustache.Uses(p.parts, values)
	for _, m := range p.messages {
		uses[m.placeholder] = true
	}
	delete(uses, "")
	names := []string{}
	for name, value := range values {
		if _, ok := bound[name]; !uses[name] || (value != nil && !ok) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
