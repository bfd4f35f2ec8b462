package mustache

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxBytes is the largest size of what a Renderer writes.
const MaxBytes = 1 << 20

// MaxWork bounds a Renderer's work other than writing, in units of about 0.3 nanoseconds: without it, nested sections
// over long lists could run for years and write nothing. Each operation that a text can repeat has a cost, and more if
// it touches more data. A prompt of 1 MiB that a list produces, tag by tag, needs less than half of it.
const MaxWork = 64 << 20

// The costs of operations.
const (
	tagCost    = 32  // process a tag or a piece of text
	itemCost   = 16  // enter a section item, or look up a name in one without members
	lookupCost = 48  // look into an object or the variables; one more for each byte of the name
	encodeCost = 512 // write an object or an array; plus byteCost for each byte of it
	byteCost   = 16
	insertCost = 1024 // insert something; most of the cost is in encoding the response
)

// What ends a render.
var (
	ErrTooLarge    = errors.New("mustache: the result is too large")
	ErrTooMuchWork = errors.New("mustache: the text repeats too often with these values")

	errPartial = errors.New("mustache: a partial that no text has replaced") // a programming error
)

// Text is a text with its nodes.
type Text struct {
	Text  string
	Nodes []Node
}

// Renderer fills values in. Printed values are not parsed again, and nothing is escaped. Numbers print as in JSON,
// arrays and objects as compact JSON with sorted keys. As in mustache.js, false, null, 0, an empty text and an empty
// array hide a section and show an inverted one.
type Renderer struct {
	Values  map[string]any  // as encoding/json decodes them, with plain numbers (PlainNumbers)
	Missing map[string]bool // variables whose tags are kept as they are written
	Space   int             // bytes that may still be written
	Work    int             // work that may still be done

	text   string   // the text that is being rendered
	absent absences // names without a value that a rendered section or a member needs
	frames []frame  // the enclosing sections, the innermost last
	out    strings.Builder
}

// NewRenderer returns a Renderer without values, for texts of MaxBytes together.
func NewRenderer() *Renderer {
	return &Renderer{Values: map[string]any{}, Missing: map[string]bool{}, Space: MaxBytes, Work: MaxWork}
}

// Render returns t with its values, after Expect. It returns ErrTooLarge, ErrTooMuchWork, or the error of encoding/json
// for a value that is not JSON.
func (r *Renderer) Render(t Text) (string, error) {
	r.text = t.Text
	r.out.Reset()
	err := r.nodes(t.Nodes)
	return r.out.String(), err
}

// Insert counts something else that becomes part of the result. It returns ErrTooLarge or ErrTooMuchWork.
func (r *Renderer) Insert(bytes int) error {
	if r.Space -= bytes; r.Space < 0 {
		return ErrTooLarge
	}
	return r.spend(insertCost)
}

func (r *Renderer) nodes(nodes []Node) error {
	for _, n := range nodes {
		if err := r.node(n); err != nil {
			return err
		}
	}
	return nil
}

// node renders one node. What is missing stays as its tag.
func (r *Renderer) node(n Node) error {
	if err := r.spend(tagCost); err != nil {
		return err
	}
	switch n.Kind {
	case Literal:
		return r.write(r.text[n.Start:n.End])
	case Partial:
		return errPartial
	}
	value, base, state := r.lookup(n.Name)
	switch {
	case state == kept:
		return r.write(r.text[n.Start:n.End])
	case state == unknown && n.Kind == Variable && !r.absent.handled[n.Name]:
		if err := r.absence(frame{base: base, name: n.Name, index: -1}); err != nil {
			return err
		}
		return r.write(r.text[n.Start:n.End])
	case n.Kind == Variable:
		return r.print(value)
	case n.Kind == Section && truthy(value):
		return r.section(n, value, base)
	case n.Kind == Inverted && !truthy(value):
		return r.nodes(n.Nodes)
	}
	return nil
}

// section renders a section's content, once for each array item, else once.
func (r *Renderer) section(n Node, value any, base int) error {
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
		r.frames = append(r.frames[:last], frame{item, base, n.Name, i})
		if err := r.nodes(n.Nodes); err != nil {
			return err
		}
	}
	return nil
}

func (r *Renderer) spend(work int) error {
	if r.Work -= work; r.Work < 0 {
		return ErrTooMuchWork
	}
	return nil
}

func (r *Renderer) write(text string) error {
	if r.Space -= len(text); r.Space < 0 {
		return ErrTooLarge
	}
	r.out.WriteString(text)
	return nil
}

// lookup finds a name in the items of the enclosing sections, from the inside out, then among the variables. It finds a
// dotted name's first part this way, and the rest in that value. base is the frame that has the value, or should have
// it: the innermost one over an object.
func (r *Renderer) lookup(name string) (value any, base int, state state) {
	if name == "." {
		base = len(r.frames) - 1
		return r.frames[base].value, base, known
	}
	first, rest, _ := strings.Cut(name, ".")
	base = outermost
	for i, f := range slices.Backward(r.frames) {
		r.Work -= itemCost
		if object, ok := f.value.(map[string]any); ok {
			r.Work -= lookupCost + len(first)
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
	for prefix := range Prefixes(name) {
		r.Work -= 2 * (lookupCost + len(prefix))
		if r.Missing[prefix] {
			return nil, outermost, kept
		}
		if value, ok := r.Values[prefix]; ok {
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
func (r *Renderer) memberOf(value any, path string) (any, state) {
	for path != "" {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, unknown
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		r.Work -= lookupCost + len(name)
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
func (r *Renderer) print(value any) error {
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		return r.write(v)
	case json.Number:
		return r.write(string(v))
	}
	text, err := Encode(value)
	if err != nil {
		return fmt.Errorf("mustache: a value that is not JSON: %w", err)
	}
	if err := r.spend(encodeCost + byteCost*len(text)); err != nil {
		return err
	}
	return r.write(text)
}
