package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

// A version's limits, in bytes.
const (
	MaxTextBytes      = 256 << 10 // of the text, or of all messages together
	MaxJSONBytes      = 256 << 10 // of the tools, and of the response format
	MaxVariablesBytes = 64 << 10  // of all variables together, as JSON: lists of versions include them
	MaxExtraBytes     = 16 << 10  // of a model's extra parameters, as JSON: lists include them
	MaxContentBytes   = 1 << 20   // of the whole content (Content.Size)
	MaxMessages       = 200
	MaxVariables      = 200
)

// Type is what a template's versions consist of. It never changes.
type Type string

// The types.
const (
	Text Type = "text" // one text
	Chat Type = "chat" // a list of messages
)

// Format is the syntax of variables in a text.
type Format string

// The formats.
const (
	Mustache Format = "mustache" // {{name}}, sections and inverted sections; no partials
	Verbatim Format = "none"     // the text is used as it is
)

// Content is a version's prompt. It is a value: a frozen version keeps its own.
type Content struct {
	Text           string    // for type text, up to 256 KiB
	Messages       []Message // for type chat, 1 to 200
	Format         Format
	Variables      []Variable
	Model          *ModelConfig    // nil: the caller decides
	Tools          json.RawMessage // a JSON array, or nil
	ResponseFormat json.RawMessage // a JSON object, or nil
}

// Variable declares a value that a render needs or accepts.
type Variable struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"` // any, string, number, boolean, array or object
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default,omitempty"`
	Enum        []any           `json:"enum,omitempty"`
	Description string          `json:"description,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"` // the value must not be logged
}

// ModelConfig suggests how to call a model. The caller decides about nil fields.
type ModelConfig struct {
	Provider      string         `json:"provider,omitempty"`
	ModelName     string         `json:"model_name,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	MaxTokens     *int           `json:"max_tokens,omitempty"`
	TopP          *float64       `json:"top_p,omitempty"`
	TopK          *int           `json:"top_k,omitempty"`
	StopSequences []string       `json:"stop_sequences,omitempty"`
	ExtraParams   map[string]any `json:"extra_params,omitempty"`
}

const maxVariableName = 64 // bytes

// anyType is the type for a variable whose values may be of every type, null included.
const anyType = "any"

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// isVariableName reports whether s is a valid name of a variable or a placeholder.
func isVariableName(s string) bool { return len(s) <= maxVariableName && variableName.MatchString(s) }

var variableTypes = []string{anyType, "string", "number", "boolean", "array", "object"}

// checked returns c as it is stored in a template version with type of. The default format is mustache; variables that
// are not declared are inferred from the text. fault.ErrInvalid names all fields that break a rule,
// ErrUnsupportedSyntax the texts that are not valid in their format, and ErrUndeclaredVariable those that use an
// undeclared variable. If several occur together, fault.ErrInvalid names all of them.
func (c Content) checked(kind Type, isDeclared bool) (Content, error) {
	if c.Format == "" {
		c.Format = Mustache
	}
	c.Variables = slices.Clone(c.Variables)
	if !isDeclared {
		c.Variables = nil
	}
	for i := range c.Variables {
		v := &c.Variables[i]
		if v.Type == "" {
			v.Type = "string"
		}
		if string(bytes.TrimSpace(v.Default)) == "null" {
			v.Default = nil
		}
	}
	var errs fault.Fields
	c.checkShape(kind, &errs)
	for i, v := range c.Variables {
		pointer := fmt.Sprintf("/variables/%d", i)
		v.check(pointer, &errs)
		if slices.ContainsFunc(c.Variables[:i], func(w Variable) bool { return w.Name == v.Name }) {
			errs.Add(pointer+"/name", "duplicate_item", "Another variable has this name.")
		}
		if slices.ContainsFunc(c.Messages, func(m Message) bool { return m.Placeholder == v.Name }) {
			v.checkPlaceholder(pointer, &errs)
		}
	}
	parts, err := c.parse()
	if err == nil && isDeclared {
		err = c.undeclared(parts)
	}
	if err := fault.Join(errs.Err(), err); err != nil || isDeclared {
		return c, err
	}
	if c.Variables = c.infer(parts); len(c.Variables) > MaxVariables {
		errs.Add("/variables", "too_many_items", fmt.Sprintf("The text uses more than %d variables.", MaxVariables))
	}
	return c, errs.Err()
}

// checkShape adds the errors in all fields except the variables.
func (c Content) checkShape(kind Type, errs *fault.Fields) {
	switch {
	case kind == Chat && c.Text != "":
		errs.Add("/text", "not_allowed_value", "A template of type chat has messages.")
	case kind == Text && c.Text == "":
		errs.Add("/text", "required", "Must not be empty.")
	case len(c.Text) > MaxTextBytes:
		errs.Add("/text", "too_long", "Must take at most 256 KiB.")
	}
	errs.AddCharacters("/text", c.Text)
	switch n := len(c.Messages); {
	case kind == Text && n > 0:
		errs.Add("/messages", "not_allowed_value", "A template of type text has a text.")
	case kind == Chat && n == 0:
		errs.Add("/messages", "required", "Must have at least one item.")
	case n > MaxMessages:
		errs.Add("/messages", "too_many_items", fmt.Sprintf("Must have at most %d items.", MaxMessages))
	}
	size := 0
	for i, m := range c.Messages {
		for _, text := range m.Texts() {
			size += len(text)
		}
		m.check(fmt.Sprintf("/messages/%d", i), errs)
	}
	if size > MaxTextBytes {
		errs.Add("/messages", "too_long", "All contents together must take at most 256 KiB.")
	}
	if c.Format != Mustache && c.Format != Verbatim {
		errs.Add("/format", "not_allowed_value", "Must be mustache or none.")
	}
	if len(c.Variables) > MaxVariables {
		errs.Add("/variables", "too_many_items", fmt.Sprintf("Must have at most %d items.", MaxVariables))
	}
	if c.Tools != nil {
		checkTools(c.Tools, errs)
	}
	c.checkSizes(errs)
	if c.ResponseFormat != nil {
		checkResponseFormat(c.ResponseFormat, errs)
	}
}

// checkSizes adds the fields with caller-defined content that are too large, or else the whole content:
// a merge can make it larger than any one body.
func (c Content) checkSizes(errs *fault.Fields) {
	var extra int
	if c.Model != nil && c.Model.ExtraParams != nil {
		extra = sizeOf(c.Model.ExtraParams)
	}
	count := len(*errs)
	for _, part := range []struct {
		pointer    string
		size, most int
	}{
		{"/variables", sizeOf(c.Variables), MaxVariablesBytes}, {"/model_config/extra_params", extra, MaxExtraBytes},
		{"/tools", len(c.Tools), MaxJSONBytes}, {"/response_format", len(c.ResponseFormat), MaxJSONBytes},
	} {
		if part.size > part.most {
			errs.Add(part.pointer, "too_long", fmt.Sprintf("Must take at most %d KiB as JSON.", part.most>>10))
		}
	}
	if len(*errs) == count && c.Size() > MaxContentBytes {
		errs.Add("", "too_long", "The version must take at most 1 MiB as JSON.")
	}
}
