package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// value is a JSON value whose objects keep the order of their members, so that samples read as the contract does.
type value struct {
	names   []string // of an object's members
	members map[string]*value
	items   []*value // of an array
	scalar  any      // string, json.Number, bool or nil
	kind    byte     // '{', '[' or 0 for a scalar
}

// UnmarshalJSON reads any JSON value.
func (v *value) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return v.read(decoder)
}

// read keeps the order of an example's members, which a map would lose.
func (v *value) read(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		v.kind = '['
		for decoder.More() {
			item := new(value)
			if err := item.read(decoder); err != nil {
				return err
			}
			v.items = append(v.items, item)
		}
	case json.Delim('{'):
		v.kind, v.members = '{', map[string]*value{}
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			member := new(value)
			if err := member.read(decoder); err != nil {
				return err
			}
			v.names, v.members[fmt.Sprint(name)] = append(v.names, fmt.Sprint(name)), member
		}
	default:
		v.scalar = token
		return nil
	}
	_, err = decoder.Token()
	return err
}

// notation is how a language writes JSON values.
type notation struct {
	none, yes, no string
	text, member  func(string) string
	space         string // within the braces of an object on one line
	indent        string
	trailing      bool // a comma can follow the last member
}

var (
	jsonNotation   = notation{"null", "true", "false", quoted, quoted, "", "  ", false}
	pythonNotation = notation{"None", "True", "False", quoted, quoted, "", "    ", true}
	tsNotation     = notation{"null", "true", "false", tsText, tsMember, " ", "  ", true}
)

func tsText(text string) string { return strings.ReplaceAll(quoteTS(text), "\n", `\n`) }

func tsMember(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quoteTS(name)
}

func quoted(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // every string can be encoded
	}
	return strings.TrimSpace(out.String())
}

// literal returns v on one line.
func (v *value) literal(n notation) string {
	var parts []string
	switch v.kind {
	case '{':
		for _, name := range v.names {
			parts = append(parts, n.member(name)+": "+v.members[name].literal(n))
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{" + n.space + strings.Join(parts, ", ") + n.space + "}"
	case '[':
		for _, item := range v.items {
			parts = append(parts, item.literal(n))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	switch x := v.scalar.(type) {
	case nil:
		return n.none
	case bool:
		if x {
			return n.yes
		}
		return n.no
	case string:
		return n.text(x)
	}
	return fmt.Sprint(v.scalar)
}

// lines returns v over several lines if it does not fit into width columns. indent is that of the line where it starts.
func (v *value) lines(n notation, indent string, width int) string {
	one := v.literal(n)
	if len(indent)+len(one) <= width || v.kind == 0 || len(v.names)+len(v.items) == 0 {
		return one
	}
	var out strings.Builder
	out.WriteByte(v.kind)
	inner := indent + n.indent
	for _, name := range v.names {
		fmt.Fprintf(&out, "\n%s%s: %s,", inner, n.member(name), v.members[name].lines(n, inner, width-len(name)))
	}
	for _, item := range v.items {
		fmt.Fprintf(&out, "\n%s%s,", inner, item.lines(n, inner, width))
	}
	text := out.String()
	if !n.trailing {
		text = strings.TrimSuffix(text, ",")
	}
	return text + "\n" + indent + string(v.kind+2)
}

// examples are the examples of a body, of which samples use the first.
type examples struct{ first *value }

// UnmarshalJSON reads the first example.
func (e *examples) UnmarshalJSON(text []byte) error {
	var all value
	if err := all.UnmarshalJSON(text); err != nil {
		return err
	}
	if len(all.names) > 0 {
		e.first = all.members[all.names[0]].members["value"]
	}
	return nil
}
