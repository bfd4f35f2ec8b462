package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readFile reads a YAML file; an empty path is no file. It walks the document's nodes, which
// know their lines, beside the type of Config.
func readFile(path string, found *problems) layer {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		found.refuse(path, "cannot be read: %w", errors.Unwrap(err))
		return nil
	}
	var document, second yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&document); errors.Is(err, io.EOF) {
		return nil // empty, or nothing but comments
	} else if err != nil {
		found.refuse(path, "%s", describeSyntax(err))
		return nil
	}
	if err := in.Decode(&second); !errors.Is(err, io.EOF) {
		found.refuse(path, "holds more than one document")
	}
	w := walker{path: path, found: found}
	root, _ := w.value("", document.Content[0], reflect.TypeFor[Config]()).(map[string]any)
	return root
}

var position = regexp.MustCompile(`line \d+`)

// describeSyntax describes an error in the YAML itself. It leaves out an unknown anchor's name, which may be an
// unquoted password that begins with an asterisk.
func describeSyntax(err error) string {
	if strings.Contains(err.Error(), "anchor") {
		return strings.TrimSpace(position.FindString(err.Error()) + " names an anchor; quote a value that begins " +
			"with * or &")
	}
	return strings.TrimPrefix(err.Error(), "yaml: ")
}

// walker turns the nodes of one file into plain values, and notes the line of each key.
type walker struct {
	path  string
	found *problems
}

// value returns the value of n, or nil after recording why it cannot be a t.
func (w walker) value(key string, n *yaml.Node, t reflect.Type) any {
	if key != "" {
		w.found.origin[key] = w.position(n)
	}
	switch empty := n.Kind == yaml.ScalarNode && n.Tag == "!!null"; {
	case n.Kind == yaml.AliasNode:
		w.note(key, n, "aliases are not supported; quote a text that begins with *")
	case t == reflect.TypeFor[Document]():
		if v, err := readDocument(n); err != nil {
			w.note(key, n, "%s", err)
		} else {
			return v
		}
	case isSection(t):
		if n.Kind == yaml.MappingNode {
			return w.section(key, n, t)
		} else if !empty {
			w.note(key, n, "must be a section of keys")
		}
	case t.Kind() == reflect.Slice:
		if n.Kind == yaml.SequenceNode {
			return w.list(key, n, t)
		} else if !empty {
			w.note(key, n, "must be a list")
		}
	case n.Kind != yaml.ScalarNode:
		w.note(key, n, "must be a single value")
	case empty:
		w.note(key, n, "has no value; leave the key out for its default")
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			w.note(key, n, "cannot be read as %s", n.Tag)
		}
		return v
	}
	return nil
}

// section converts a mapping to the values of the struct type t. It reports unknown and repeated keys with their line.
func (w walker) section(key string, n *yaml.Node, t reflect.Type) any {
	values, seen := map[string]any{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, node := n.Content[i], n.Content[i+1]
		inner := strings.TrimPrefix(key+"."+name.Value, ".")
		ft, ok := fieldType(t, name.Value)
		switch {
		case !ok && key == "":
			w.found.refuse(w.position(name), "%s: unknown key; known are %s", inner, knownKeys(t))
		case !ok:
			w.found.refuse(w.position(name), "%s: unknown key; %s has %s", inner, key, knownKeys(t))
		case seen[name.Value]:
			w.found.refuse(w.position(name), "%s: is given twice", inner)
		default:
			seen[name.Value] = true
			if v := w.value(inner, node, ft); v != nil {
				values[name.Value] = v
			}
		}
	}
	return values
}

func (w walker) list(key string, n *yaml.Node, t reflect.Type) any {
	values := make([]any, len(n.Content)) // an invalid one stays nil, so that indexes do not change
	for i, node := range n.Content {
		values[i] = w.value(fmt.Sprintf("%s[%d]", key, i), node, t.Elem())
	}
	return values
}

func (w walker) note(key string, n *yaml.Node, reason string, args ...any) {
	if key == "" { // the document itself
		w.found.refuse(w.position(n), reason, args...)
		return
	}
	w.found.add(key, reason, args...)
}

func (w walker) position(n *yaml.Node) string { return fmt.Sprintf("%s:%d", w.path, n.Line) }
