package prompt

import (
	"reflect"
	"slices"
)

// inference holds what the texts of a content tell about one variable.
type inference struct {
	name     string
	printed  bool // {{x}}
	member   bool // {{x.y}}
	items    bool // {{#x}} with {{.}} or members of its items inside
	inverted bool // {{^x}}
	bare     bool // {{x}} or {{x.y}} outside of {{#x}} and {{#x.y}}
	guarded  bool // {{x}} or {{x.y}} inside of them
}

// variable returns the declaration that a user most likely means.
//
// Its type is object if the text names members of it ({{x.y}}); array if a section over it uses the
// items ({{.}}, or a name that is used nowhere outside sections); string if it is printed; and boolean
// if it only shows or hides a section.
//
// It is required unless the text handles its absence: with {{^x}}, or by naming it only where it is
// certain to exist, as in {{#x}}Note: {{x}}{{/x}}.
func (i inference) variable() Variable {
	v := Variable{Name: i.name, Type: "boolean", Required: !i.inverted && (i.bare || !i.guarded)}
	switch {
	case i.member:
		v.Type = "object"
	case i.items:
		v.Type = "array"
	case i.printed:
		v.Type = "string"
	}
	return v
}

// infer returns the variables that the texts of c use, in the order of their first use. A name that
// occurs only inside sections is considered a member of their items, not a variable. Placeholders are
// not included, because they need no declaration.
func (c Content) infer(parts []part) []Variable {
	outside := map[string]bool{}
	for _, p := range parts {
		namesOutside(p.nodes, outside)
	}
	placeholders := Content{Messages: c.Messages}.types()
	found := map[string]*inference{}
	var order []*inference
	within := map[string]int{} // how many enclosing sections are over a variable, or members of it

	// owner is the variable whose items may have the names around as members, or nil.
	var visit func(nodes []node, owner *inference)
	visit = func(nodes []node, owner *inference) {
		for _, n := range nodes {
			if n.kind == literal {
				continue
			}
			root := rootOf(n.name)
			if !outside[root] {
				if owner != nil {
					owner.items = true
				}
				visit(n.nodes, owner)
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
			v.note(n, within[root] > 0)
			if n.kind != section {
				visit(n.nodes, owner)
				continue
			}
			within[root]++
			visit(n.nodes, v)
			within[root]--
		}
	}
	for _, p := range parts {
		visit(p.nodes, nil)
	}
	variables := make([]Variable, len(order))
	for i, v := range order {
		variables[i] = v.variable()
	}
	return variables
}

// isInferred reports whether the variables of c are exactly those that infer returns.
func (c Content) isInferred() bool {
	parts, err := c.parse()
	return err == nil && slices.EqualFunc(c.infer(parts), c.Variables,
		func(a, b Variable) bool { return reflect.DeepEqual(a, b) })
}

// note adds what a tag tells. guarded says whether it is in a section over the variable.
func (i *inference) note(n node, guarded bool) {
	i.member = i.member || n.name != i.name
	switch n.kind {
	case interpolation:
		i.printed = true
		i.guarded = i.guarded || guarded
		i.bare = i.bare || !guarded
	case inverted:
		i.inverted = i.inverted || n.name == i.name
	}
}

// namesOutside adds the variables that occur outside sections. An inverted section has no items, so its
// content counts as outside.
func namesOutside(nodes []node, names map[string]bool) {
	for _, n := range nodes {
		if n.kind != literal {
			names[rootOf(n.name)] = true
		}
		if n.kind == inverted {
			namesOutside(n.nodes, names)
		}
	}
}
