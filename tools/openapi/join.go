package main

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// part is one file of the contract.
type part struct {
	name string
	text []byte
}

// merged are the members of the document that several parts may have: paths, problems, and the groups of components.
var merged = []string{"paths", "components", "x-problems", "x-field-codes", "x-code-lists"}

// join merges parts into one document, in their order. It returns an error if two parts define the same thing.
func join(parts []part) (*yaml.Node, error) {
	if len(parts) == 0 {
		return nil, errors.New("the folder has no parts")
	}
	document := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, p := range parts {
		var root yaml.Node
		if err := yaml.Unmarshal(p.text, &root); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s: is not a mapping", p.name)
		}
		if err := addTags(root.Content[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := merge(document, root.Content[0], 0); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return document, nil
}

// merge adds the members of from to into. Members of the first level that are in merged are merged themselves, and so
// are the groups of components.
func merge(into, from *yaml.Node, depth int) error {
	for i := 0; i < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		there := member(into, key.Value)
		switch {
		case there == nil:
			into.Content = append(into.Content, key, value)
		case (depth == 0 && slices.Contains(merged, key.Value)) ||
			(depth == 1 && value.Kind == yaml.MappingNode && isGroup(key.Value)):
			if err := merge(there, value, depth+1); err != nil {
				return fmt.Errorf("%s: %w", key.Value, err)
			}
		default:
			return fmt.Errorf("line %d: %s is defined twice", key.Line, key.Value)
		}
	}
	return nil
}

// isGroup reports whether name is a group of components (OpenAPI 3.1, Components Object).
func isGroup(name string) bool {
	return slices.Contains([]string{"schemas", "responses", "parameters", "examples", "headers", "securitySchemes"},
		name)
}

// member returns the value of a mapping's key, nil if there is none.
func member(of *yaml.Node, key string) *yaml.Node {
	if of == nil || of.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			return of.Content[i+1]
		}
	}
	return nil
}

// set gives a mapping's key a value, in the place of the one it has.
func set(of *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			of.Content[i+1] = value
			return
		}
	}
	of.Content = append(of.Content, text(key), value)
}

// remove deletes a key from a mapping.
func remove(of *yaml.Node, key string) {
	for i := 0; i < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			of.Content = slices.Delete(of.Content, i, i+2)
			return
		}
	}
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// reference is {$ref: '#/components/group/name'}.
func reference(group, name string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{
		text("$ref"), text("#/components/" + group + "/" + name),
	}}
}

// values returns the scalars of a sequence.
func values(list *yaml.Node) (out []string) {
	if list == nil {
		return nil
	}
	for _, item := range list.Content {
		out = append(out, item.Value)
	}
	return out
}
