package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Mode says how a render handles a required variable without a value.
type Mode string

// The modes.
const (
	Strict  Mode = "strict"  // the render fails, as in every Mode other than Partial
	Partial Mode = "partial" // the tags of that variable are kept as written
)

// MaxRenderedBytes is the largest size of a rendered prompt.
const MaxRenderedBytes = 1 << 20

// maxWork bounds the work of a render other than writing, in units of about a third of a nanosecond:
// without it, nested sections over long lists could run for years and write nothing. Each operation
// that a template can repeat has a cost, and more if it touches more data. A prompt of 1 MiB that a
// list produces, tag by tag, needs less than half of it.
const maxWork = 64 << 20

// The costs of a render's operations.
const (
	tagCost     = 32  // process a tag or a piece of text
	itemCost    = 16  // enter an item of a section, or look up a name in one without members
	lookupCost  = 48  // look into an object or the variables; one more for each byte of the name
	encodeCost  = 512 // write an object or an array; plus byteCost for each byte of it
	byteCost    = 16
	messageCost = 1024 // add a message; most of the cost is in encoding the response
)

// errTooMuchWork is ErrRenderTooLarge for a render that was stopped before it wrote too much.
var errTooMuchWork = &fault.Error{Kind: fault.Invalid, Code: ErrRenderTooLarge.Code,
	Detail: "With these values the prompt repeats too often or contains too many messages."}

// errNotExpanded tells of a programming error: no include reaches a render.
var errNotExpanded = errors.New("prompt: a render of a content with includes")

// Rendered is a version's content with its variables filled in.
type Rendered struct {
	Text     string    // for type text
	Messages []Message // for type chat
	Missing  []string  // required variables without a value, in the order of their declaration
	Unused   []string  // values for names that the version does not use, sorted
}

// Render fills in values, which must be types that encoding/json decodes to: numbers are float64, or
// json.Number to keep every digit of large integers. A null counts as no value. Printed values are not
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
	r := newRenderer()
	inserted, wrong := c.bind(values, &r)
	invalid, missing := len(wrong) > 0, c.missing(r.values)
	for _, name := range missing {
		r.missing[name] = true
		if mode != Partial {
			wrong.Add("/variables/"+name, "required", "Must be given.")
		}
	}
	if invalid {
		return Rendered{}, ErrInvalidVariables.With(wrong...)
	}
	r.absent.expect(c, parts)
	out := Rendered{Unused: c.unused(values, r.values, parts)}
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
	for _, path := range r.absent.paths {
		if missing = append(missing, strings.ReplaceAll(path, "/", ".")); mode != Partial {
			wrong.Add("/variables/"+path, "required", "Must be given.")
		}
	}
	if len(wrong) > 0 {
		return Rendered{}, ErrMissingVariables.With(wrong...)
	}
	out.Missing = missing
	return out, nil
}

func newRenderer() renderer {
	return renderer{values: map[string]any{}, missing: map[string]bool{}, space: MaxRenderedBytes, work: maxWork}
}

// renderer writes texts.
type renderer struct {
	values  map[string]any  // whose numbers are plain
	missing map[string]bool // variables whose tags are kept
	text    string          // the text that is being rendered
	absent  absences        // names without a value that a rendered section or a member needs
	frames  []frame         // the enclosing sections, the innermost last
	out     strings.Builder
	space   int // bytes that may still be written
	work    int // work that may still be done
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
	switch n.kind {
	case literal:
		return r.write(r.text[n.start:n.end])
	case inclusion:
		return errNotExpanded
	}
	value, base, state := r.lookup(n.name)
	switch {
	case state == kept:
		return r.write(r.text[n.start:n.end])
	case state == unknown && n.kind == interpolation && !r.absent.handled[n.name]:
		if err := r.absence(frame{base: base, name: n.name, index: -1}); err != nil {
			return err
		}
		return r.write(r.text[n.start:n.end])
	case n.kind == interpolation:
		return r.print(value)
	case n.kind == section && truthy(value):
		return r.section(n, value, base)
	case n.kind == inverted && !truthy(value):
		return r.nodes(n.nodes)
	}
	return nil
}

// section renders the content of a section, once for each item of an array, else once.
func (r *renderer) section(n node, value any, base int) error {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	last := len(r.frames)
	defer func() { r.frames = r.frames[:last] }()
	for i, item := range list {
		if !ok {
			i = -1
		}
		if err := r.spend(itemCost); err != nil {
			return err
		}
		r.frames = append(r.frames[:last], frame{item, base, n.name, i})
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

// lookup finds a name in the items of the enclosing sections, from the inside out, then among the
// variables. It finds the first part of a dotted name this way, and the rest in that value. base is the
// frame that has the value, or should have it: the innermost one over an object.
func (r *renderer) lookup(name string) (value any, base int, state state) {
	if name == "." {
		base = len(r.frames) - 1
		return r.frames[base].value, base, known
	}
	first, rest, _ := strings.Cut(name, ".")
	base = outermost
	for i, f := range slices.Backward(r.frames) {
		r.work -= itemCost
		if object, ok := f.value.(map[string]any); ok {
			r.work -= lookupCost + len(first)
			if value, ok := object[first]; ok {
				value, state = r.memberOf(value, rest)
				return value, i, state
			}
			if base == outermost {
				base = i
			}
		}
	}
	optional := false
	for prefix := range prefixes(name) {
		r.work -= 2 * (lookupCost + len(prefix))
		if r.missing[prefix] {
			return nil, outermost, kept
		}
		if value, ok := r.values[prefix]; ok {
			value, state = r.memberOf(value, strings.TrimPrefix(name[len(prefix):], "."))
			if optional {
				state = known
			}
			return value, outermost, state
		}
		optional = optional || r.absent.optional[prefix]
	}
	if optional {
		return nil, outermost, known
	}
	return nil, base, unknown
}

// memberOf follows a dotted path into value. It returns nil and unknown if there is no such member.
func (r *renderer) memberOf(value any, path string) (any, state) {
	for path != "" {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, unknown
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		r.work -= lookupCost + len(name)
		if value, ok = object[name]; !ok {
			return nil, unknown
		}
	}
	return value, known
}

// truthy reports whether value shows a section. Numbers are plain, so that each has one notation.
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

// print writes a value.
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
