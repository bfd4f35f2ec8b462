package prompt

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/atrium-hq/atrium/domain/mustache"
)

// Difference describes the changes between two contents.
type Difference struct {
	Unified string   // a unified diff of the text or the messages; empty if they are equal
	Changed []string // the fields that differ, in the order of the contract
}

// maxDiffLines is the maximum number of lines of both texts together to be compared line by line. Prompts of
// 256 KiB have about a third of it. Texts of only line feeds would take 160 MB to compare.
const maxDiffLines = 40_000

// DiffContents compares two contents, whose names are in the head of the diff. Its time is bounded: if the texts have
// hardly a line in common, the diff is correct but not the shortest. If they have more than maxDiffLines lines, it only
// reports that they differ, as diff -q does.
func DiffContents(fromName, toName string, from, to Content) Difference {
	d := Difference{Unified: unified(fromName, toName, from.readable(), to.readable())}
	for _, field := range []struct {
		name string
		same bool
	}{
		{"text", from.Text == to.Text},
		{"messages", slices.EqualFunc(from.Messages, to.Messages, sameMessage)},
		{"format", from.Format == to.Format},
		{"variables", len(from.Variables) == len(to.Variables) &&
			(len(from.Variables) == 0 || sameJSON(from.Variables, to.Variables))},
		{"model_config", sameJSON(from.Model, to.Model)},
		{"tools", sameJSON(from.Tools, to.Tools)},
		{"response_format", sameJSON(from.ResponseFormat, to.ResponseFormat)},
	} {
		if !field.same {
			d.Changed = append(d.Changed, field.name)
		}
	}
	return d
}

func unified(fromName, toName, from, to string) string {
	if from != to && strings.Count(from, "\n")+strings.Count(to, "\n") > maxDiffLines {
		return "Files " + fromName + " and " + toName + " differ\n"
	}
	return udiff.Unified(fromName, toName, from, to)
}

func sameMessage(a, b Message) bool { return sameJSON(a, b) }

func sameJSON(a, b any) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && x == y
}

// readable returns a content for people: the text, or each message below its role. Parts other than texts, and other
// members, are lines of JSON.
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
			out.WriteString(m.Role + ":\n")
			m.writeReadable(&out)
		case m.Required:
			out.WriteString("placeholder (required):\n" + m.Placeholder + "\n")
		default:
			out.WriteString("placeholder:\n" + m.Placeholder + "\n")
		}
	}
	return out.String()
}

// writeReadable writes what a message has besides its role.
func (m Message) writeReadable(out *strings.Builder) {
	if m.Content != "" {
		out.WriteString(m.Content + "\n")
	}
	for _, p := range m.Parts {
		if p.Type == textPart && p.Members == nil {
			out.WriteString(p.Text + "\n")
		} else {
			writeLine(out, p)
		}
	}
	if rest := (messageJSON{Name: m.Name, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}); m.Name != "" ||
		m.ToolCalls != nil || m.ToolCallID != "" {
		writeLine(out, rest)
	}
}

// writeLine writes a value of a checked content as JSON.
func writeLine(out *strings.Builder, v any) {
	if text, err := mustache.Encode(v); err == nil {
		out.WriteString(text + "\n")
	}
}
