package prompt

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Difference is what changed between two contents.
type Difference struct {
	Unified string   // a unified diff of the text or the messages; empty if they are equal
	Changed []string // the fields that differ, in the order of the contract
}

// DiffContents compares two contents, whose names head the diff. It takes a bounded time: of texts
// with hardly a line in common the diff is correct, but not the shortest.
func DiffContents(fromName, toName string, from, to Content) Difference {
	d := Difference{Unified: udiff.Unified(fromName, toName, from.readable(), to.readable())}
	for _, field := range []struct {
		name     string
		from, to any
	}{
		{"text", from.Text, to.Text},
		{"messages", append([]Message{}, from.Messages...), append([]Message{}, to.Messages...)},
		{"format", from.Format, to.Format},
		{"variables", append([]Variable{}, from.Variables...), append([]Variable{}, to.Variables...)},
		{"model_config", from.Model, to.Model},
		{"tools", from.Tools, to.Tools},
		{"response_format", from.ResponseFormat, to.ResponseFormat},
	} {
		if !sameJSON(field.from, field.to) {
			d.Changed = append(d.Changed, field.name)
		}
	}
	return d
}

func sameJSON(a, b any) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && x == y
}

// readable is what a content says, as people read it: the text, or each message below its role.
func (c Content) readable() string {
	if len(c.Messages) == 0 {
		return c.Text
	}
	var out strings.Builder
	for i, m := range c.Messages {
		if i > 0 {
			out.WriteString("\n")
		}
		switch {
		case m.Placeholder == "":
			out.WriteString(m.Role + ":\n" + m.Content + "\n")
		case m.Required:
			out.WriteString("placeholder (required):\n" + m.Placeholder + "\n")
		default:
			out.WriteString("placeholder:\n" + m.Placeholder + "\n")
		}
	}
	return out.String()
}
