// Package mustache parses and renders the part of Mustache that prompts use: variables, sections, inverted sections,
// partials, comments and set delimiters, with the whitespace rules of the Mustache specification 1.4. Nothing is
// escaped, because a prompt is not HTML.
//
// Libraries do not keep how a tag was written, which a render without all values must restore, and resolve partials by
// opening files. This package never opens a file, whatever the text contains.
//
// The client for Go renders with a copy of this package, which `make generate` makes.
package mustache

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxNesting is how deep sections can be nested: as deep as the JSON that a caller can send.
const MaxNesting = 32

const (
	maxTagName = 256 // bytes of a name with all its members
	maxDelim   = 16  // bytes of a delimiter that {{= =}} sets
	maxRoot    = 64  // bytes of a variable's name
)

// tagName matches what a tag can name: a variable, members of it after dots, or the item of a section.
// isTagName checks lengths, because counted repetitions make the expression slow.
var tagName = regexp.MustCompile(`^(?:\.|[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)$`)

func isTagName(name string) bool {
	return len(name) <= maxTagName && len(Root(name)) <= maxRoot && tagName.MatchString(name)
}

// Kind is a Node's kind.
type Kind int

// The kinds of nodes.
const (
	Literal  Kind = iota // the text between tags
	Variable             // {{name}}
	Section              // {{#name}}
	Inverted             // {{^name}}
	Partial              // {{> name}}, which another text replaces before a render
)

// Node is a part of a text: the text between tags, a tag, or a section with its content.
type Node struct {
	Kind       Kind
	Name       string // of the tag; "." is the item of the section around it
	Line       int    // of the tag, from 1
	Start, End int    // its position in the text; a section reaches to the end of its closing tag
	Nodes      []Node // in a section

	Partial *PartialTag // of a Partial, which has no name
}

// PartialTag is how a partial is written.
type PartialTag struct {
	Body      string     // what follows the >, without the blanks around it
	Alone     bool       // on its line
	Indent    string     // of a tag on a line of its own: the indent of each line that replaces it
	LineBreak string     // after a tag that is alone
	In        Delimiters // those in force
}

// Delimiters open and close a tag. {{= =}} sets others.
type Delimiters struct{ Opening, Closing string }

// Usual are the delimiters that a text begins with.
var Usual = Delimiters{"{{", "}}"}

// SyntaxError explains why a text is not what this package reads. It never quotes the text.
type SyntaxError struct {
	Line   int // from 1
	Reason string
}

// Error returns the line and the reason, as a sentence.
func (e *SyntaxError) Error() string { return fmt.Sprintf("Line %d: %s", e.Line, e.Reason) }

// Parse parses a text in time linear in its length. The function partial checks what follows the > of each partial,
// and returns what is wrong with it, or an empty string. Parse returns a *SyntaxError.
func Parse(text string, partial func(body string) string) ([]Node, error) {
	p := newParser(text, partial)
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.open[0].Nodes, nil
}

// Tags returns all tags in a text that Parse accepts, in their order, and the delimiters in force at its end.
func Tags(text string) ([]Tag, Delimiters) {
	p := newParser(text, func(string) string { return "" })
	if p.parse() != nil {
		return nil, Usual
	}
	return p.tags, p.in
}

func newParser(text string, partial func(string) string) *parser {
	return &parser{text: text, partial: partial, line: 1, open: []Node{{}}, in: Usual}
}

// parse reads literals and tags until the end, and reports the innermost section that is open there.
func (p *parser) parse() error {
	for p.pos < len(p.text) {
		i := strings.Index(p.text[p.pos:], p.in.Opening)
		if i < 0 {
			p.literal(len(p.text))
			break
		}
		if err := p.tag(p.pos + i); err != nil {
			return err
		}
	}
	if last := p.open[len(p.open)-1]; len(p.open) > 1 {
		return &SyntaxError{last.Line, "the section is not closed."}
	}
	return nil
}

type parser struct {
	text    string
	pos     int    // everything before it is read
	line    int    // the line number at counted
	counted int    // the position up to which lines are counted
	open    []Node // the whole text, and the sections that are not closed yet
	items   int    // how many of open have an item, which {{.}} names
	in      Delimiters
	tags    []Tag
	partial func(body string) string
}

// Tag is where a tag is.
type Tag struct {
	From, To   int        // of the tag as it is written
	Start, End int        // with the blanks around it that leave no trace in the rendered text
	After      Delimiters // those in force after the tag
}

// Trims reports whether blanks around the tag leave no trace.
func (t Tag) Trims() bool { return t.Start != t.From || t.End != t.To }

// tag reads the tag that starts at start, and the text before it.
func (p *parser) tag(start int) error {
	p.line += strings.Count(p.text[p.counted:start], "\n")
	p.counted = start

	body, end, ok := p.tagBody(start)
	if !ok {
		return p.refuse("the tag is not closed.")
	}
	sigil, name := byte(0), strings.TrimSpace(body)
	if name != "" && strings.IndexByte("#^/!&{><$=", name[0]) >= 0 {
		sigil, name = name[0], strings.TrimSpace(name[1:])
	}
	if inner, ok := strings.CutSuffix(name, "}"); ok && sigil == '{' { // {{{name}}}
		name = strings.TrimSpace(inner)
	} else if sigil == '{' {
		return p.refuse("{{{ is not closed by }}}.")
	}
	switch sigil {
	case '>':
		return p.include(start, end, name)
	case '<', '$':
		return p.refuse("parents and blocks are not supported.")
	}
	if sigil != '!' && sigil != '=' && !isTagName(name) {
		return p.refuse("a tag must hold a name of at most 64 letters, digits, _ and -, with dots between a variable " +
			"and its members.")
	}
	if name == "." && p.items == 0 && sigil != '!' && sigil != '/' {
		return p.refuse("{{.}} has a meaning only inside a section.")
	}

	span := Tag{start, end, start, end, p.in}
	switch sigil {
	case '#', '^', '/', '!', '=':
		start, end = p.standalone(start, end)
		span.Start, span.End = start, end
	}
	p.tags = append(p.tags, span)
	p.literal(start)
	p.pos = end
	switch sigil {
	case '!':
	case '=':
		err := p.setDelimiters(name)
		p.tags[len(p.tags)-1].After = p.in
		return err
	case '#', '^':
		kind := Inverted
		if sigil == '#' {
			kind = Section
			p.items++
		}
		if len(p.open) > MaxNesting {
			return p.refuse(fmt.Sprintf("sections are nested more than %d deep.", MaxNesting))
		}
		p.open = append(p.open, Node{Kind: kind, Name: name, Line: p.line, Start: start})
	case '/':
		node := p.open[len(p.open)-1]
		if len(p.open) == 1 || node.Name != name {
			return p.refuse("the closing tag is not that of the innermost open section.")
		}
		if node.Kind == Section {
			p.items--
		}
		node.End = end
		p.open = p.open[:len(p.open)-1]
		p.add(node)
	default:
		p.add(Node{Kind: Variable, Name: name, Line: p.line, Start: start, End: end})
	}
	return nil
}

// tagBody returns the text inside the tag that starts at start, and where the tag ends.
func (p *parser) tagBody(start int) (body string, end int, ok bool) {
	from, opening := start+len(p.in.Opening), p.in.Closing
	switch {
	case strings.HasPrefix(p.text[from:], "{"):
		opening = "}" + opening
	case strings.HasPrefix(p.text[from:], "="):
		from, opening = from+1, "="+opening
	}
	i := strings.Index(p.text[from:], opening)
	if i < 0 {
		return "", 0, false
	}
	end = from + i + len(opening)
	if opening[0] == '=' {
		from--
	}
	return p.text[from : end-len(p.in.Closing)], end, true
}

// setDelimiters reads what follows the first = of a tag such as {{=<% %>=}}.
func (p *parser) setDelimiters(body string) error {
	body, isClosing := strings.CutSuffix(body, "=")
	fields := strings.Fields(body)
	if !isClosing || len(fields) != 2 || strings.Contains(body, "=") || max(len(fields[0]), len(fields[1])) > maxDelim {
		return p.refuse("{{= =}} must hold two delimiters of at most 16 bytes, with a space between them and no =.")
	}
	p.in = Delimiters{fields[0], fields[1]}
	return nil
}

// include adds a partial.
func (p *parser) include(start, end int, body string) error {
	if problem := p.partial(body); problem != "" {
		return p.refuse(problem)
	}
	t := &PartialTag{Body: body, In: p.in}
	from, to := p.standalone(start, end)
	isLineStart := from == 0 || p.text[from-1] == '\n'
	rest := to == len(p.text) || p.text[to-1] == '\n'
	if isLineStart && rest && !strings.Contains(p.text[start:end], "\n") {
		t.Alone, t.Indent = true, p.text[from:start]
		if line := p.text[end:to]; line != "" {
			t.LineBreak = strings.TrimLeft(line, " \t")
		}
		start, end = from, to
	}
	p.literal(start)
	p.pos = end
	p.tags = append(p.tags, Tag{start, end, start, end, p.in})
	p.add(Node{Kind: Partial, Line: p.line, Start: start, End: end, Partial: t})
	return nil
}

// standalone extends a tag to its whole line if the line has only blanks besides it: such a line leaves
// no trace in the rendered text.
func (p *parser) standalone(start, end int) (from, to int) {
	from, to = start, end
	for from > p.pos && isBlank(p.text[from-1]) {
		from--
	}
	if from > 0 && p.text[from-1] != '\n' {
		return start, end
	}
	for to < len(p.text) && isBlank(p.text[to]) {
		to++
	}
	switch rest := p.text[to:]; {
	case rest == "":
		return from, to
	case rest[0] == '\n':
		return from, to + 1
	case strings.HasPrefix(rest, "\r\n"):
		return from, to + 2
	}
	return start, end
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// literal adds the text up to end.
func (p *parser) literal(end int) {
	if end > p.pos {
		p.add(Node{Kind: Literal, Start: p.pos, End: end})
	}
}

func (p *parser) add(n Node) {
	parent := &p.open[len(p.open)-1]
	parent.Nodes = append(parent.Nodes, n)
}

func (p *parser) refuse(reason string) error { return &SyntaxError{p.line, reason} }
