package prompt

import (
	"reflect"
	"slices"

	"github.com/atrium-hq/atrium/domain/mustache"
)

// inference is what can be inferred about one variable from a content's texts.
type inference struct {
	name     string
	inverted bool // {{^x}}
	bare     bool // {{x}} or {{x.y}} outside of {{#x}} and {{#x.y}}
	guarded  bool // {{x}} or {{x.y}} inside of them
}

// variable returns the declaration of the variable. A value's type cannot be inferred, so it is any.
//
// It is required unless the text handles its absence: with {{^x}}, or by naming it only where it is
// certain to exist, as in {{#x}}Note: {{x}}{{/x}}.
func (i inference) variable() Variable {
	return Variable{Name: i.name, Type: anyType, Required: !i.inverted && (i.bare || !i.guarded)}
}

// infer returns the variables that the texts of c use, in the order of their first use. A name that
// occurs only inside sections belongs to their context: it is not a variable, and needs a value only if
// its section is rendered. Placeholders are not included, because they need no declaration.
func (c Content) infer(parts []part) []Variable {
	outer := map[string]bool{}
	for _, p := range parts {
		for _, n := range p.body.Nodes {
			if n.Kind != mustache.Literal && n.Kind != mustache.Partial {
				outer[mustache.Root(n.Name)] = true
			}
		}
	}
	placeholders := Content{Messages: c.Messages}.types()
	found := map[string]*inference{}
	var order []*inference
	sections := map[string]int{} // how many enclosing sections are over a variable, or members of it

	var visit func(nodes []mustache.Node)
	visit = func(nodes []mustache.Node) {
		for _, n := range nodes {
			root := mustache.Root(n.Name)
			if n.Kind == mustache.Literal || n.Kind == mustache.Partial || !outer[root] {
				visit(n.Nodes)
				continue
			}
			v := found[root]
			if v == nil {
				v = &inference{name: root}
				found[root] = v
				if placeholders[root] == "" {
					order = append(order, v)
				}
			}
			v.note(n, sections[root] > 0)
			if n.Kind == mustache.Section {
				sections[root]++
			}
			visit(n.Nodes)
			if n.Kind == mustache.Section {
				sections[root]--
			}
		}
	}
	for _, p := range parts {
		visit(p.body.Nodes)
	}
	variables := make([]Variable, len(order))
	for i, v := range order {
		variables[i] = v.variable()
	}
	return variables
}

// IsInferred reports whether the variables of c are exactly those that are inferred from its texts.
func (c Content) IsInferred() bool {
	parts, err := c.parse()
	return err == nil && c.inferredFrom(parts)
}

// inferredFrom is IsInferred for the texts of c, parsed.
func (c Content) inferredFrom(parts []part) bool {
	return slices.EqualFunc(c.infer(parts), c.Variables, func(a, b Variable) bool { return reflect.DeepEqual(a, b) })
}

// note adds what can be inferred from a tag. guarded is whether it is in a section over the variable.
func (i *inference) note(n mustache.Node, isGuarded bool) {
	switch n.Kind {
	case mustache.Variable:
		i.guarded = i.guarded || isGuarded
		i.bare = i.bare || !isGuarded
	case mustache.Inverted:
		i.inverted = i.inverted || n.Name == i.name
	}
}
