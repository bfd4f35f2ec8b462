package atrium

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// The costs of a render's operations, as on the server.
const (
	tagCost     = 32
	itemCost    = 16
	lookupCost  = 48
	encodeCost  = 512
	byteCost    = 16
	messageCost = 1024
)

var errRenderTooLarge = &RenderError{Code: CodeRenderTooLarge}

// renderer writes texts. It is the renderer of the server (domain/prompt).
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

func (r *renderer) render(p promptPart) (string, error) {
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
		return errRenderTooLarge
	}
	return nil
}

func (r *renderer) write(text string) error {
	if r.space -= len(text); r.space < 0 {
		return errRenderTooLarge
	}
	r.out.WriteString(text)
	return nil
}

// lookup finds a name in the items of the enclosing sections, from the inside out, then among the variables.
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

// truthy reports whether value shows a section.
func truthy(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
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
	text := encodeJSON(value)
	if err := r.spend(encodeCost + byteCost*len(text)); err != nil {
		return err
	}
	return r.write(text)
}

// encodeJSON returns decoded JSON in compact form with sorted keys and without HTML escapes.
func encodeJSON(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "" // it was decoded from JSON
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// withPlainNumbers returns a decoded value with each number in one notation: 1.0 and 1e0 as 1. Integers, and numbers
// that no float64 can hold, keep their digits.
func withPlainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			return v
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return v
		}
		text, err := json.Marshal(f)
		if err != nil {
			return v
		}
		return json.Number(text)
	case []any:
		for i := range v {
			v[i] = withPlainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withPlainNumbers(v[k])
		}
	}
	return v
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

// prefixes yields a dotted name, and then the name without its last part, one part after another.
func prefixes(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(name); i >= 0 && yield(name[:i]); {
			i = strings.LastIndexByte(name[:i], '.')
		}
	}
}
