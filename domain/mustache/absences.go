package mustache

import (
	"slices"
	"strconv"
	"strings"
)

// maxAbsences bounds the paths that a render names, because a list can have a million items without a
// member.
const maxAbsences = 100

// state is what lookup found out about a name.
type state int

const (
	unknown state = iota // it has no value, and nothing declares that it may have none
	known                // it has a value, or is an optional variable
	kept                 // its variable is missing: tags stay as they are written
)

// outermost is a value's base outside sections.
const outermost = -1

// frame is an enclosing section with one item.
type frame struct {
	value any
	base  int    // the index of the frame that has the section's value, or outermost
	name  string // of the section
	index int    // of the item in its array; -1 if the value is no array
}

// path returns where the value of f is among the values of the render, as a JSON pointer without its
// first slash.
func (r *Renderer) path(f frame) string {
	var steps []string
	for {
		if f.index >= 0 {
			steps = append(steps, strconv.Itoa(f.index))
		}
		if f.name != "." {
			members := strings.Split(f.name, ".")
			slices.Reverse(members)
			steps = append(steps, members...)
		}
		if f.base == outermost {
			break
		}
		f = r.frames[f.base]
	}
	slices.Reverse(steps)
	return strings.Join(steps, "/")
}

// absences are the names without a value that a render met.
type absences struct {
	handled  map[string]bool // names of inverted sections: the text has what to print without a value
	optional map[string]bool // variables that may have no value
	paths    []string        // each once, in the order of their occurrence
	seen     map[string]bool
}

// Expect sets the texts that will be rendered, and the variables that may have no value.
func (r *Renderer) Expect(texts []Text, optional map[string]bool) {
	r.absent = absences{handled: map[string]bool{}, optional: optional, seen: map[string]bool{}}
	var visit func(nodes []Node)
	visit = func(nodes []Node) {
		for _, n := range nodes {
			if n.Kind == Inverted {
				r.absent.handled[n.Name] = true
			}
			visit(n.Nodes)
		}
	}
	for _, t := range texts {
		visit(t.Nodes)
	}
}

// Absent returns where values are missing that a rendered section or a member needs: JSON pointers without their first
// slash, each once, in the order of their occurrence, and at most 100.
func (r *Renderer) Absent() []string { return r.absent.paths }

// absence notes that the tag of f has no value.
func (r *Renderer) absence(f frame) error {
	a := &r.absent
	if len(a.paths) == maxAbsences {
		return nil
	}
	if path := r.path(f); !a.seen[path] {
		a.seen[path] = true
		a.paths = append(a.paths, path)
	}
	return r.spend(encodeCost)
}
