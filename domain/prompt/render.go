package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Mode says what a render does without the value of a required variable.
type Mode string

// The modes.
const (
	Strict  Mode = "strict"  // it fails; so does every Mode that is not Partial
	Partial Mode = "partial" // it leaves the tags of that variable as they are written
)

// MaxRenderedBytes is how large a rendered prompt may become.
const MaxRenderedBytes = 1 << 20

// maxWork bounds what a render does besides writing, in units of about a third of a nanosecond:
// without it, sections over long lists in each other run for years and write nothing. Whatever a template
// can repeat costs something, and more if it touches more. A prompt of 1 MiB that a list makes, tag
// by tag, takes less than half of it.
const maxWork = 64 << 20

// What a render's steps cost.
const (
	tagCost     = 32  // to come to a tag or a piece of text, and leave it
	itemCost    = 16  // to enter an item of a section, or ask one that has no members for a name
	lookupCost  = 48  // to look into an object or the variables, and one more for each byte of the name
	encodeCost  = 512 // to write an object or an array, and byteCost for each byte of it
	byteCost    = 16
	messageCost = 1024 // to put in a message, which costs most where the answer is written
)

// errTooMuchWork is ErrRenderTooLarge for what never came to be written.
var errTooMuchWork = &fault.Error{Kind: fault.Invalid, Code: ErrRenderTooLarge.Code, Detail: "With these values the prompt repeats too often or contains too many messages."}

// Rendered is a version's content with its variables filled in.
type Rendered struct {
	Text     string    // for type text
	Messages []Message // for type chat
	Missing  []string  // required variables without a value, in the order of their declaration
	Unused   []string  // values for what the version does not use, sorted
}

// Render fills values in, which are what encoding/json decodes: numbers are float64, or
// json.Number to keep every digit of large integers. A null is no value. What is printed is never
// read again, and nothing is escaped: a prompt is no HTML. Numbers print as in JSON, arrays and
// objects as compact JSON with sorted keys. As in mustache.js, false, null, 0, an empty text and an
// empty array are what hides a section and shows an inverted one.
//
// ErrInvalidVariables names the values that do not fit their declaration, at /variables/NAME;
// ErrMissingVariables, in mode strict, the required variables without a value. If there are both,
// ErrInvalidVariables names all of it. ErrRenderTooLarge is a result above MaxRenderedBytes, or one
// that takes too long to make. A value that is no JSON is an error that nobody foresaw.
func (c Content) Render(values map[string]any, mode Mode) (Rendered, error) {
	parts, err := c.parse()
	if err != nil {
		return Rendered{}, err
	}
	r := renderer{values: map[string]any{}, missing: map[string]bool{}, space: MaxRenderedBytes, work: maxWork}
	inserted, wrong := c.bind(values, &r)
	invalid, missing := len(wrong) > 0, c.missing(r.values)
	for _, name := range missing {
		r.missing[name] = true
		if mode != Partial {
			wrong.add("/variables/"+name, "required", "Must be given.")
		}
	}
	if invalid {
		return Rendered{}, ErrInvalidVariables.With(wrong...)
	}
	if len(wrong) > 0 {
		return Rendered{}, ErrMissingVariables.With(wrong...)
	}
	out := Rendered{Missing: missing, Unused: c.unused(values, r.values, parts)}
	for _, p := range parts[:len(parts)-len(c.Messages)] {
		if out.Text, err = r.render(p); err != nil {
			return Rendered{}, err
		}
	}
	for i, p := range parts[len(parts)-len(c.Messages):] {
		m := c.Messages[i]
		switch {
		case m.Placeholder == "":
			if m.Content, err = r.render(p); err != nil {
				return Rendered{}, err
			}
			out.Messages = append(out.Messages, m)
		case r.missing[m.Placeholder]:
			out.Messages = append(out.Messages, m)
		default:
			for _, m := range inserted[m.Placeholder] {
				if r.space -= len(m.Role) + len(m.Content); r.space < 0 {
					return Rendered{}, ErrRenderTooLarge
				}
				if err := r.spend(messageCost); err != nil {
					return Rendered{}, err
				}
				out.Messages = append(out.Messages, m)
			}
		}
	}
	return out, nil
}

// renderer writes texts.
type renderer struct {
	values  map[string]any  // whose numbers are plain
	missing map[string]bool // variables whose tags stay
	text    string          // that is read at the moment
	items   []any           // of the sections around, the innermost last
	out     strings.Builder
	space   int // bytes that may still be written
	work    int // that may still be done
}

func (r *renderer) render(p part) (string, error) {
	r.text = p.text
	r.out.Reset()
	err := r.nodes(p.nodes)
	return r.out.String(), err
}

func (r *renderer) nodes(nodes []node) error {
	for _, n := range nodes {
		if err := r.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) node(n node) error {
	if err := r.spend(tagCost); err != nil {
		return err
	}
	if n.kind == literal {
		return r.write(r.text[n.start:n.end])
	}
	value, missing := r.lookup(n.name)
	switch {
	case missing:
		return r.write(r.text[n.start:n.end])
	case n.kind == interpolation:
		return r.print(value)
	case n.kind == section && truthy(value):
		return r.section(n, value)
	case n.kind == inverted && !truthy(value):
		return r.nodes(n.nodes)
	}
	return nil
}

// section writes what is in a section, for each item of an array, else once.
func (r *renderer) section(n node, value any) error {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	last := len(r.items)
	defer func() { r.items = r.items[:last] }()
	for _, item := range list {
		if err := r.spend(itemCost); err != nil {
			return err
		}
		r.items = append(r.items[:last], item)
		if err := r.nodes(n.nodes); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) spend(work int) error {
	if r.work -= work; r.work < 0 {
		return errTooMuchWork
	}
	return nil
}

func (r *renderer) write(text string) error {
	if r.space -= len(text); r.space < 0 {
		return ErrRenderTooLarge
	}
	r.out.WriteString(text)
	return nil
}

// lookup finds a name in the items of the sections around, from the inside out, then among the
// variables. Of a dotted name the first part is found so, and the rest in what it is; nothing is
// missing but a variable.
func (r *renderer) lookup(name string) (value any, missing bool) {
	if name == "." {
		return r.items[len(r.items)-1], false
	}
	first, rest, _ := strings.Cut(name, ".")
	for _, item := range slices.Backward(r.items) {
		r.work -= itemCost
		if object, ok := item.(map[string]any); ok {
			r.work -= lookupCost + len(first)
			if value, ok := object[first]; ok {
				return r.memberOf(value, rest), false
			}
		}
	}
	for prefix := range prefixes(name) {
		r.work -= 2 * (lookupCost + len(prefix))
		if r.missing[prefix] {
			return nil, true
		}
		if value, ok := r.values[prefix]; ok {
			return r.memberOf(value, strings.TrimPrefix(name[len(prefix):], ".")), false
		}
	}
	return nil, false
}

// memberOf follows a dotted path into value; it ends in nil where there is no such member.
func (r *renderer) memberOf(value any, path string) any {
	for path != "" {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		r.work -= lookupCost + len(name)
		value = object[name]
	}
	return value
}

// truthy reports whether value shows a section. Numbers are plain: each is written in one way.
func truthy(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case float64:
		return v != 0
	case json.Number:
		return v != "0" && v != "-0"
	case []any:
		return len(v) > 0
	}
	return true
}

// print writes a value as it stands in a text.
func (r *renderer) print(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return r.write(v)
	case json.Number:
		return r.write(string(v))
	}
	text, err := encode(value)
	if err != nil {
		return fmt.Errorf("prompt: a value that is no JSON: %w", err)
	}
	if err := r.spend(encodeCost + byteCost*len(text)); err != nil {
		return err
	}
	return r.write(text)
}
