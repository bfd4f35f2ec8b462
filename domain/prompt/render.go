package prompt

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
)

// Mode determines how a render handles a required variable without a value.
type Mode string

// The modes.
const (
	Strict  Mode = "strict"  // the render fails, as in every Mode other than Partial
	Partial Mode = "partial" // the tags of that variable are kept as written
)

// MaxRenderedBytes is a rendered prompt's largest size.
const MaxRenderedBytes = mustache.MaxBytes

// errTooMuchWork is ErrRenderTooLarge for a render that was stopped before it wrote too much.
var errTooMuchWork = &fault.Error{Kind: fault.Invalid, Code: ErrRenderTooLarge.Code,
	Detail: "With these values the prompt repeats too often or contains too many messages."}

// Rendered is a version's content with its variables filled in.
type Rendered struct {
	Text     string    // for type text
	Messages []Message // for type chat
	Missing  []string  // required variables without a value, in the order of their declaration
	Unused   []string  // values for names that the version does not use, sorted
}

// Render fills in values, which must be types that encoding/json decodes to: numbers are float64, or
// json.Number to keep every digit of large integers. A value can also be a json.RawMessage, so that the messages of a
// placeholder are inserted byte by byte as they are. A null counts as no value. Printed values are not
// parsed again, and nothing is escaped, because a prompt is not HTML. Numbers print as in JSON, arrays
// and objects as compact JSON with sorted keys. As in mustache.js, false, null, 0, an empty text and an
// empty array hide a section and show an inverted one.
//
// The content has no includes (Expand).
//
// ErrInvalidVariables names the values that do not fit their declaration, at /variables/NAME.
// ErrMissingVariables names, in mode strict, the required variables without a value. If both occur,
// ErrInvalidVariables names all of them. ErrRenderTooLarge means that the result exceeds
// MaxRenderedBytes, or takes too long to compute. A value that is not JSON is an unexpected error.
func (c Content) Render(values map[string]any, mode Mode) (Rendered, error) {
	parts, err := c.parse()
	if err != nil {
		return Rendered{}, err
	}
	sources := map[string]any{}
	maps.Copy(sources, values)
	if values, err = decoded(values); err != nil {
		return Rendered{}, err
	}
	r := mustache.NewRenderer()
	messages, errs, err := c.bind(values, sources, r)
	if err != nil {
		return Rendered{}, err
	}
	invalid, missing := len(errs) > 0, c.missing(r.Values)
	for _, name := range missing {
		r.Missing[name] = true
		if mode != Partial {
			errs.Add("/variables/"+name, "required", "Must be given.")
		}
	}
	if invalid {
		return Rendered{}, ErrInvalidVariables.WithFields(errs...)
	}
	c.expect(r, parts)
	texts := make([]string, len(parts))
	for i, p := range parts {
		if texts[i], err = r.Render(p.body); err != nil {
			return Rendered{}, renderFault(err)
		}
	}
	c = c.withTexts(texts)
	out := Rendered{Text: c.Text, Unused: c.unused(values, r.Values, parts)}
	for _, m := range c.Messages {
		if m.Placeholder == "" || r.Missing[m.Placeholder] {
			out.Messages = append(out.Messages, m)
			continue
		}
		for _, message := range messages[m.Placeholder] {
			if err := r.Insert(len(message)); err != nil {
				return Rendered{}, renderFault(err)
			}
			out.Messages = append(out.Messages, Message{Inserted: message})
		}
	}
	for _, path := range r.Absent() {
		if missing = append(missing, strings.ReplaceAll(path, "/", ".")); mode != Partial {
			errs.Add("/variables/"+path, "required", "Must be given.")
		}
	}
	if len(errs) > 0 {
		return Rendered{}, ErrMissingVariables.WithFields(errs...)
	}
	out.Missing = missing
	return out, nil
}

// expect prepares r for what it will render, and which variables of c may have no value.
func (c Content) expect(r *mustache.Renderer, parts []part) {
	optional := map[string]bool{}
	for _, v := range c.variables() {
		optional[v.Name] = !v.Required
	}
	r.Expect(bodies(parts), optional)
}

// renderFault returns the fault for what ended a render.
func renderFault(err error) error {
	switch {
	case errors.Is(err, mustache.ErrTooLarge):
		return ErrRenderTooLarge
	case errors.Is(err, mustache.ErrTooMuchWork):
		return errTooMuchWork
	}
	return fmt.Errorf("prompt: %w", err)
}
