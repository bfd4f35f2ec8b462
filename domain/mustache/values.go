package mustache

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
)

// Root returns a dotted name's first part.
func Root(name string) string {
	root, _, _ := strings.Cut(name, ".")
	return root
}

// Prefixes yields a dotted name, and then the name without its last part, one part after another. The first that is a
// variable is the one that a tag means: {{user.name}} is the variable user.name if it exists, because names of
// variables can contain dots; otherwise it is a member of the variable user.
func Prefixes(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(name); i >= 0 && yield(name[:i]); {
			i = strings.LastIndexByte(name[:i], '.')
		}
	}
}

// Uses returns which of the given names the texts use.
func Uses(texts []Text, values map[string]any) map[string]bool {
	uses := map[string]bool{}
	var visit func(nodes []Node)
	visit = func(nodes []Node) {
		for _, n := range nodes {
			for prefix := range Prefixes(n.Name) {
				if _, ok := values[prefix]; ok {
					uses[prefix] = true
				}
			}
			visit(n.Nodes)
		}
	}
	for _, t := range texts {
		visit(t.Nodes)
	}
	return uses
}

// PlainNumbers returns a decoded value with each number in one notation: 1.0, 1.00 and 1e0 as 1, as they come back from
// a float64. Integers, and numbers that no float64 can hold, keep their digits.
func PlainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(formatNumber(v))
	case []any:
		plain := make([]any, len(v))
		for i := range v {
			plain[i] = PlainNumbers(v[i])
		}
		return plain
	case map[string]any:
		plain := make(map[string]any, len(v))
		for k := range v {
			plain[k] = PlainNumbers(v[k])
		}
		return plain
	}
	return v
}

func formatNumber(n json.Number) string {
	if !strings.ContainsAny(string(n), ".eE") {
		return string(n)
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return string(n)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return string(n)
	}
	return string(text)
}

// Encode returns v as compact JSON with sorted keys and without HTML escapes.
func Encode(v any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
